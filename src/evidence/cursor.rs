//! Reading a partition to the end that was captured for it: a poll that gives nothing is never the
//! end, and a log that does not move for too long is an error that says where.
//! Must not be in here: what a record means.

use crate::gate::RawRecord;
use crate::kafka::logs::{LogError, LogReader, Logs};
use std::time::{Duration, Instant};

/// How long one step of reading may take.
const STEP_MS: u64 = 500;
/// Between two askings of the same question.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Why there is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A log did not move.
    #[error(
        "{topic}/{partition}: no progress for {waited_s} s at offset {at}, the end to read to is \
         {until}. A transaction may be open there, or the broker does not answer{trouble}. Nothing \
         is proven by the part that was read; raise --timeout, or run again once it has ended"
    )]
    Stalled {
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// Where reading stands.
        at: i64,
        /// Where it should end.
        until: i64,
        /// Seconds.
        waited_s: u64,
        /// The client's last words, in brackets.
        trouble: String,
    },
    /// A question was not answered.
    #[error("{what}: no answer for {waited_s} s ({last}); raise --timeout, or run again")]
    Unanswered {
        /// What was asked.
        what: String,
        /// Seconds.
        waited_s: u64,
        /// The last answer.
        last: String,
    },
    /// Rows could not be sorted on disk.
    #[error(transparent)]
    Sort(#[from] super::sorter::SortError),
    /// The topics are not what the command needs.
    #[error("{0}")]
    Unfit(String),
}

/// How far a reading is.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: i32,
    /// The next offset.
    pub next: i64,
    /// The end.
    pub until: i64,
}

/// Logs with patience, and someone who is told how far things are.
pub struct Source<'a> {
    logs: &'a mut dyn Logs,
    timeout: Duration,
    observer: &'a mut dyn FnMut(&Reading<'_>),
}

/// A partition under reading.
pub struct Cursor {
    reader: Option<Box<dyn LogReader>>,
    topic: String,
    partition: i32,
    next: i64,
    until: i64,
    /// Time spent in steps that gave nothing, since the last that did.
    idle: Duration,
    trouble: Option<String>,
}

impl Cursor {
    /// Whether the end is reached.
    pub fn is_done(&self) -> bool {
        self.next >= self.until
    }

    /// The next offset.
    pub fn next(&self) -> i64 {
        self.next
    }

    fn stalled(&self) -> EvidenceError {
        let trouble = self.trouble.as_ref().map(|text| format!(" ({text})"));
        EvidenceError::Stalled {
            topic: self.topic.clone(),
            partition: self.partition,
            at: self.next,
            until: self.until,
            waited_s: self.idle.as_secs(),
            trouble: trouble.unwrap_or_default(),
        }
    }
}

