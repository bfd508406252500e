//! The client of one worker over the model cluster: the [`Broker`] that a history drives.
//!
//! Its calls take simulated time, in which other processes go on, and it can be stopped or killed
//! within any of them. Must not be in here: what a call means to the cluster.

use crate::calls::{SimBroker, Trouble, error, topic_ids};
use crate::client::Producer;
use crate::cluster::TxnState;
use crate::copies::{copy_of, give};
use crate::log::Topic;
use oncegate::gate::OutputRecord;
use oncegate::gate::Target;
use oncegate::journal::CommitAcknowledged;
use oncegate::kafka::broker::{
    Broker, ConsumeError, Delivered, DeliveryCause, DeliveryError, DrainError, Membership, Polled,
    SendError, SourceOffset, TopicIds, TxnError, TxnErrorClass,
};
use std::collections::VecDeque;
use std::rc::Rc;

/// A client gives a record up after this.
const MESSAGE_MS: u64 = 9_000;

impl Broker for SimBroker {
    fn now_ms(&self) -> u64 {
        self.world.c.borrow().now
    }

    fn poll(&mut self, wait_ms: u64, records_max: usize, sink: &mut dyn FnMut(Polled<'_>)) {
        self.world.spend(self.me, 0);
        if self.with(|c, me| std::mem::take(&mut c.clients[me].give_up)) {
            return sink(Polled::Failed(ConsumeError::Fatal("fenced instance id".into())));
        }
        if self.with(|c, _| c.is_down()) {
            return self.world.sleep(self.me, wait_ms);
        }
        let (lost, gained) = self.rejoin();
        if !lost.is_empty() {
            sink(Polled::Revoked(&lost));
        }
        if !gained.is_empty() {
            sink(Polled::Assigned(&gained));
        }
        let mut assigned: Vec<i32> =
            self.with(|c, me| c.clients[me].assigned.keys().copied().collect());
        if self.with(|c, _| c.random.chance(500)) {
            assigned.reverse();
        }
        let mut left = self.with(|c, _| c.random.between(1, 40) as usize).min(records_max.max(1));
        let mut any = false;
        for partition in assigned {
            if left == 0 {
                break;
            }
            let fetched = self.fetch(partition, left);
            left -= fetched.records.len();
            any |= !fetched.records.is_empty();
            for (offset, record) in &fetched.records {
                give(partition, *offset, record, sink);
            }
            if let Some(next) = fetched.end {
                sink(Polled::End { partition, next });
            }
            if fetched.out_of_log {
                sink(Polled::Failed(ConsumeError::OffsetNotInLog));
            }
        }
        self.world.sleep(self.me, if any { 1 } else { wait_ms.max(1) });
    }

    fn membership(&self) -> Membership {
        self.with(|c, me| {
            let client = &c.clients[me];
            Membership {
                generation: client.generation,
                member_id: client.member_id.clone(),
                assignment_lost: client.assignment_lost,
            }
        })
    }

    fn start_at(&mut self, partition: i32, offset: i64) -> Result<(), String> {
        self.with(|c, me| {
            let jump = if c.random.chance(c.knobs.jump) { c.random.between(1, 6) } else { 0 };
            let cuts = c.log(Topic::Raw, partition).cuts.len();
            c.say(|| format!("{me} reads {partition} from {offset} (jump {jump})"));
            match c.clients[me].assigned.get_mut(&partition) {
                Some(fetch) => {
                    fetch.seek(offset, cuts, jump);
                    Ok(())
                }
                None => Err("erroneous state".to_owned()),
            }
        })
    }

    fn pause(&mut self, partition: i32) {
        self.with(|c, me| {
            if let Some(fetch) = c.clients[me].assigned.get_mut(&partition) {
                fetch.paused = true;
            }
        });
    }

    fn renew_producer(&mut self, wait_ms: u64) -> Result<(), TxnError> {
        const STEP: &str = "init";
        self.with(|c, me| c.clients[me].producer = None);
        self.spend(2, 30);
        if self.unanswered(wait_ms) {
            return Err(error(TxnErrorClass::Retriable, STEP, "timed out"));
        }
        match self.trouble(false) {
            Trouble::RequestLost => Err(error(TxnErrorClass::Retriable, STEP, "timed out")),
            Trouble::FatalLost => Err(error(TxnErrorClass::Fatal, STEP, "gave up")),
            _ => {
                self.with(|c, me| {
                    let epoch = c.init(me);
                    c.clients[me].producer = Some(Producer {
                        epoch,
                        open: false,
                        queue: VecDeque::new(),
                        fatal: false,
                        abort_only: false,
                        delivered: Delivered::default(),
                        ids: topic_ids(c),
                        waiting_since: None,
                        began: 0,
                    });
                });
                Ok(())
            }
        }
    }

    fn begin(&mut self) -> Result<(), TxnError> {
        self.usable("begin")?;
        self.with(|c, me| {
            let (ids, now) = (topic_ids(c), c.now);
            if let Some(producer) = c.clients[me].producer.as_mut() {
                producer.open = true;
                producer.abort_only = false;
                producer.queue.clear();
                producer.delivered = Delivered::default();
                producer.ids = ids;
                producer.waiting_since = None;
                producer.began = now;
            }
        });
        Ok(())
    }

    fn send(&mut self, record: &OutputRecord<'_>) -> Result<(), SendError> {
        let copy = Rc::new(copy_of(record));
        self.with(|c, me| {
            let full = c.random.chance(c.knobs.call / 4);
            match c.clients[me].producer.as_mut() {
                Some(producer) if !full => {
                    producer.queue.push_back((record.target, record.partition, copy));
                    Ok(())
                }
                _ => Err(SendError::QueueFull),
            }
        })
    }

    fn drain(&mut self, wait_ms: u64) -> Result<Delivered, DrainError> {
        self.spend(1, 6);
        if let Err(why) = self.usable("drain") {
            let message = why.message;
            let (target, partition, cause) = (Target::Journal, 0, DeliveryCause::Other);
            return Err(DrainError::Failed(DeliveryError { target, partition, cause, message }));
        }
        let trouble = self.trouble(false);
        if trouble == Trouble::ResponseLost {
            self.world.spend(self.me, wait_ms.max(1));
            return Err(DrainError::TimedOut);
        }
        let until = self.now_ms() + wait_ms.max(1);
        loop {
            if self.with(|c, _| c.is_down()) {
                let since = self.with(|c, me| {
                    let now = c.now;
                    let producer = c.clients[me].producer.as_mut();
                    producer.map_or(now, |p| *p.waiting_since.get_or_insert(now))
                });
                self.world.spend(self.me, wait_ms.max(1));
                if self.now_ms() - since < MESSAGE_MS {
                    return Err(DrainError::TimedOut);
                }
                self.with(|c, me| {
                    c.clients[me].signs += 1;
                    if let Some(producer) = c.clients[me].producer.as_mut() {
                        producer.abort_only = true;
                        producer.queue.clear();
                    }
                });
                let message = "timed out".to_owned();
                let (target, partition, cause) = (Target::Journal, 0, DeliveryCause::Other);
                let failed = DeliveryError { target, partition, cause, message };
                return Err(DrainError::Failed(failed));
            }
            let left = self.with(|c, me| {
                c.clients[me].producer.as_ref().map_or(0, |producer| producer.queue.len())
            });
            if left == 0 {
                break;
            }
            // The transaction before is not complete: the client asks again.
            if self.with(|c, me| matches!(c.txns[me].state, TxnState::Ending { .. })) {
                if self.now_ms() >= until {
                    return Err(DrainError::TimedOut);
                }
                self.world.spend(self.me, 20);
                continue;
            }
            let some = self.with(|c, _| c.random.between(1, 60));
            for _ in 0..some {
                self.deliver_one()?;
            }
            if self.with(|c, _| c.random.chance(200)) {
                self.spend(1, 20);
            }
        }
        Ok(self.with(|c, me| {
            c.clients[me].producer.as_ref().map_or_else(Delivered::default, |p| p.delivered.clone())
        }))
    }

    fn topic_ids(&mut self, wait_ms: u64) -> Result<TopicIds, TxnError> {
        if self.with(|c, _| c.is_down()) {
            self.world.spend(self.me, wait_ms);
            return Err(error(TxnErrorClass::Retriable, "topic ids", "no answer yet"));
        }
        // The answer may be as old as the begin.
        self.with(|c, me| match &c.clients[me].producer {
            Some(producer) => Ok(producer.ids.clone()),
            None => Err(error(TxnErrorClass::Abort, "topic ids", "they could not be asked for")),
        })
    }

    fn send_offsets(&mut self, offsets: &[SourceOffset], wait_ms: u64) -> Result<(), TxnError> {
        self.offsets_under(&self.membership(), offsets, wait_ms)
    }

    fn commit(&mut self, wait_ms: u64) -> Result<CommitAcknowledged, TxnError> {
        let abort_only =
            self.with(|c, me| c.clients[me].producer.as_ref().is_some_and(|p| p.abort_only));
        if abort_only {
            return Err(error(TxnErrorClass::Abort, "commit", "deliveries have failed"));
        }
        self.end(true, wait_ms)?;
        Ok(CommitAcknowledged::by_broker())
    }

    fn abort(&mut self, wait_ms: u64) -> Result<(), TxnError> {
        self.end(false, wait_ms)
    }

    fn straggler_signs(&self) -> u64 {
        self.with(|c, me| c.clients[me].signs)
    }
}
