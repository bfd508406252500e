//! The task of one raw partition: its state, its two watermarks, its records under way.
//! Must not be in here: the cluster. A task is told what happened and says what it holds.

use super::refusal::Refusal;
use super::restore::{JournalProgress, TakenOver};
use crate::gate::{Collected, Incarnation, Progress};
use crate::journal::{EntryContext, LogEnd, Position};

/// What a task may do.
pub enum TaskState<S> {
    /// It is being taken over; records that come are dropped.
    Restoring,
    /// Its first entry has to be written before anything is read.
    Beginning(Open<S>),
    /// It collects records and takes part in transactions.
    Running(Open<S>),
    /// It holds what it has until the committed offset is known to name its last entry.
    Verifying(Open<S>),
    /// It must not be served.
    Refused(Refusal),
}

impl<S> TaskState<S> {
    /// The name used in status, logs and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            TaskState::Restoring => "restoring",
            TaskState::Beginning(_) => "beginning",
            TaskState::Running(_) => "running",
            TaskState::Verifying(_) => "verifying",
            TaskState::Refused(_) => "refused",
        }
    }
}

/// A partition's store, and where it stands.
pub struct Open<S> {
    /// Its sightings.
    pub store: S,
    /// The last entry; `None` before the first.
    pub position: Option<Position>,
    /// What was decided so far.
    pub progress: Progress,
    /// What the next entries have in common.
    pub context: EntryContext,
    /// End of the clean partition after the last transaction that wrote to it.
    pub clean_end: LogEnd,
    /// End of the quarantine partition likewise.
    pub quarantine_end: LogEnd,
}

impl<S> Open<S> {
    /// A partition as its takeover left it.
    pub fn new(taken: TakenOver<S>, context: EntryContext) -> Open<S> {
        let at = taken.start.offset();
        let progress = match &taken.position {
            Some(position) => position.progress(),
            None => Progress {
                window: crate::gate::WindowState::EMPTY,
                decided_to: at,
                skipped: Vec::new(),
            },
        };
        Open {
            store: taken.store,
            position: taken.position,
            progress,
            context,
            clean_end: taken.ends.0,
            quarantine_end: taken.ends.1,
        }
    }
}

/// One raw partition that is assigned to this worker.
///
/// `committed_next <= collected_next`: after the last committed batch, and after the last record
/// of the batch under way. Whatever drops a part sets the second back to the first and seeks.
pub struct Task<S> {
    /// Raw partition.
    pub partition: i32,
    /// Since when it is assigned.
    pub incarnation: Incarnation,
    /// What it may do.
    pub state: TaskState<S>,
    /// Records under way.
    pub collected: Collected,
    /// The incarnation that collected them.
    collected_for: Incarnation,
    /// The source offset after the last committed batch.
    pub committed_next: i64,
    /// The source offset after the last record under way.
    pub collected_next: i64,
    /// Where the log ended when it was last read to its end, nothing before it having been dropped.
    end_seen: Option<i64>,
    /// What its takeover waits for, once that takes long.
    pub waits_for: Option<String>,
    /// How far its store is brought level, once that takes long.
    pub restoring: Option<JournalProgress>,
    /// Since when it does not run, by the worker's clock; `None` once it does.
    pub awaited_since_ms: Option<u64>,
    /// A jump forward was seen right after a seek, and is confirmed by seeking once more.
    jump: Jump,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jump {
    /// No record has come since the last seek.
    Fresh,
    /// What came first after a seek lay beyond the offset asked for; another seek is due, and
    /// what comes before it is dropped.
    SeekDue(Ahead),
    /// Sought once more; the same has to come again.
    Confirming(Ahead),
    /// There was no room; the partition is paused.
    Full,
    /// Records come.
    Flowing,
}

/// What lay beyond the offset that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// A record at this offset.
    Record(i64),
    /// The partition's end at this offset.
    End(i64),
}

/// What is to be done with a polled record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It belongs to the batch.
    Take,
    /// It was taken before, or the task does not run.
    Drop,
    /// There is no room for more, because nothing can be sent: pause the partition. It is read on
    /// from this record once there is.
    Full,
    /// It lies beyond the offset asked for: seek to that offset once more.
    SeekAgain,
}

impl<S> Task<S> {
    /// A task whose partition was just assigned.
    pub fn assigned(partition: i32, incarnation: Incarnation) -> Task<S> {
        Task {
            partition,
            incarnation,
            state: TaskState::Restoring,
            collected: Collected::new(partition),
            collected_for: incarnation,
            committed_next: -1,
            collected_next: -1,
            end_seen: None,
            waits_for: None,
            restoring: None,
            awaited_since_ms: None,
            jump: Jump::Fresh,
        }
    }

