//! What a worker measures of itself, for whoever watches.
//! Must not be in here: anything that a decision depends on.

use super::observer::{Figures, Observer, PartitionFigures};
use super::task::Task;
use super::worker::{Takeovers, Worker};
use crate::gate::{EventMicros, RecordTimestamp};
use crate::journal::Position;
use crate::kafka::broker::Broker;
use crate::store::PartitionStore;

impl<B: Broker, T: Takeovers, O: Observer> Worker<B, T, O> {
    /// Tells the observer the figures. That asks every store, so it is not done at every step.
    pub fn measure(&mut self) {
        let partitions = (self.tasks.values())
            .map(|task| figures_of(task, self.broker.raw_end(task.partition)))
            .collect();
        self.observer.measured(Figures { partitions, client: self.broker.figures() });
    }
}

fn figures_of<S: PartitionStore>(task: &Task<S>, raw_end: Option<i64>) -> PartitionFigures {
    let collected = &task.collected;
    let oldest = collected.waiting(1).next().map(|record| collected.timestamp(record));
    let figures = PartitionFigures {
        partition: task.partition,
        committed_next: task.committed_next,
        raw_end,
        oldest_ms: oldest.and_then(milliseconds),
        ..PartitionFigures::default()
    };
    let Some(open) = task.open() else { return figures };
    let window = &open.progress.window;
    PartitionFigures {
        clock_micros: Some(window.clock_micros).filter(|micros| *micros != EventMicros::MIN),
        horizon_micros: Some(window.horizon_micros).filter(|micros| *micros != EventMicros::MIN),
        store: Some(open.store.size()),
        totals: open.position.as_ref().map(Position::totals),
        ..figures
    }
}

fn milliseconds(timestamp: RecordTimestamp) -> Option<i64> {
    match timestamp {
        RecordTimestamp::Absent => None,
        RecordTimestamp::CreateTimeMs(ms) | RecordTimestamp::LogAppendTimeMs(ms) => Some(ms),
    }
}
