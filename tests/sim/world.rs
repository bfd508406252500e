//! The world of a history: processes, time, and who moves next. One thread; a call of one process
//! that takes time lets others move within it.
//! Must not be in here: which faults come when, or what must hold.

use crate::book::leading;
use crate::calls::SimBroker;
use crate::client::Client;
use crate::cluster::Cluster;
use crate::feed::window;
use crate::history::Plan;
use crate::mutant::{Mutant, MutantBroker};
use crate::random::Random;
use crate::store::SimStores;
use crate::witness::{Restorer, SimTakeovers};
use oncegate::gate::{ConflictPolicy, NameLengths, Policy};
use oncegate::identity::Recipe;
use oncegate::processor::observer::{Observer, WorkerView};
use oncegate::processor::route::{BatchBounds, Route};
use oncegate::processor::transaction::TransactionLimits;
use oncegate::processor::worker::{Worker, WorkerExit};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

type SimWorker = Worker<MutantBroker, SimTakeovers, Watching>;

/// What unwinds a process that is killed within a call.
struct Killed;

/// Keeps what a worker tells.
pub struct Watching(Rc<RefCell<WorkerView>>);

impl Observer for Watching {
    fn viewed(&mut self, view: WorkerView) {
        *self.0.borrow_mut() = view;
    }
}

/// One process: a worker with its takeovers and its disk.
pub struct Process {
    worker: Option<Box<SimWorker>>,
    restorer: Rc<RefCell<Restorer>>,
    pub stores: SimStores,
    pub view: Rc<RefCell<WorkerView>>,
    /// It is there, though perhaps stopped.
    pub up: bool,
    /// When it is started again.
    pub start_at: u64,
    pub stopped_until: u64,
    wake_at: u64,
    publish_at: u64,
    kill: bool,
    moving: bool,
    writes: usize,
}

impl Process {
    /// For a message: how it stands.
    pub fn told(&self) -> String {
        format!(
            "up {} from {}, stopped until {}, wakes {}, moving {}, kill {}",
            self.up, self.start_at, self.stopped_until, self.wake_at, self.moving, self.kill
        )
    }
}

pub struct World {
    pub c: RefCell<Cluster>,
    pub processes: RefCell<Vec<Process>>,
    pub route: Route,
    pub mutant: Mutant,
    pub plan: RefCell<Plan>,
    pub steps: Cell<u64>,
}

/// A history that takes more steps hangs.
const STEPS_MAX: u64 = 400_000;

thread_local! {
    static RECIPE: Arc<Recipe> = {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/recipes/lab-result.toml");
        let text = std::fs::read_to_string(path).expect("the recipe");
        Arc::new(Recipe::parse("lab-result.toml", &text).expect("a sound recipe"))
    };
}

/// Group and route, as in the header `oncegate-route`.
pub const FULL_NAME: &str = "g/lab";

pub fn route(random: &mut Random) -> Route {
    Route {
        name: "lab".into(),
        full_name: FULL_NAME.into(),
        group_id: "g.lab".into(),
        raw_topic: "raw".into(),
        clean_topic: "clean".into(),
        quarantine_topic: "quarantine".into(),
        journal_topic: "g.lab.journal".into(),
        recipe: RECIPE.with(Arc::clone),
        policy: Policy {
            window: window(),
            conflict: *random.pick(&ConflictPolicy::ALL),
            clean_bytes_max: 100_000,
            keep_timestamp: true,
            names: NameLengths::of("raw", FULL_NAME, "lab-result/1"),
        },
        quarantine_bytes_max: 100_000,
        batch: BatchBounds {
            records_max: random.between(2, 50) as usize,
            bytes_max: 30_000,
            wait_ms_max: random.between(10, 200),
        },
        clean_topic_id: "Clean-1".into(),
        quarantine_topic_id: "Quarantine-1".into(),
    }
}

impl World {
    pub fn new(cluster: Cluster, route: Route, plan: Plan, mutant: Mutant) -> Rc<World> {
        let world = World {
            c: RefCell::new(cluster),
            processes: RefCell::default(),
            route,
            mutant,
            plan: RefCell::new(plan),
            steps: Cell::new(0),
        };
        Rc::new(world)
    }

    /// Ends every process: a worker's client holds the world, which would never be freed.
    pub fn dismantle(&self) {
        let count = self.processes.borrow().len();
        for me in 0..count {
            let gone = {
                let mut processes = self.processes.borrow_mut();
                let process = &mut processes[me];
                (process.worker.take(), std::mem::take(&mut process.restorer))
            };
            drop(gone);
        }
    }

    pub fn now(&self) -> u64 {
        self.c.borrow().now
    }

