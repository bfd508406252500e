//! The calls of a client to the model cluster, and what goes wrong with them.
//! Must not be in here: what a call means to the cluster.

use crate::client::{Fetch, Fetched};
use crate::cluster::{Cluster, Late, Part, Refused, TxnState};
use crate::copies::topic_of;
use crate::log::Topic;
use crate::world::World;
use oncegate::gate::Target;
use oncegate::kafka::broker::{
    DeliveryCause, DeliveryError, DrainError, Membership, SourceOffset, TopicIds, TxnError,
    TxnErrorClass,
};
use std::rc::Rc;

pub fn error(class: TxnErrorClass, step: &'static str, message: &str) -> TxnError {
    TxnError { class, step, message: message.to_owned() }
}

fn refused(step: &'static str, refused: Refused) -> TxnError {
    error(TxnErrorClass::Fatal, step, &format!("{refused:?}"))
}

/// What goes wrong with a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    None,
    /// The request is lost; the client says that it timed out.
    RequestLost,
    /// It was served; the client says that it timed out.
    ResponseLost,
    FatalServed,
    FatalLost,
    Abort,
    Membership,
    /// It was served, and a copy of it is still under way.
    Copied,
}

/// The model's [`Broker`].
pub struct SimBroker {
    pub world: Rc<World>,
    pub me: usize,
}

impl SimBroker {
    /// Gives the cluster the time that a call takes, and more if it is to be interrupted.
    pub fn spend(&self, from: u64, to: u64) {
        let ms = self.world.c.borrow_mut().random.between(from, to);
        self.world.spend(self.me, ms);
    }

    pub fn with<T>(&self, act: impl FnOnce(&mut Cluster, usize) -> T) -> T {
        act(&mut self.world.c.borrow_mut(), self.me)
    }

    /// Waits as long as the call may while the cluster does not answer.
    pub fn unanswered(&self, wait_ms: u64) -> bool {
        let away = self.with(|c, _| c.is_away());
        if away {
            self.world.spend(self.me, wait_ms);
            self.with(|c, me| {
                if c.random.chance(300) {
                    c.clients[me].signs += 1;
                }
            });
        }
        away
    }

    pub fn trouble(&self, end: bool) -> Trouble {
        self.with(|c, _| {
            if c.random.chance(c.knobs.straggler) {
                return if end { Trouble::Copied } else { Trouble::RequestLost };
            }
            if !c.random.chance(c.knobs.call) {
                return Trouble::None;
            }
            *c.random.pick(&[
                Trouble::RequestLost,
                Trouble::ResponseLost,
                Trouble::FatalServed,
                Trouble::FatalLost,
                Trouble::Abort,
                if end { Trouble::None } else { Trouble::Membership },
            ])
        })
    }

    /// Hands one queued record to the cluster.
    pub fn deliver_one(&self) -> Result<(), DrainError> {
        self.with(|c, me| {
            let Some(producer) = c.clients[me].producer.as_mut() else { return Ok(()) };
            let Some((target, partition, record)) = producer.queue.pop_front() else {
                return Ok(());
            };
            let epoch = producer.epoch;
            let failed = |cause, message: &str| {
                let message = message.to_owned();
                DrainError::Failed(DeliveryError { target, partition, cause, message })
            };
            let part = Part::Log(topic_of(target), partition);
            let poison = record.payload.as_ref().is_some_and(|p| p.ends_with(b"\"poison\"}"));
            if poison && target == Target::Clean {
                producer.abort_only = true;
                producer.queue.clear();
                return Err(failed(DeliveryCause::Invalid, "a policy refuses it"));
            }
            if c.random.chance(c.knobs.straggler / 2) {
                let at = c.now + c.random.between(1, 3000);
                let late = if c.random.chance(500) {
                    Late::Produce { process: me, epoch, part, record }
                } else {
                    Late::Add { process: me, epoch, part }
                };
                c.late.push((at, late));
                let client = &mut c.clients[me];
                client.signs += 1;
                if let Some(producer) = client.producer.as_mut() {
                    producer.abort_only = true;
                    producer.queue.clear();
                }
                return Err(failed(DeliveryCause::Other, "timed out"));
            }
            let added = c.add(me, epoch, part);
            let place = (topic_of(target), partition);
            match added.and_then(|()| c.produce(me, epoch, place, record)) {
                Ok(offset) => {
                    if let Some(producer) = c.clients[me].producer.as_mut() {
                        let ranges = &mut producer.delivered.ranges;
                        let range = ranges.entry((target, partition)).or_insert((offset, offset));
                        *range = (range.0.min(offset), range.1.max(offset));
                    }
                    Ok(())
                }
                Err(refused) => {
                    if let Some(producer) = c.clients[me].producer.as_mut() {
                        producer.fatal = true;
                    }
                    Err(failed(DeliveryCause::Other, &format!("{refused:?}")))
                }
            }
        })
    }