    /// Judges a record that was polled, `full` if there is no room for it.
    pub fn arrival(&mut self, offset: i64, full: bool) -> Arrival {
        if !matches!(self.state, TaskState::Running(_)) || offset < self.collected_next {
            return Arrival::Drop;
        }
        if matches!(self.jump, Jump::SeekDue(_) | Jump::Full) {
            return Arrival::Drop;
        }
        if self.jumps(offset, Ahead::Record(offset)) {
            return Arrival::SeekAgain;
        }
        if full {
            self.jump = Jump::Full;
            return Arrival::Full;
        }
        self.jump = Jump::Flowing;
        self.collected_next = offset + 1;
        Arrival::Take
    }

    /// The client has read the partition to its end, and goes on at `next`. That counts only
    /// where every record before it was taken: of records that were turned away, `next` would be
    /// a loss. An end that lies ahead right after a seek is a jump like any other: the answer says
    /// whether to seek to `collected_next` once more.
    #[must_use]
    pub fn end_reached(&mut self, next: i64) -> bool {
        if self.running().is_none() {
            return false;
        }
        if matches!(self.jump, Jump::SeekDue(_) | Jump::Full) {
            return false;
        }
        if self.jumps(next, Ahead::End(next)) {
            return true;
        }
        if let Jump::Confirming(_) = self.jump {
            self.jump = Jump::Flowing;
        }
        self.end_seen = Some(next);
        false
    }

    /// Whether what comes now lies ahead of what was sought, and did not come so once before.
    fn jumps(&mut self, offset: i64, ahead: Ahead) -> bool {
        let unconfirmed = match self.jump {
            Jump::Fresh => true,
            Jump::Confirming(before) => before != ahead,
            Jump::SeekDue(_) | Jump::Full | Jump::Flowing => false,
        };
        let jumps = unconfirmed && offset > self.collected_next;
        if jumps {
            self.jump = Jump::SeekDue(ahead);
        }
        jumps
    }

    /// What a second seek is due for.
    pub fn seek_due(&self) -> Option<Ahead> {
        match self.jump {
            Jump::SeekDue(ahead) => Some(ahead),
            _ => None,
        }
    }

    /// The offset up to which markers follow the last record taken; at least `committed_next`.
    pub fn covered_to(&self) -> i64 {
        self.end_seen.filter(|end| *end >= self.collected_next).unwrap_or(self.committed_next)
    }

    /// The seek that was due for this was made.
    pub fn sought_again(&mut self, ahead: Ahead) {
        self.jump = Jump::Confirming(ahead);
    }

    /// A seek to `collected_next` was made.
    pub fn sought(&mut self) {
        self.jump = Jump::Fresh;
        self.end_seen = None;
    }

    /// The task reads from `offset` on; nothing is under way.
    pub fn rewound_to(&mut self, offset: i64) {
        self.collected.clear();
        self.collected_for = self.incarnation;
        self.committed_next = offset;
        self.collected_next = offset;
        self.sought();
    }

    /// Drops what is held while it is looked into; it is read again once that ended well.
    pub fn give_up_held(&mut self) {
        if matches!(self.state, TaskState::Verifying(_)) {
            self.rewound_to(self.committed_next);
        }
    }

    /// Everything under way is dropped and the partition taken over anew: gives the incarnation
    /// up, so that nothing made for it counts any more.
    pub fn restore_as(&mut self, incarnation: Incarnation) {
        self.incarnation = incarnation;
        self.state = TaskState::Restoring;
        self.waits_for = None;
        self.restoring = None;
        self.rewound_to(-1);
    }

    /// The incarnation that collected what is under way.
    pub fn collected_for(&self) -> Incarnation {
        self.collected_for
    }

    /// The first `records` under way are committed, up to the offset `to`.
    pub fn committed(&mut self, records: usize, to: i64) {
        self.collected.advance(records);
        self.committed_next = to;
        self.collected_next = self.collected_next.max(to);
    }

    /// Whether the task had to turn records away and holds none any more.
    pub fn may_read_on(&self) -> bool {
        self.jump == Jump::Full && self.collected.is_empty() && self.running().is_some()
    }

    /// The open store of a task that runs.
    pub fn running(&self) -> Option<&Open<S>> {
        match &self.state {
            TaskState::Running(open) => Some(open),
            _ => None,
        }
    }

    /// The open store of a task in any state that has one.
    pub fn open(&self) -> Option<&Open<S>> {
        match &self.state {
            TaskState::Running(open) | TaskState::Verifying(open) | TaskState::Beginning(open) => {
                Some(open)
            }
            TaskState::Restoring | TaskState::Refused(_) => None,
        }
    }

    /// Likewise, to be changed.
    pub fn open_mut(&mut self) -> Option<&mut Open<S>> {
        match &mut self.state {
            TaskState::Running(open) | TaskState::Verifying(open) | TaskState::Beginning(open) => {
                Some(open)
            }
            TaskState::Restoring | TaskState::Refused(_) => None,
        }
    }

