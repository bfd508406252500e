//! Faults put into the protocol on purpose: a simulation that does not find them proves nothing.
//! They are made of what surrounds the worker, never of the worker.
//! Must not be in here: a fault of the cluster, which a worker has to bear.

use crate::calls::SimBroker;
use oncegate::gate::OutputRecord;
use oncegate::journal::CommitAcknowledged;
use oncegate::kafka::broker::{
    Broker, Delivered, DrainError, Membership, Polled, SendError, SourceOffset, TopicIds, TxnError,
    TxnErrorClass,
};
use std::collections::BTreeMap;

/// A fault of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The protocol as it is.
    None,
    /// Commits before the deliveries are in.
    NoDrain,
    /// Remembers a key when it is looked up.
    StoreBeforeReceipt,
    /// Takes an unknown outcome of a commit as done.
    UnknownIsCommitted,
    /// Commits under the metadata of the first join.
    StaleMetadata,
    /// Commits under empty metadata, which nothing fences.
    EmptyMetadata,
    /// Takes the last stable offset as the journal's end.
    JournalEndIsStable,
    /// Reads the journal as a `read_uncommitted` client.
    JournalReadUncommitted,
    /// Keeps a partition's part over a revocation.
    PartKeptOverRevoke,
    /// Does not look for late requests.
    StragglersUnseen,
    /// Loses one entry's sightings while restoring.
    SkippedEntry,
    /// Loses one write's sightings.
    ForgottenWrite,
    /// Believes the first jump after a seek.
    JumpBelieved,
    /// Takes topics by their names.
    TopicIdsUnread,
    /// Does not look where the raw log ends.
    RawEndUnread,
    /// Does not look at the last records of clean and quarantine.
    TailsUnread,
    /// Takes a missing answer as "no offset".
    NoAnswerIsNone,
    /// Does not wait for pending offsets.
    UnstableOffsets,
    /// Never sends the offsets.
    NoOffsets,
    /// Leaves out one record in many.
    LostSend,
}

/// The mutants that a simulation must find.
pub const FOUND: [Mutant; 17] = [
    Mutant::NoDrain,
    Mutant::StoreBeforeReceipt,
    Mutant::UnknownIsCommitted,
    Mutant::StaleMetadata,
    Mutant::EmptyMetadata,
    Mutant::JournalEndIsStable,
    Mutant::JournalReadUncommitted,
    Mutant::PartKeptOverRevoke,
    Mutant::StragglersUnseen,
    Mutant::SkippedEntry,
    Mutant::ForgottenWrite,
    Mutant::JumpBelieved,
    Mutant::TopicIdsUnread,
    Mutant::RawEndUnread,
    Mutant::TailsUnread,
    Mutant::NoOffsets,
    Mutant::LostSend,
];

/// A worker's broker, with one fault.
pub struct MutantBroker {
    pub of: SimBroker,
    pub mutant: Mutant,
    /// Membership as of the first join.
    first: Option<Membership>,
    /// Where each partition was sought last, and what came first.
    sought: BTreeMap<i32, (i64, Option<i64>)>,
    sent: u64,
    drained: Delivered,
}

impl MutantBroker {
    pub fn new(of: SimBroker, mutant: Mutant) -> MutantBroker {
        MutantBroker {
            of,
            mutant,
            first: None,
            sought: BTreeMap::new(),
            sent: 0,
            drained: Delivered::default(),
        }
    }
}

impl Broker for MutantBroker {
    fn now_ms(&self) -> u64 {
        self.of.now_ms()
    }

    fn poll(&mut self, wait_ms: u64, records_max: usize, sink: &mut dyn FnMut(Polled<'_>)) {
        let (mutant, sought) = (self.mutant, &mut self.sought);
        self.of.poll(wait_ms, records_max, &mut |polled| {
            let came = match &polled {
                Polled::Record(record) => Some((record.partition, record.offset)),
                Polled::End { partition, next } => Some((*partition, *next)),
                _ => None,
            };
            if let Some((partition, offset)) = came
                && let Some((_, first)) = sought.get_mut(&partition)
            {
                first.get_or_insert(offset);
            }
            match (mutant, &polled) {
                (Mutant::PartKeptOverRevoke, Polled::Revoked(_)) => {}
                _ => sink(polled),
            }
        });
    }

    fn membership(&self) -> Membership {
        self.of.membership()
    }

    fn start_at(&mut self, partition: i32, offset: i64) -> Result<(), String> {
        // A second seek to the same offset is the confirmation: what came first comes again.
        let before = self.sought.insert(partition, (offset, None));
        if self.mutant == Mutant::JumpBelieved
            && let Some((sought, Some(first))) = before
            && sought == offset
            && first > offset
            && self.of.is_flowing(partition)
        {
            return self.of.start_at(partition, first);
        }
        self.of.start_at(partition, offset)
    }

    fn pause(&mut self, partition: i32) {
        self.of.pause(partition);
    }

    fn renew_producer(&mut self, wait_ms: u64) -> Result<(), TxnError> {
        self.of.renew_producer(wait_ms)
    }

    fn begin(&mut self) -> Result<(), TxnError> {
        self.of.begin()
    }

    fn send(&mut self, record: &OutputRecord<'_>) -> Result<(), SendError> {
        self.sent += 1;
        if self.mutant == Mutant::LostSend
            && self.sent.is_multiple_of(97)
            && record.target == oncegate::gate::Target::Clean
        {
            return Ok(());
        }
        self.of.send(record)
    }

    fn drain(&mut self, wait_ms: u64) -> Result<Delivered, DrainError> {
        if self.mutant == Mutant::NoDrain {
            return Ok(self.drained.clone());
        }
        self.of.drain(wait_ms)
    }

    fn topic_ids(&mut self, wait_ms: u64) -> Result<TopicIds, TxnError> {
        let ids = self.of.topic_ids(wait_ms)?;
        if self.mutant == Mutant::TopicIdsUnread {
            return Ok(TopicIds { raw: "Raw-1".into(), journal: "Journal-1".into(), ..ids });
        }
        Ok(ids)
    }

    fn send_offsets(&mut self, offsets: &[SourceOffset], wait_ms: u64) -> Result<(), TxnError> {
        let now = self.of.membership();
        let member = match self.mutant {
            Mutant::NoOffsets => return Ok(()),
            Mutant::StaleMetadata => self.first.get_or_insert(now).clone(),
            Mutant::EmptyMetadata => {
                Membership { generation: -1, member_id: String::new(), assignment_lost: false }
            }
            _ => now,
        };
        self.of.offsets_under(&member, offsets, wait_ms)
    }

    fn commit(&mut self, wait_ms: u64) -> Result<CommitAcknowledged, TxnError> {
        match self.of.commit(wait_ms) {
            Err(error)
                if self.mutant == Mutant::UnknownIsCommitted
                    && error.class != TxnErrorClass::Abort =>
            {
                Ok(CommitAcknowledged::by_broker())
            }
            result => result,
        }
    }

    fn abort(&mut self, wait_ms: u64) -> Result<(), TxnError> {
        self.of.abort(wait_ms)
    }

    fn straggler_signs(&self) -> u64 {
        if self.mutant == Mutant::StragglersUnseen { 0 } else { self.of.straggler_signs() }
    }
}