    /// Whether a call can be made at all in the producer's state.
    pub fn usable(&self, step: &'static str) -> Result<u32, TxnError> {
        self.with(|c, me| match &c.clients[me].producer {
            None => Err(error(TxnErrorClass::Fatal, step, "there is no producer")),
            Some(producer) if producer.fatal => Err(error(TxnErrorClass::Fatal, step, "fenced")),
            Some(producer) => Ok(producer.epoch),
        })
    }

    pub fn set_fatal(&self) {
        self.with(|c, me| {
            if let Some(producer) = c.clients[me].producer.as_mut() {
                producer.fatal = true;
            }
        });
    }

    pub fn end(&mut self, commit: bool, wait_ms: u64) -> Result<(), TxnError> {
        let step = if commit { "commit" } else { "abort" };
        self.spend(1, 8);
        let epoch = self.usable(step)?;
        if self.unanswered(wait_ms) {
            return Err(error(TxnErrorClass::Retriable, step, "timed out"));
        }
        let trouble = self.trouble(true);
        if trouble == Trouble::RequestLost {
            self.world.spend(self.me, wait_ms);
            return Err(error(TxnErrorClass::Retriable, step, "timed out"));
        }
        if trouble == Trouble::FatalLost {
            self.set_fatal();
            return Err(error(TxnErrorClass::Fatal, step, "the coordinator gave up"));
        }
        if trouble == Trouble::Abort && commit {
            return Err(error(TxnErrorClass::Abort, step, "it must be aborted"));
        }
        let result = self.with(|c, me| {
            // An abort of which nothing has reached the coordinator is the client's own affair.
            let nothing = matches!(c.txns[me].state, TxnState::Empty { .. }) && !commit;
            if nothing && c.txns[me].epoch == epoch { Ok(()) } else { c.end(me, epoch, commit) }
        });
        if let Err(why) = result {
            self.set_fatal();
            return Err(refused(step, why));
        }
        match trouble {
            Trouble::ResponseLost => {
                self.world.spend(self.me, wait_ms);
                return Err(error(TxnErrorClass::Retriable, step, "timed out"));
            }
            Trouble::FatalServed => {
                self.set_fatal();
                return Err(error(TxnErrorClass::Fatal, step, "the coordinator gave up"));
            }
            Trouble::Copied => self.with(|c, me| {
                let at = c.now + c.random.between(1, 3000);
                c.late.push((at, Late::End { process: me, epoch, commit }));
                c.clients[me].signs += 1;
            }),
            _ => {}
        }
        self.with(|c, me| {
            if let Some(producer) = c.clients[me].producer.as_mut() {
                producer.open = false;
                producer.abort_only = false;
                producer.queue.clear();
            }
        });
        self.spend(1, 4);
        Ok(())
    }

