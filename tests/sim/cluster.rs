//! The model of a cluster: logs, topic ids, the transaction coordinator, and what is still under
//! way to it. It imitates what `kafka-notes` measured of brokers with clients that do not speak the
//! newer transaction protocol. Must not be in here: the clients' own state, or chance of a fault.

use crate::book::Book;
use crate::client::Client;
use crate::group::{Group, Offset};
use crate::log::{Log, Record, Topic};
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// After this the coordinator aborts a transaction.
pub const TRANSACTION_MS: u64 = 10_000;
/// How often it looks for them.
pub const SCAN_MS: u64 = 10_000;
pub const SESSION_MS: u64 = 10_000;
/// Producer ids from here on are those of raw producers.
pub const RAW_PID: u64 = 1_000;

/// What a transaction touches: a partition of a topic, or the group's offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Log(Topic, i32),
    Offsets,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnState {
    Empty {
        last: Option<bool>,
    },
    Ongoing {
        since: u64,
    },
    /// Decided; the markers of `parts` are still to be written.
    Ending {
        commit: bool,
    },
}

/// What the coordinator knows of one transactional id.
#[derive(Clone, Debug)]
pub struct Txn {
    pub epoch: u32,
    pub state: TxnState,
    pub parts: BTreeSet<Part>,
    /// Whether a decision was undone: what it held may join the next transaction.
    pub undone: bool,
    /// Whether some of its markers are written and some are not.
    pub partly: bool,
}

/// Why a transactional request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is a newer epoch.
    Fenced,
    /// The request does not fit the transaction's state.
    InvalidState,
}

/// A request that arrives long after its client has given it up.
#[derive(Clone, Debug)]
pub enum Late {
    Add { process: usize, epoch: u32, part: Part },
    Produce { process: usize, epoch: u32, part: Part, record: Rc<Record> },
    End { process: usize, epoch: u32, commit: bool },
}

/// How often calls go wrong, in a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Knobs {
    pub call: u64,
    pub straggler: u64,
    pub jump: u64,
    pub slow_markers: u64,
    pub interleave: u64,
}

pub struct Cluster {
    pub now: u64,
    pub random: Random,
    pub partitions: i32,
    pub logs: Vec<Vec<Log>>,
    ids: [u32; 5],
    pub txns: Vec<Txn>,
    pub group: Group,
    pub clients: Vec<Client>,
    pub late: Vec<(u64, Late)>,
    /// Transactions whose markers are written later.
    pub markers: Vec<(u64, usize)>,
    pub knobs: Knobs,
    pub down_until: u64,
    pub away_until: u64,
    pub book: Book,
    /// Raw partitions as they are now: recreated topics may have another number.
    pub raw_partitions: i32,
    pub tell: bool,
}

