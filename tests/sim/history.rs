//! One history: what is sent, which faults come when, the healing, and what must hold at the end.
//! Must not be in here: how the cluster or a client behaves.

use crate::cluster::{Cluster, Knobs, RAW_PID, SCAN_MS};
use crate::faults::{Benign, Lossy};
use crate::feed::Feed;
use crate::log::Topic;
use crate::mutant::Mutant;
use crate::random::Random;
use crate::world::{World, route};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What is to happen when.
pub struct Plan {
    pub random: Random,
    pub feed: Feed,
    pub records_left: u64,
    pub next_feed: u64,
    pub next_fault: u64,
    pub next_scan: u64,
    pub next_group_scan: u64,
    pub kinds: Vec<Benign>,
    pub fault_gap: u64,
    pub lossy: Option<(u64, Lossy)>,
    /// Open raw transactions: by partition, producer and when they end.
    pub raw_open: BTreeMap<i32, (u64, u64)>,
    pub raw_pids: u64,
    pub healed: bool,
    /// A group's offsets as they were, by partition.
    pub offsets: BTreeMap<i32, Vec<(i64, String)>>,
}

/// State, next offset and refusal of a partition, as its owner tells.
type Seen = (&'static str, i64, Option<(&'static str, String)>);

/// What a history was.
#[derive(Debug, Default, Clone)]
pub struct Summary {
    pub commits: u64,
    pub records: u64,
    pub steps: u64,
    pub refused: u64,
}

#[derive(Clone, Copy)]
pub struct Options {
    pub seed: u64,
    pub mutant: Mutant,
    pub tell: bool,
}

/// Runs one history.
///
/// # Errors
/// What did not hold.
pub fn run(options: Options) -> Result<Summary, String> {
    let mut random = Random::new(options.seed ^ 0x5EED);
    let partitions = random.between(2, 5) as i32;
    let processes = random.between(2, 4) as usize;
    let mut cluster = Cluster::new(random.draw(), partitions, processes, options.tell);
    cluster.knobs = knobs(&mut random);
    let plan = Plan::new(&mut random, partitions);
    let route = route(&mut random);
    cluster.say(|| format!("lossy: {:?}, kinds: {:?}", plan.lossy, plan.kinds));
    let world = World::new(cluster, route, plan, options.mutant);
    for me in 0..processes {
        let late = random.chance(200);
        world.add_process(if late { random.between(5_000, 30_000) } else { me as u64 });
    }
    if random.chance(300) {
        let processes = world.processes.borrow();
        processes.iter().for_each(|process| process.stores.disk().trouble = 8);
    }
    let result = world.run();
    world.dismantle();
    result?;
    let c = world.c.borrow();
    let refused = c.book.pages.iter().filter(|page| !page.excuses.is_empty()).count() as u64;
    Ok(Summary {
        commits: c.book.commits,
        records: world.plan.borrow().feed.truths.len() as u64,
        steps: world.steps.get(),
        refused,
    })
}

fn knobs(random: &mut Random) -> Knobs {
    let mut some = |most: u64| if random.chance(600) { random.below(most) } else { 0 };
    Knobs {
        call: some(40),
        straggler: some(40),
        jump: some(300),
        slow_markers: some(500),
        interleave: 20 + some(200),
    }
}

impl Plan {
    fn new(random: &mut Random, partitions: i32) -> Plan {
        let mut kinds: Vec<Benign> =
            Benign::ALL.into_iter().filter(|_| random.chance(500)).collect();
        let lossy = random.chance(400).then(|| {
            let partition = random.below(partitions as u64) as i32;
            (random.between(5_000, 45_000), Lossy::any(random, partition))
        });
        // A rewound or forgotten group bears no witness of what another log loses, and an undone
        // commit is a loss of its own.
        if lossy.is_some() {
            let others = [Benign::OffsetsGone, Benign::Rewound, Benign::CommitUndone];
            kinds.retain(|kind| !others.contains(kind));
        }
        if kinds.is_empty() {
            kinds.push(Benign::Kill);
        }
        let mut random = Random::new(random.draw());
        let feed = Feed::new(random.chance(150));
        Plan {
            feed,
            records_left: random.between(150, 450),
            next_feed: 0,
            next_fault: random.between(500, 6_000),
            next_scan: random.below(SCAN_MS),
            next_group_scan: 0,
            kinds,
            fault_gap: random.between(400, 5_000),
            lossy,
            raw_open: BTreeMap::new(),
            raw_pids: RAW_PID,
            healed: false,
            offsets: BTreeMap::new(),
            random,
        }
    }
}