    pub fn add_process(&self, start_at: u64) {
        let seed = self.c.borrow_mut().random.draw();
        self.processes.borrow_mut().push(Process {
            worker: None,
            restorer: Rc::default(),
            stores: SimStores::new(seed, self.mutant),
            view: Rc::default(),
            up: false,
            start_at,
            stopped_until: 0,
            wake_at: 0,
            publish_at: 0,
            kill: false,
            moving: false,
            writes: 0,
        });
    }

    /// Starts a process on its own disk.
    fn start(self: &Rc<World>, me: usize) {
        self.c.borrow_mut().clients[me] = Client::default();
        self.c.borrow().say(|| format!("{me} starts"));
        let mut processes = self.processes.borrow_mut();
        let process = &mut processes[me];
        process.restorer = Rc::default();
        *process.view.borrow_mut() = WorkerView::default();
        let mut route = self.route.clone();
        let c = self.c.borrow();
        route.clean_topic_id = c.topic_id(crate::log::Topic::Clean);
        route.quarantine_topic_id = c.topic_id(crate::log::Topic::Quarantine);
        let broker = MutantBroker::new(SimBroker { world: self.clone(), me }, self.mutant);
        process.worker = Some(Box::new(Worker::new(
            route,
            broker,
            SimTakeovers(process.restorer.clone()),
            Watching(process.view.clone()),
            TransactionLimits { timeout_ms: crate::cluster::TRANSACTION_MS },
        )));
        process.up = true;
        process.kill = false;
        process.stopped_until = 0;
        process.wake_at = c.now;
    }

    /// kill -9: at once, or at its next call where it is within one.
    pub fn kill(&self, me: usize, start_at: u64) {
        let mut processes = self.processes.borrow_mut();
        let process = &mut processes[me];
        process.start_at = start_at;
        if !process.up {
            return;
        }
        if process.moving {
            process.kill = true;
            return;
        }
        let worker = process.worker.take();
        drop(processes);
        drop(worker);
        self.bury(me);
    }

    fn bury(&self, me: usize) {
        self.c.borrow().say(|| format!("{me} is gone"));
        let mut processes = self.processes.borrow_mut();
        let process = &mut processes[me];
        process.up = false;
        process.restorer = Rc::default();
        *process.view.borrow_mut() = WorkerView::default();
        process.stores.crash();
        let client = std::mem::take(&mut self.c.borrow_mut().clients[me]);
        drop(client);
    }

    /// An orderly end, unless it is within a call.
    pub fn close(&self, me: usize, start_at: u64) {
        let worker = {
            let mut processes = self.processes.borrow_mut();
            let process = &mut processes[me];
            if !process.up || process.moving {
                return;
            }
            process.start_at = start_at;
            process.worker.take()
        };
        if let Some(worker) = worker {
            worker.close();
        }
        self.bury(me);
    }

    /// A process waits without holding anybody up.
    pub fn sleep(&self, me: usize, ms: u64) {
        let now = self.now();
        self.processes.borrow_mut()[me].wake_at = now + ms;
    }

    /// A call of a process takes so long; it may be stopped or killed within it.
    pub fn spend(self: &Rc<World>, me: usize, ms: u64) {
        let (until, interleave) = {
            let mut c = self.c.borrow_mut();
            let interleave = c.knobs.interleave;
            (c.now + ms, ms >= 40 || c.random.chance(interleave))
        };
        if interleave {
            let more = self.c.borrow_mut().random.below(60);
            self.run_until(until + more);
        } else {
            self.c.borrow_mut().now = until;
        }
        loop {
            let (kill, stopped_until) = {
                let processes = self.processes.borrow();
                (processes[me].kill, processes[me].stopped_until)
            };
            if kill {
                resume_unwind(Box::new(Killed));
            }
            if stopped_until <= self.now() {
                break;
            }
            self.run_until(stopped_until);
        }
    }

    /// Lets everything happen that is due until then.
    pub fn run_until(self: &Rc<World>, until: u64) {
        loop {
            self.plan_due();
            if self.now() >= until {
                return;
            }
            let ready = self.ready();
            if !ready.is_empty() {
                let chosen = *self.c.borrow_mut().random.pick(&ready);
                self.step(chosen);
                continue;
            }
            let next = self.next_wake().min(until);
            let mut c = self.c.borrow_mut();
            c.now = next.max(c.now + 1).min(until.max(c.now));
        }
    }

    fn step(self: &Rc<World>, (me, restores): (usize, bool)) {
        self.steps.set(self.steps.get() + 1);
        assert!(self.steps.get() <= STEPS_MAX, "the history does not end");
        if restores {
            let (restorer, stores) = {
                let processes = self.processes.borrow();
                (processes[me].restorer.clone(), processes[me].stores.clone())
            };
            restorer.borrow_mut().step(self, &self.route_now(), &stores);
        } else {
            self.step_worker(me);
        }
        self.check_store(me);
        self.check_refusals(me);
    }

