//! The thread in which a worker's takeovers run, so that the polling thread never waits.
//!
//! Takeovers take turns: one that waits for an answer goes to the back, and so does one that has read
//! for long while others wait. Verifications, on which partitions that run wait, go before all of
//! them. Must not be in here: what a job consists of.

use super::restore::{Answer, Job, JobKind, Restoration, Stepped};
use super::route::Route;
use super::worker::Takeovers;
use crate::gate::Incarnation;
use crate::kafka::witnesses::Witnesses;
use crate::store::Stores;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Pause after a round in which every job waited.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// A takeover gives way to others after so long. (To take it up again costs a new client.)
const TURN: Duration = Duration::from_secs(5);
/// A wait or the progress of a restore is logged this often.
const LOG_EVERY: Duration = Duration::from_secs(5);
/// The worker hears of a restore's progress this often.
const TELL_EVERY: Duration = Duration::from_secs(1);

enum Order {
    Start(Job),
    Forget(i32),
    Serve(i32),
    Leave(i32),
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
            let (jobs, checks, served) = Default::default();
            Restorer { route, witnesses, stores, inbox, outbox, jobs, checks, served }.run();
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

    fn serve(&mut self, partition: i32) {
        self.order(Order::Serve(partition));
    }

    fn leave(&mut self, partition: i32) {
        self.order(Order::Leave(partition));
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
    /// Takeovers.
    jobs: VecDeque<Restoration<R::Store>>,
    /// Verifications, with the moment before which one that waits is not asked again.
    checks: VecDeque<(Restoration<R::Store>, Instant)>,
    served: BTreeSet<i32>,
}

impl<W, R: Stores> Drop for Restorer<W, R> {
    fn drop(&mut self) {
        for partition in &self.served {
            self.stores.leave(&self.route.name, *partition);
        }
    }
}

impl<W: Witnesses, R: Stores> Restorer<W, R> {
    fn run(mut self) {
        let mut logged: BTreeMap<(i32, Incarnation), Instant> = BTreeMap::new();
        let mut waiting_in_row = 0;
        let (mut told, mut turn) = (Instant::now(), Instant::now());
        loop {
            let pause = match (self.jobs.is_empty(), self.checks.is_empty()) {
                (true, true) => None,
                (true, false) => Some(self.until_a_check_is_due()),
                _ if waiting_in_row >= self.jobs.len() => Some(ROUND_PAUSE),
                _ => Some(Duration::ZERO),
            };
            if pause == Some(ROUND_PAUSE) {
                waiting_in_row = 0;
            }
            if self.take_orders(pause).is_err() {
                return;
            }
            let check = self.due_check();
            let is_check = check.is_some();
            let Some(mut restoration) = check.or_else(|| self.jobs.pop_front()) else { continue };
            let stepped = restoration.step(&self.route, &mut self.witnesses, &self.stores);
            let id = (restoration.job().partition, restoration.job().incarnation);
            let mut answer = None;
            match stepped {
                Stepped::Done(done) => {
                    logged.remove(&id);
                    waiting_in_row = 0;
                    turn = Instant::now();
                    answer = Some((restoration.job().clone(), done));
                }
                Stepped::Moved => {
                    waiting_in_row = 0;
                    self.log(&mut logged, &restoration, None);
                    if let Some(progress) = restoration.progress()
                        && told.elapsed() >= TELL_EVERY
                    {
                        told = Instant::now();
                        answer = Some((restoration.job().clone(), Answer::Restoring(progress)));
                    }
                    if is_check {
                        self.checks.push_front((restoration, Instant::now()));
                    } else if turn.elapsed() < TURN {
                        self.jobs.push_front(restoration);
                    } else {
                        turn = Instant::now();
                        self.jobs.push_back(restoration);
                    }
                }
                Stepped::Waits(cause) => {
                    if self.log(&mut logged, &restoration, Some(&cause)) {
                        answer = Some((restoration.job().clone(), Answer::Waits(cause)));
                    }
                    if is_check {
                        self.checks.push_back((restoration, Instant::now() + ROUND_PAUSE));
                    } else {
                        waiting_in_row += 1;
                        turn = Instant::now();
                        self.jobs.push_back(restoration);
                    }
                }
            }
            if let Some(answer) = answer
                && self.outbox.send(answer).is_err()
            {
                return;
            }
        }
    }

    fn until_a_check_is_due(&self) -> Duration {
        let now = Instant::now();
        let due = self.checks.iter().map(|(_, due)| due.saturating_duration_since(now));
        due.min().unwrap_or(ROUND_PAUSE)
    }

    /// A verification whose turn it is.
    fn due_check(&mut self) -> Option<Restoration<R::Store>> {
        let now = Instant::now();
        let place = self.checks.iter().position(|(_, due)| *due <= now)?;
        self.checks.remove(place).map(|(check, _)| check)
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
        match order {
            Order::Start(job) => {
                self.forget(job.partition);
                let restoration = Restoration::new(job);
                match restoration.job().kind {
                    JobKind::Verify { .. } => {
                        self.checks.push_back((restoration, Instant::now()));
                    }
                    _ => self.jobs.push_back(restoration),
                }
            }
            Order::Forget(partition) => self.forget(partition),
            Order::Serve(partition) => {
                if self.served.insert(partition) {
                    self.stores.serve(&self.route.name, partition);
                }
            }
            Order::Leave(partition) => {
                if self.served.remove(&partition) {
                    self.stores.leave(&self.route.name, partition);
                }
            }
        }
    }

    /// A dropped restoration closes its store.
    fn forget(&mut self, partition: i32) {
        self.jobs.retain(|restoration| restoration.job().partition != partition);
        self.checks.retain(|(restoration, _)| restoration.job().partition != partition);
    }

    /// Logs how a job stands, if it is time to: the answer says whether it was.
    fn log(
        &self,
        logged: &mut BTreeMap<(i32, Incarnation), Instant>,
        restoration: &Restoration<R::Store>,
        waits_for: Option<&str>,
    ) -> bool {
        let id = (restoration.job().partition, restoration.job().incarnation);
        let last = logged.entry(id).or_insert_with(Instant::now);
        if last.elapsed() < LOG_EVERY {
            return false;
        }
        *last = Instant::now();
        let progress = restoration.progress();
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
                journal_next = progress.map(|progress| progress.next),
                journal_end = progress.map(|progress| progress.end),
                "restoring"
            ),
        }
        true
    }
}