impl Cluster {
    pub fn new(seed: u64, partitions: i32, processes: usize, tell: bool) -> Cluster {
        let log = || vec![Log::default(); partitions as usize];
        let txn = Txn {
            epoch: 0,
            state: TxnState::Empty { last: None },
            parts: BTreeSet::new(),
            undone: false,
            partly: false,
        };
        Cluster {
            now: 0,
            random: Random::new(seed),
            partitions,
            logs: (0..5).map(|_| log()).collect(),
            ids: [1; 5],
            txns: vec![txn; processes],
            group: Group::new(partitions as usize),
            clients: (0..processes).map(|_| Client::default()).collect(),
            late: Vec::new(),
            markers: Vec::new(),
            knobs: Knobs::default(),
            down_until: 0,
            away_until: 0,
            book: Book::new(partitions as usize),
            raw_partitions: partitions,
            tell,
        }
    }

    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.tell {
            eprintln!("[{:>7}] {}", self.now, what());
        }
    }

    pub fn log(&self, topic: Topic, partition: i32) -> &Log {
        &self.logs[topic as usize][partition as usize]
    }

    pub fn log_mut(&mut self, topic: Topic, partition: i32) -> &mut Log {
        &mut self.logs[topic as usize][partition as usize]
    }

    pub fn topic_id(&self, topic: Topic) -> String {
        format!("{topic:?}-{}", self.ids[topic as usize])
    }

    /// Deletes a topic and creates it anew.
    pub fn recreate(&mut self, topic: Topic) {
        self.ids[topic as usize] += 1;
        for log in &mut self.logs[topic as usize] {
            *log = Log::default();
        }
        if topic == Topic::Raw {
            self.group.committed.iter_mut().for_each(|committed| *committed = None);
        }
    }

    pub fn is_down(&self) -> bool {
        self.now < self.down_until
    }

    pub fn is_away(&self) -> bool {
        self.now < self.down_until.max(self.away_until)
    }

    /// The pid of a process's transactional id. It never changes, its epoch does.
    pub fn pid(process: usize) -> u64 {
        process as u64 + 1
    }

    /// Initialises a producer: ends what its predecessor left and fences its requests.
    pub fn init(&mut self, process: usize) -> u32 {
        self.complete(process);
        if let TxnState::Ongoing { .. } = self.txns[process].state {
            self.decide(process, false);
            self.complete(process);
        }
        self.txns[process].epoch += 1;
        self.txns[process].state = TxnState::Empty { last: None };
        self.txns[process].epoch
    }

    /// Takes a partition into the transaction; begins it where there is none.
    pub fn add(&mut self, process: usize, epoch: u32, part: Part) -> Result<(), Refused> {
        if self.txns[process].epoch != epoch {
            return Err(Refused::Fenced);
        }
        // The client asks again until the transaction before is complete.
        self.complete(process);
        let now = self.now;
        let txn = &mut self.txns[process];
        if let TxnState::Empty { .. } = txn.state {
            txn.state = TxnState::Ongoing { since: now };
        }
        txn.parts.insert(part);
        Ok(())
    }

    /// Appends a record, verified as brokers do: its partition must be in the transaction.
    pub fn produce(
        &mut self,
        process: usize,
        epoch: u32,
        (topic, partition): (Topic, i32),
        record: Rc<Record>,
    ) -> Result<i64, Refused> {
        let txn = &self.txns[process];
        if txn.epoch != epoch {
            return Err(Refused::Fenced);
        }
        let ongoing = matches!(txn.state, TxnState::Ongoing { .. });
        if !ongoing || !txn.parts.contains(&Part::Log(topic, partition)) {
            return Err(Refused::InvalidState);
        }
        Ok(self.log_mut(topic, partition).append(Some(Self::pid(process)), record))
    }

    /// Notes source offsets of a transaction, once the member was found to be one.
    pub fn offsets(
        &mut self,
        process: usize,
        epoch: u32,
        offsets: BTreeMap<i32, Offset>,
    ) -> Result<(), Refused> {
        if self.txns[process].epoch != epoch {
            return Err(Refused::Fenced);
        }
        self.group.pending.entry(Self::pid(process)).or_default().extend(offsets);
        Ok(())
    }

    pub fn end(&mut self, process: usize, epoch: u32, commit: bool) -> Result<(), Refused> {
        let txn = &self.txns[process];
        if txn.epoch != epoch {
            return Err(Refused::Fenced);
        }
        match txn.state {
            TxnState::Ongoing { .. } => {
                self.decide(process, commit);
                Ok(())
            }
            TxnState::Ending { commit: decided } if decided == commit => Ok(()),
            TxnState::Empty { last } if last == Some(commit) => Ok(()),
            _ => Err(Refused::InvalidState),
        }
    }

    fn decide(&mut self, process: usize, commit: bool) {
        if commit {
            Book::committed(self, process);
        }
        self.txns[process].state = TxnState::Ending { commit };
        self.say(|| format!("transaction of {process}: commit={commit}"));
        if self.random.chance(self.knobs.slow_markers) {
            let at = self.now + self.random.between(5, 1500);
            self.markers.push((at, process));
        } else {
            self.complete(process);
        }
    }

    /// Markers are due: all that are left, or one of them and the rest later.
    pub fn markers_due(&mut self, process: usize) {
        let TxnState::Ending { commit } = self.txns[process].state else { return };
        let parts: Vec<Part> = self.txns[process].parts.iter().copied().collect();
        if parts.len() < 2 || self.random.chance(200) {
            return self.complete(process);
        }
        let part = *self.random.pick(&parts);
        self.mark(process, part, commit);
        self.txns[process].parts.remove(&part);
        self.txns[process].partly = true;
        let at = self.now + self.random.between(1, 2_500);
        self.markers.push((at, process));
    }

    /// Writes all markers of a decided transaction.
    pub fn complete(&mut self, process: usize) {
        let TxnState::Ending { commit } = self.txns[process].state else { return };
        for part in std::mem::take(&mut self.txns[process].parts) {
            self.mark(process, part, commit);
        }
        self.txns[process].state = TxnState::Empty { last: Some(commit) };
        self.txns[process].undone = false;
        self.txns[process].partly = false;
    }

    fn mark(&mut self, process: usize, part: Part, commit: bool) {
        let pid = Self::pid(process);
        match part {
            Part::Log(topic, partition) => self.log_mut(topic, partition).mark(pid, commit),
            Part::Offsets => {
                let pending = self.group.pending.remove(&pid).unwrap_or_default();
                if commit {
                    for (partition, offset) in pending {
                        self.group.committed[partition as usize] = Some(offset);
                    }
                }
            }
        }
    }

    /// The coordinator's log loses its tail: decided transactions whose markers are not written
    /// are under way again, an acknowledged commit undone.
    pub fn undo_decisions(&mut self) -> bool {
        let now = self.now;
        let mut undone = false;
        for process in 0..self.txns.len() {
            let pending = self.markers.iter().any(|(_, of)| *of == process);
            let whole = pending && !self.txns[process].partly;
            if whole && let TxnState::Ending { commit: true } = self.txns[process].state {
                self.txns[process].state = TxnState::Ongoing { since: now };
                self.txns[process].undone = true;
                undone = true;
                self.markers.retain(|(_, of)| *of != process);
                self.say(|| format!("the commit of {process} is undone"));
            }
        }
        undone
    }

    /// Aborts transactions that outlast their time, and fences their producers.
    pub fn scan_transactions(&mut self) {
        for process in 0..self.txns.len() {
            if let TxnState::Ongoing { since } = self.txns[process].state
                && self.now - since > TRANSACTION_MS
            {
                self.say(|| format!("transaction of {process} timed out"));
                self.decide(process, false);
                self.complete(process);
                self.txns[process].epoch += 1;
            }
        }
    }

    /// A late request arrives.
    pub fn arrive(&mut self, late: Late) {
        self.say(|| format!("late {late:?}").chars().take(90).collect());
        // Nobody waits for the answer.
        let _ = match late {
            Late::Add { process, epoch, part } => self.add(process, epoch, part),
            Late::Produce { process, epoch, part: Part::Log(topic, partition), record } => {
                self.produce(process, epoch, (topic, partition), record).map(drop)
            }
            Late::Produce { .. } => Ok(()),
            Late::End { process, epoch, commit } => self.end(process, epoch, commit),
        };
    }
}