    /// A refusal must be explained by a fault.
    fn check_refusals(&self, me: usize) {
        let processes = self.processes.borrow();
        let view = processes[me].view.borrow();
        let refusals =
            view.partitions.iter().filter_map(|of| Some((of.partition, of.refusal.as_ref()?)));
        for (partition, refusal) in refusals {
            let mut c = self.c.borrow_mut();
            let page = &c.book.pages[partition as usize];
            if !page.excuses.contains(refusal.cause.as_str()) && !page.blind {
                c.book.fail(format!("partition {partition} is refused without a cause: {refusal}"));
            }
        }
    }

    fn route_now(&self) -> Route {
        self.route.clone()
    }

    fn step_worker(self: &Rc<World>, me: usize) {
        let Some(mut worker) = self.processes.borrow_mut()[me].worker.take() else { return };
        self.processes.borrow_mut()[me].moving = true;
        let publish = self.now() >= self.processes.borrow()[me].publish_at;
        if publish {
            self.processes.borrow_mut()[me].publish_at = self.now() + 1_000;
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            if publish {
                worker.publish();
            }
            worker.step()
        }));
        self.processes.borrow_mut()[me].moving = false;
        match result {
            Ok(Ok(())) => {
                let killed = {
                    let mut processes = self.processes.borrow_mut();
                    processes[me].worker = Some(worker);
                    processes[me].kill
                };
                if killed {
                    let start_at = self.processes.borrow()[me].start_at;
                    self.kill(me, start_at);
                }
            }
            Ok(Err(exit)) => {
                self.c.borrow().say(|| format!("{me} exits: {exit}"));
                let killed = self.processes.borrow()[me].kill;
                if !killed {
                    let pause = if matches!(exit, WorkerExit::ConsumerGaveUp { .. }) {
                        10_000
                    } else {
                        2_000
                    };
                    self.processes.borrow_mut()[me].start_at = self.now() + pause;
                    worker.close();
                } else {
                    drop(worker);
                }
                self.bury(me);
            }
            Err(cause) => {
                drop(worker);
                if !cause.is::<Killed>() {
                    let text = cause.downcast_ref::<String>().cloned();
                    let text =
                        text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                    let text = text.unwrap_or_default();
                    self.c.borrow_mut().book.fail(format!("process {me} panicked: {text}"));
                }
                self.bury(me);
            }
        }
    }

    /// The store never leads the journal.
    fn check_store(&self, me: usize) {
        let mut processes = self.processes.borrow_mut();
        let process = &mut processes[me];
        let disk = process.stores.disk();
        let writes = disk.files.values().map(|files| files.writes.len()).sum();
        if writes == process.writes {
            return;
        }
        let leads = leading(&self.c.borrow().book, &disk.files);
        let wiped = !self.c.borrow().book.journal_suspect
            && disk.files.values().any(|files| files.aside > 0);
        drop(disk);
        process.writes = writes;
        if wiped {
            let mut c = self.c.borrow_mut();
            c.book.fail(format!("WIPE: process {me} set a sound store aside"));
        }
        if let Some(leads) = leads {
            self.c.borrow_mut().book.fail(format!("process {me}, {leads}"));
        }
    }

    /// Who can move now: a worker, or its takeovers.
    fn ready(self: &Rc<World>) -> Vec<(usize, bool)> {
        let now = self.now();
        let to_start: Vec<usize> = (self.processes.borrow().iter().enumerate())
            .filter(|(_, process)| !process.up && process.start_at <= now)
            .map(|(me, _)| me)
            .collect();
        to_start.into_iter().for_each(|me| self.start(me));
        let mut ready = Vec::new();
        for (me, process) in self.processes.borrow().iter().enumerate() {
            if !process.up || process.stopped_until > now {
                continue;
            }
            if !process.moving && process.wake_at <= now {
                ready.push((me, false));
            }
            let restorer = process.restorer.try_borrow();
            if restorer.is_ok_and(|r| r.is_busy() && r.wake_at <= now) {
                ready.push((me, true));
            }
        }
        ready
    }

    fn next_wake(&self) -> u64 {
        let mut next = self.next_plan();
        for process in self.processes.borrow().iter() {
            if !process.up {
                next = next.min(process.start_at);
                continue;
            }
            if !process.moving {
                next = next.min(process.wake_at.max(process.stopped_until));
            }
            if let Ok(restorer) = process.restorer.try_borrow()
                && restorer.is_busy()
            {
                next = next.min(restorer.wake_at.max(process.stopped_until));
            }
        }
        next
    }
}