impl<'a> Source<'a> {
    /// Gives up after `timeout` without an answer or progress.
    pub fn new(
        logs: &'a mut dyn Logs,
        timeout: Duration,
        observer: &'a mut dyn FnMut(&Reading<'_>),
    ) -> Source<'a> {
        Source { logs, timeout, observer }
    }

    /// How long it waits for an answer or for progress.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Asks until there is an answer.
    ///
    /// # Errors
    /// [`EvidenceError`].
    pub fn ask<T>(
        &mut self,
        what: impl Fn() -> String,
        mut question: impl FnMut(&mut dyn Logs) -> Result<T, LogError>,
    ) -> Result<T, EvidenceError> {
        let began = Instant::now();
        loop {
            match question(self.logs) {
                Ok(answer) => return Ok(answer),
                Err(LogError::NotYet(last)) if began.elapsed() >= self.timeout => {
                    let waited_s = began.elapsed().as_secs();
                    return Err(EvidenceError::Unanswered { what: what(), waited_s, last });
                }
                Err(LogError::NotYet(_)) => std::thread::sleep(ASK_AGAIN),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Begins to read `[from, until)`.
    ///
    /// # Errors
    /// [`EvidenceError`].
    pub fn open(
        &mut self,
        topic: &str,
        partition: i32,
        from: i64,
        until: i64,
    ) -> Result<Cursor, EvidenceError> {
        let reader = match from < until {
            true => Some(self.logs.open(topic, partition, from, until)?),
            false => None,
        };
        let (topic, idle) = (topic.to_owned(), Duration::ZERO);
        Ok(Cursor { reader, topic, partition, next: from, until, idle, trouble: None })
    }

    /// Reads on: shows at most `records_max` records.
    ///
    /// # Errors
    /// [`EvidenceError`], also where the log did not move for too long.
    pub fn step(
        &mut self,
        cursor: &mut Cursor,
        records_max: usize,
        sink: &mut dyn FnMut(&RawRecord<'_>),
    ) -> Result<(), EvidenceError> {
        let Some(reader) = &mut cursor.reader else { return Ok(()) };
        let began = Instant::now();
        let step = reader.read(STEP_MS, records_max, sink)?;
        if step.trouble.is_some() {
            cursor.trouble = step.trouble;
        }
        if step.next > cursor.next {
            cursor.next = step.next;
            cursor.idle = Duration::ZERO;
        } else {
            cursor.idle += began.elapsed();
            if cursor.idle >= self.timeout {
                return Err(cursor.stalled());
            }
        }
        if cursor.is_done() {
            cursor.reader = None;
        }
        let Cursor { topic, partition, next, until, .. } = cursor;
        (self.observer)(&Reading { topic, partition: *partition, next: *next, until: *until });
        Ok(())
    }

    /// Reads a cursor to its end.
    ///
    /// # Errors
    /// [`EvidenceError`].
    pub fn read_all(
        &mut self,
        cursor: &mut Cursor,
        sink: &mut dyn FnMut(&RawRecord<'_>),
    ) -> Result<(), EvidenceError> {
        const RECORDS: usize = 20_000;
        while !cursor.is_done() {
            self.step(cursor, RECORDS, sink)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::logs::{LogBounds, Step};
    use crate::kafka::witnesses::Committed;
    use std::collections::VecDeque;

    /// Gives each of these positions in turn, the last one for ever.
    struct Script(VecDeque<i64>);

    impl LogReader for Script {
        fn read(
            &mut self,
            _: u64,
            _: usize,
            _: &mut dyn FnMut(&RawRecord<'_>),
        ) -> Result<Step, LogError> {
            std::thread::sleep(Duration::from_millis(5));
            let next = if self.0.len() > 1 { self.0.pop_front() } else { self.0.front().copied() };
            Ok(Step { next: next.unwrap_or(0), trouble: Some("down".into()) })
        }
    }

    struct Scripted(Vec<i64>);

    impl Logs for Scripted {
        fn partitions(&mut self, _: &str) -> Result<i32, LogError> {
            Err(LogError::NotYet("asleep".into()))
        }
        fn topic_id(&mut self, _: &str) -> Result<Option<String>, LogError> {
            Ok(None)
        }
        fn bounds(&mut self, _: &str, _: i32) -> Result<LogBounds, LogError> {
            Ok(LogBounds::default())
        }
        fn committed(&mut self, _: &str, _: i32) -> Result<Option<Committed>, LogError> {
            Ok(None)
        }
        fn open(
            &mut self,
            _: &str,
            _: i32,
            _: i64,
            _: i64,
        ) -> Result<Box<dyn LogReader>, LogError> {
            Ok(Box::new(Script(self.0.iter().copied().collect())))
        }
    }

    fn read(positions: &[i64], until: i64) -> Result<(), EvidenceError> {
        let (mut logs, mut observer) = (Scripted(positions.to_vec()), |_: &Reading<'_>| {});
        let mut source = Source::new(&mut logs, Duration::from_millis(40), &mut observer);
        let mut cursor = source.open("t", 3, 0, until)?;
        source.read_all(&mut cursor, &mut |_| {})
    }

    #[test]
    fn empty_steps_are_not_the_end_and_aborted_tails_are_passed() {
        read(&[0, 0, 5, 5, 5, 9, 9, 100], 100).unwrap();
        read(&[], 0).unwrap();
    }

    #[test]
    fn a_log_that_does_not_move_is_named() {
        let error = read(&[0, 7], 100).unwrap_err().to_string();
        assert!(error.starts_with("t/3: no progress"), "{error}");
        assert!(error.contains("at offset 7") && error.contains("is 100"), "{error}");
        assert!(error.contains("(down)"), "{error}");
    }

    #[test]
    fn no_answer_is_never_none() {
        let (mut logs, mut observer) = (Scripted(Vec::new()), |_: &Reading<'_>| {});
        let mut source = Source::new(&mut logs, Duration::from_millis(40), &mut observer);
        let answer = source.ask(|| "partitions of t".into(), |logs| logs.partitions("t"));
        assert!(matches!(answer, Err(EvidenceError::Unanswered { .. })), "{answer:?}");
    }
}