    /// Brings the client's view of the group level: what it lost and what it gained.
    pub fn rejoin(&self) -> (Vec<i32>, Vec<i32>) {
        self.with(|c, me| {
            let (mut lost, mut gained) = (Vec::new(), Vec::new());
            let Cluster { group, clients, random, now, .. } = c;
            let client = &mut clients[me];
            let known =
                !client.member_id.is_empty() && group.members.get(&me) == Some(&client.member_id);
            if !known {
                lost.extend(std::mem::take(&mut client.assigned).into_keys());
                client.member_id.clear();
                client.generation = -1;
                client.assignment_lost = false;
                if random.chance(300) {
                    return (lost, gained);
                }
                client.member_id = group.join(me, *now, random);
                client.generation = group.generation;
                // A process that was started again has nothing, whatever it had before.
                let had = group.owner.iter_mut().filter(|owner| **owner == Some(me));
                had.for_each(|owner| *owner = None);
            }
            if client.generation != group.generation {
                let leaving: Vec<i32> = (client.assigned.keys())
                    .filter(|p| group.target[**p as usize] != Some(me))
                    .copied()
                    .collect();
                for partition in leaving {
                    client.assigned.remove(&partition);
                    group.owner[partition as usize] = None;
                    lost.push(partition);
                }
                client.generation = group.generation;
            }
            for partition in 0..c.partitions {
                let (target, owner) =
                    (group.target[partition as usize], group.owner[partition as usize]);
                let free = owner.is_none() || owner == Some(me);
                if target == Some(me) && free && !client.assigned.contains_key(&partition) {
                    group.owner[partition as usize] = Some(me);
                    client.assigned.insert(partition, Fetch::assigned());
                    gained.push(partition);
                }
            }
            if c.tell && (!lost.is_empty() || !gained.is_empty()) {
                c.say(|| format!("{me} lost {lost:?}, gained {gained:?}"));
            }
            (lost, gained)
        })
    }

    /// Reads some records of one partition.
    pub fn fetch(&self, partition: i32, max: usize) -> Fetched {
        self.with(|c, me| {
            let log = &c.logs[Topic::Raw as usize][partition as usize];
            match c.clients[me].assigned.get_mut(&partition) {
                Some(fetch) => fetch.read(log, max),
                None => Fetched::default(),
            }
        })
    }
}

impl SimBroker {
    /// Whether a partition is assigned and read.
    pub fn is_flowing(&self, partition: i32) -> bool {
        self.with(|c, me| {
            c.clients[me].assigned.get(&partition).is_some_and(|fetch| !fetch.paused && !fetch.dead)
        })
    }

    /// Sends offsets under a membership, which the group's coordinator checks unless it is empty.
    pub fn offsets_under(
        &mut self,
        member: &Membership,
        offsets: &[SourceOffset],
        wait_ms: u64,
    ) -> Result<(), TxnError> {
        const STEP: &str = "send offsets";
        self.spend(1, 5);
        let epoch = self.usable(STEP)?;
        if member.assignment_lost {
            return Err(error(TxnErrorClass::Membership, STEP, "no member of the group"));
        }
        if self.unanswered(wait_ms) {
            return Err(error(TxnErrorClass::Retriable, STEP, "timed out"));
        }
        let trouble = self.trouble(false);
        match trouble {
            Trouble::RequestLost => {
                self.world.spend(self.me, wait_ms);
                return Err(error(TxnErrorClass::Retriable, STEP, "timed out"));
            }
            Trouble::Abort => return Err(error(TxnErrorClass::Abort, STEP, "timed out")),
            Trouble::Membership => {
                return Err(error(TxnErrorClass::Membership, STEP, "rebalance in progress"));
            }
            _ => {}
        }
        let result = self.with(|c, me| {
            c.add(me, epoch, Part::Offsets).map_err(|why| refused(STEP, why))?;
            let fencing = member.generation >= 0 && !member.member_id.is_empty();
            if fencing {
                if c.group.members.get(&me) != Some(&member.member_id) {
                    let class = TxnErrorClass::Membership;
                    return Err(error(class, STEP, "unknown member id"));
                }
                if member.generation != c.group.generation {
                    return Err(error(TxnErrorClass::Membership, STEP, "illegal generation"));
                }
            } else {
                c.book.fail("offsets were sent under metadata that is not fenced");
            }
            let offsets = (offsets.iter())
                .map(|offset| (offset.partition, (offset.offset, offset.metadata.clone())))
                .collect();
            c.offsets(me, epoch, offsets).map_err(|why| refused(STEP, why))
        });
        if let Err(why) = &result
            && why.class == TxnErrorClass::Fatal
        {
            self.set_fatal();
        }
        result?;
        if trouble == Trouble::ResponseLost {
            self.world.spend(self.me, wait_ms);
            return Err(error(TxnErrorClass::Retriable, STEP, "timed out"));
        }
        Ok(())
    }
}

pub fn topic_ids(c: &Cluster) -> TopicIds {
    TopicIds {
        raw: c.topic_id(Topic::Raw),
        journal: c.topic_id(Topic::Journal),
        raw_partitions: c.raw_partitions,
    }
}
