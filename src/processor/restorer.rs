//! The thread in which a worker's takeovers run, so that the polling thread never waits.
//!
//! Jobs take turns: one that waits for an answer goes to the back. Must not be in here: what a
//! takeover consists of.

use super::restore::{Answer, Job, Restoration, Stepped};
use super::route::Route;
use super::worker::Takeovers;
use crate::gate::Incarnation;
use crate::kafka::witnesses::Witnesses;
use crate::store::Stores;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Pause after a round in which every job waited.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// A wait or the progress of a restore is logged this often.
const LOG_EVERY: Duration = Duration::from_secs(5);

enum Order {
    Start(Job),
    Forget(i32),
}

/// Hands jobs to the thread. Dropping it ends the thread at its next step.
pub struct RestorerThread<S> {
    orders: Sender<Order>,
    answers: Receiver<(Job, Answer<S>)>,
}

impl<S: crate::store::PartitionStore + 'static> RestorerThread<S> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn spawn<W, R>(route: Route, witnesses: W, stores: R) -> std::io::Result<RestorerThread<S>>
    where
        W: Witnesses + Send + 'static,
        R: Stores<Store = S>,
    {
        let (orders, inbox) = channel();
        let (outbox, answers) = channel();
        let name = format!("restore-{}", route.name);
        std::thread::Builder::new().name(name).spawn(move || {
            Restorer { route, witnesses, stores, inbox, outbox, jobs: VecDeque::new() }.run();
        })?;
        Ok(RestorerThread { orders, answers })
    }

    fn order(&self, order: Order) {
        // The thread ends only after this handle is gone, or by a panic, which the log has.
        if self.orders.send(order).is_err() {
            tracing::error!("the takeover thread has ended; partitions cannot be taken over");
        }
    }
}

impl<S: crate::store::PartitionStore + 'static> Takeovers for RestorerThread<S> {
    type Store = S;

    fn submit(&mut self, job: Job) {
        self.order(Order::Start(job));
    }

    fn forget(&mut self, partition: i32) {
        self.order(Order::Forget(partition));
    }

    fn answer(&mut self) -> Option<(Job, Answer<S>)> {
        self.answers.try_recv().ok()
    }
}

struct Restorer<W, R: Stores> {
    route: Route,
    witnesses: W,
    stores: R,
    inbox: Receiver<Order>,
    outbox: Sender<(Job, Answer<R::Store>)>,
    jobs: VecDeque<Restoration<R::Store>>,
}

impl<W: Witnesses, R: Stores> Restorer<W, R> {
    fn run(mut self) {
        let mut logged: BTreeMap<(i32, Incarnation), Instant> = BTreeMap::new();
        let mut waiting_in_row = 0;
        loop {
            let pause = if self.jobs.is_empty() {
                None
            } else {
                Some(if waiting_in_row >= self.jobs.len() { ROUND_PAUSE } else { Duration::ZERO })
            };
            if pause == Some(ROUND_PAUSE) {
                waiting_in_row = 0;
            }
            if self.take_orders(pause).is_err() {
                return;
            }
            let Some(mut restoration) = self.jobs.pop_front() else { continue };
            let stepped = restoration.step(&self.route, &mut self.witnesses, &self.stores);
            let id = (restoration.job().partition, restoration.job().incarnation);
            match stepped {
                Stepped::Done(answer) => {
                    logged.remove(&id);
                    waiting_in_row = 0;
                    if self.outbox.send((restoration.job().clone(), answer)).is_err() {
                        return;
                    }
                }
                Stepped::Moved => {
                    waiting_in_row = 0;
                    self.log(&mut logged, &restoration, None);
                    self.jobs.push_front(restoration);
                }
                Stepped::Waits(cause) => {
                    waiting_in_row += 1;
                    self.log(&mut logged, &restoration, Some(&cause));
                    self.jobs.push_back(restoration);
                }
            }
        }
    }

    /// Takes what was ordered; waits for `pause`, or without jobs until something is.
    fn take_orders(&mut self, pause: Option<Duration>) -> Result<(), ()> {
        let first = match pause {
            None => self.inbox.recv().map_err(|_| ())?,
            Some(pause) => match self.inbox.recv_timeout(pause) {
                Ok(order) => order,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(()),
            },
        };
        self.take(first);
        loop {
            match self.inbox.try_recv() {
                Ok(order) => self.take(order),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(()),
            }
        }
    }

    fn take(&mut self, order: Order) {
        let partition = match &order {
            Order::Start(job) => job.partition,
            Order::Forget(partition) => *partition,
        };
        // A dropped restoration closes its store.
        self.jobs.retain(|restoration| restoration.job().partition != partition);
        if let Order::Start(job) = order {
            self.jobs.push_back(Restoration::new(job));
        }
    }

    fn log(
        &self,
        logged: &mut BTreeMap<(i32, Incarnation), Instant>,
        restoration: &Restoration<R::Store>,
        waits_for: Option<&str>,
    ) {
        let id = (restoration.job().partition, restoration.job().incarnation);
        let last = logged.entry(id).or_insert_with(Instant::now);
        if last.elapsed() < LOG_EVERY {
            return;
        }
        *last = Instant::now();
        let (next, end) = restoration.progress().unwrap_or((0, 0));
        match waits_for {
            Some(cause) => tracing::warn!(
                route = self.route.name,
                topic = self.route.raw_topic,
                partition = id.0,
                "takeover waits: {cause}"
            ),
            None => tracing::info!(
                route = self.route.name,
                partition = id.0,
                journal_next = next,
                journal_end = end,
                "restoring"
            ),
        }
    }
}