    /// From running to verifying, with everything under way kept.
    pub fn verify(&mut self) {
        self.state = match std::mem::replace(&mut self.state, TaskState::Restoring) {
            TaskState::Running(open) => TaskState::Verifying(open),
            state => state,
        };
    }

    /// From verifying back to running.
    pub fn verified(&mut self) {
        self.state = match std::mem::replace(&mut self.state, TaskState::Restoring) {
            TaskState::Verifying(open) | TaskState::Beginning(open) => TaskState::Running(open),
            state => state,
        };
        self.waits_for = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(at: i64) -> Task<()> {
        let mut task = Task::assigned(0, Incarnation(1));
        task.state = TaskState::Running(Open {
            store: (),
            position: None,
            progress: Progress {
                window: crate::gate::WindowState::EMPTY,
                decided_to: at,
                skipped: Vec::new(),
            },
            context: EntryContext {
                route: String::new(),
                raw_topic_id: String::new(),
                journal_topic_id: String::new(),
                raw_partitions: 1,
                recipe_fingerprint: [0; 32],
            },
            clean_end: LogEnd::empty(""),
            quarantine_end: LogEnd::empty(""),
        });
        task.rewound_to(at);
        task
    }

    #[test]
    fn an_offset_is_taken_once() {
        let mut task = running(5);
        assert_eq!(task.arrival(4, false), Arrival::Drop);
        assert_eq!(task.arrival(5, false), Arrival::Take);
        assert_eq!(task.arrival(5, false), Arrival::Drop);
        assert_eq!(task.arrival(8, false), Arrival::Take, "a gap amid the flow is the log's own");
    }

    #[test]
    fn a_jump_right_after_a_seek_has_to_come_twice() {
        let mut task = running(5);
        assert_eq!(task.arrival(9, false), Arrival::SeekAgain);
        assert_eq!(task.arrival(10, false), Arrival::Drop, "it was polled before the seek");
        seek_again(&mut task);
        assert_eq!(task.arrival(9, false), Arrival::Take);
        task.rewound_to(5);
        assert_eq!(task.arrival(9, false), Arrival::SeekAgain);
        seek_again(&mut task);
        assert_eq!(task.arrival(5, false), Arrival::Take, "the first answer was a stale one");
        task.rewound_to(5);
        assert_eq!(task.arrival(7, false), Arrival::SeekAgain);
        seek_again(&mut task);
        assert_eq!(task.arrival(9, false), Arrival::SeekAgain, "the second answer is another");
        seek_again(&mut task);
        assert_eq!(task.arrival(7, false), Arrival::SeekAgain);
        seek_again(&mut task);
        assert_eq!(task.arrival(7, false), Arrival::Take);
    }

    /// What the worker does where a second seek is due.
    fn seek_again(task: &mut Task<()>) {
        let ahead = task.seek_due().unwrap();
        task.sought();
        task.sought_again(ahead);
    }

    #[test]
    fn an_end_counts_only_where_nothing_was_turned_away() {
        let mut task = running(5);
        assert_eq!(task.arrival(5, false), Arrival::Take);
        assert!(!task.end_reached(8));
        assert_eq!(task.covered_to(), 8, "markers lie behind offset 5");
        assert_eq!(task.arrival(8, false), Arrival::Take);
        assert_eq!(task.covered_to(), 5, "records came after that end");
        assert_eq!(task.arrival(9, true), Arrival::Full);
        assert_eq!(task.arrival(10, false), Arrival::Drop);
        assert!(!task.end_reached(11));
        assert_eq!(task.covered_to(), 5, "9 and 10 were turned away");
        task.sought();
        task.verify();
        assert!(!task.end_reached(11));
        assert_eq!(task.covered_to(), 5, "a task that does not run drops records");
    }

    #[test]
    fn an_end_ahead_right_after_a_seek_has_to_come_twice() {
        let mut task = running(5);
        assert!(task.end_reached(9), "records may lie between");
        assert_eq!(task.covered_to(), 5);
        assert_eq!(task.arrival(9, false), Arrival::Drop, "it was polled before the seek");
        seek_again(&mut task);
        assert!(!task.end_reached(9));
        assert_eq!(task.covered_to(), 9, "only markers do");
        assert_eq!(task.arrival(12, false), Arrival::Take, "it is read on from there");
    }

    #[test]
    fn only_a_running_task_takes_records() {
        let mut task = running(5);
        task.verify();
        assert_eq!(task.arrival(5, false), Arrival::Drop);
        task.verified();
        assert_eq!(task.arrival(5, false), Arrival::Take);
        task.restore_as(Incarnation(2));
        assert_eq!(task.arrival(6, false), Arrival::Drop);
    }
}
