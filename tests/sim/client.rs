//! What a client holds: its view of the group, where it reads, its producer. It dies with its
//! process. Must not be in here: a call to the cluster.

use crate::log::{Log, Record};
use oncegate::gate::Target;
use oncegate::kafka::broker::{Delivered, TopicIds};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// What a client holds; it dies with its process.
#[derive(Default)]
pub struct Client {
    pub member_id: String,
    pub generation: i32,
    pub assignment_lost: bool,
    pub assigned: BTreeMap<i32, Fetch>,
    /// The consumer is to fail for good at its next poll.
    pub give_up: bool,
    pub producer: Option<Producer>,
    pub signs: u64,
}

/// Where a client reads one partition.
pub struct Fetch {
    pub position: i64,
    /// The lowest offset it was told to read from since it was assigned.
    pub lowest: i64,
    pub paused: bool,
    pub dead: bool,
    end_given: i64,
    cuts_seen: usize,
    /// Records to leave out once, as if an old answer came first.
    jump: u64,
    /// Whether the last seek had such a jump: the next has none.
    jumped: bool,
}

pub struct Producer {
    pub epoch: u32,
    pub open: bool,
    pub queue: VecDeque<(Target, i32, Rc<Record>)>,
    pub fatal: bool,
    pub abort_only: bool,
    pub delivered: Delivered,
    pub ids: TopicIds,
    pub waiting_since: Option<u64>,
    /// When the transaction under way was begun.
    pub began: u64,
}

impl Producer {
    pub fn unsent(&self) -> usize {
        self.queue.len()
    }
}

/// What one fetch brought.
#[derive(Default)]
pub struct Fetched {
    pub records: Vec<(i64, Rc<Record>)>,
    pub end: Option<i64>,
    pub out_of_log: bool,
}

impl Fetch {
    pub fn assigned() -> Fetch {
        Fetch {
            position: 0,
            lowest: i64::MAX,
            paused: true,
            dead: false,
            end_given: -1,
            cuts_seen: 0,
            jump: 0,
            jumped: false,
        }
    }

    pub fn read(&mut self, log: &Log, max: usize) -> Fetched {
        let mut fetched = Fetched::default();
        if self.paused || self.dead {
            return fetched;
        }
        // The client compares leader epochs, so it notices a log that was cut and grew again.
        let cut = log.cuts.iter().skip(self.cuts_seen).any(|cut| *cut < self.position);
        self.cuts_seen = log.cuts.len();
        if cut || self.position < log.low || self.position > log.high() {
            self.dead = true;
            fetched.out_of_log = true;
            return fetched;
        }
        let stable = log.stable();
        let mut records =
            log.committed_from(self.position).take_while(|(offset, _)| *offset < stable);
        for _ in 0..std::mem::take(&mut self.jump) {
            records.next();
        }
        fetched.records =
            records.take(max).map(|(offset, record)| (offset, record.clone())).collect();
        if let Some((last, _)) = fetched.records.last() {
            self.position = last + 1;
        }
        if fetched.records.len() < max {
            self.position = self.position.max(stable);
            if self.end_given != stable {
                self.end_given = stable;
                fetched.end = Some(stable);
            }
        }
        fetched
    }

    pub fn seek(&mut self, offset: i64, cuts: usize, jump: u64) {
        // A seek forgets the leader's epoch, unless records flowed up to it.
        if self.paused || self.dead {
            self.cuts_seen = cuts;
        }
        self.position = offset;
        self.lowest = self.lowest.min(offset);
        self.paused = false;
        self.dead = false;
        self.end_given = -1;
        self.jump = if self.jumped { 0 } else { jump };
        self.jumped = self.jump > 0;
    }
}