impl World {
    fn run(self: &Rc<World>) -> Result<(), String> {
        while !self.sent_all() {
            self.run_until(self.now() + 500);
            self.outcome()?;
        }
        self.run_until(self.now() + 2_000);
        self.heal();
        self.settle("after the faults", false)?;
        // A fresh takeover of everything has to say the same.
        let processes = self.processes.borrow().len();
        for me in 0..processes {
            self.close(me, 0);
        }
        self.settle("after a restart of all", true)?;
        self.outcome()?;
        self.check_end()
    }

    fn sent_all(&self) -> bool {
        let plan = self.plan.borrow();
        plan.records_left == 0 && plan.lossy.is_none()
    }

    fn outcome(&self) -> Result<(), String> {
        match self.c.borrow().book.failures.first() {
            None => Ok(()),
            Some(_) => Err(self.c.borrow().book.failures.join("\n")),
        }
    }

    fn heal(self: &Rc<World>) {
        self.plan.borrow_mut().healed = true;
        self.end_raw_transactions(u64::MAX);
        let mut c = self.c.borrow_mut();
        c.say(|| "healed".into());
        c.knobs = Knobs { interleave: 20, ..Knobs::default() };
        c.down_until = 0;
        c.away_until = 0;
        let now = c.now;
        for process in self.processes.borrow_mut().iter_mut() {
            process.stopped_until = process.stopped_until.min(now);
            process.start_at = process.start_at.min(now + 1_000);
            process.stores.disk().trouble = 0;
        }
    }

    /// Runs until every partition is through or refused.
    fn settle(self: &Rc<World>, when: &str, whole: bool) -> Result<(), String> {
        let until = self.now() + 180_000;
        // What is seen at once may be a view of before.
        self.run_until(self.now() + 1_500);
        loop {
            self.outcome()?;
            let waits = self.waits_for(whole);
            match waits {
                None => return Ok(()),
                Some(waits) if self.now() > until => {
                    let waits = format!("{waits}; {}", self.states());
                    return Err(format!("{when} it does not come to rest: {waits}"));
                }
                Some(_) => self.run_until(self.now() + 500),
            }
        }
    }

    fn states(&self) -> String {
        let c = self.c.borrow();
        let processes: Vec<String> = (self.processes.borrow().iter().enumerate())
            .map(|(me, process)| format!("{me}: {} {:?}", process.told(), process.view.borrow()))
            .collect();
        format!(
            "{}; target {:?}, owner {:?}, pending {:?}, stable {:?}",
            processes.join(", "),
            c.group.target,
            c.group.owner,
            c.group.pending,
            (0..c.partitions).map(|p| c.log(Topic::Raw, p).stable()).collect::<Vec<_>>()
        )
    }

    fn waits_for(&self, whole: bool) -> Option<String> {
        let c = self.c.borrow();
        let seen = self.seen();
        (0..c.partitions).find_map(|partition| {
            let Some((state, next, refusal)) = seen.get(&partition) else {
                return Some(format!("partition {partition} has no owner"));
            };
            if refusal.is_some() {
                return None;
            }
            // An undone commit is not noticed before the next transaction or takeover.
            let committed = if whole { c.book.pages[partition as usize].to } else { *next };
            let high = c.log(Topic::Raw, partition).high();
            let through = *state == "running" && committed == high;
            (!through).then(|| {
                format!("partition {partition} is {state}, committed {committed} of {high}")
            })
        })
    }

    /// State and refusal of each partition, as its owner tells.
    fn seen(&self) -> BTreeMap<i32, Seen> {
        let mut seen = BTreeMap::new();
        for process in self.processes.borrow().iter().filter(|process| process.up) {
            for view in &process.view.borrow().partitions {
                let refusal = (view.refusal.as_ref())
                    .map(|refusal| (refusal.cause.as_str(), refusal.message.clone()));
                seen.insert(view.partition, (view.state, view.committed_next, refusal));
            }
        }
        seen
    }

    fn check_end(&self) -> Result<(), String> {
        let seen = self.seen();
        let c = self.c.borrow();
        let truths = &self.plan.borrow().feed.truths;
        for partition in 0..c.partitions {
            let page = &c.book.pages[partition as usize];
            if page.blind {
                continue;
            }
            let refusal = seen.get(&partition).and_then(|(_, _, refusal)| refusal.clone());
            let demanded = c.demanded(partition);
            let at = format!("partition {partition}");
            match (&refusal, demanded) {
                (None, Some(why)) => return Err(format!("{at} goes on although {why}")),
                (Some((cause, message)), None) if !page.excuses.contains(cause) => {
                    return Err(format!("{at} is refused without a cause: {cause}: {message}"));
                }
                (Some((cause, message)), Some(why)) if !page.excuses.contains(cause) => {
                    return Err(format!("{at}: {why}, but it says {cause}: {message}"));
                }
                _ => {}
            }
            let rules = (truths.as_slice(), self.route.policy.conflict);
            c.check_readers(partition, rules, refusal.is_none())
                .map_err(|e| format!("{at}: {e}"))?;
        }
        Ok(())
    }
}
