//! The faults of a history. Benign ones must be borne without a refusal; of a lossy one there is at
//! most one in a history, and it says which refusal it explains.
//! Must not be in here: what a fault leads to in the gate.

use crate::book::Book;
use crate::cluster::Cluster;
use crate::history::Plan;
use crate::log::Topic;
use crate::random::Random;
use crate::world::World;
use std::rc::Rc;

/// Faults after which everything must come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Benign {
    Kill,
    Stop,
    Close,
    Rebalance,
    BrokerDown,
    CoordinatorMoved,
    ConsumerGaveUp,
    StoreLost,
    StoreDamaged,
    OffsetsGone,
    Rewound,
    HeadDeleted,
    /// The coordinator's log loses its tail.
    CommitUndone,
}

impl Benign {
    pub const ALL: [Benign; 13] = [
        Benign::Kill,
        Benign::Stop,
        Benign::Close,
        Benign::Rebalance,
        Benign::BrokerDown,
        Benign::CoordinatorMoved,
        Benign::ConsumerGaveUp,
        Benign::StoreLost,
        Benign::StoreDamaged,
        Benign::OffsetsGone,
        Benign::Rewound,
        Benign::HeadDeleted,
        Benign::CommitUndone,
    ];
}

/// Faults that take something away for good, from one partition or from all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lossy {
    RawTail(i32),
    JournalTail(i32),
    CleanTail(i32),
    QuarantineTail(i32),
    OffsetsTail(i32),
    UnreadDeleted(i32),
    RawRecreated,
    JournalRecreated,
    CleanRecreated,
    PartitionsAdded,
}

impl Lossy {
    pub fn any(random: &mut Random, partition: i32) -> Lossy {
        *random.pick(&[
            Lossy::RawTail(partition),
            Lossy::JournalTail(partition),
            Lossy::CleanTail(partition),
            Lossy::QuarantineTail(partition),
            Lossy::OffsetsTail(partition),
            Lossy::UnreadDeleted(partition),
            Lossy::RawRecreated,
            Lossy::JournalRecreated,
            Lossy::CleanRecreated,
            Lossy::PartitionsAdded,
        ])
    }
}

impl World {
    /// A benign fault.
    pub fn bear(self: &Rc<World>, kind: Benign) {
        let now = self.now();
        let mut plan = self.plan.borrow_mut();
        let me = plan.random.below(self.processes.borrow().len() as u64) as usize;
        let partition = plan.random.below(self.c.borrow().partitions as u64) as i32;
        self.c.borrow().say(|| format!("fault {kind:?} (process {me}, partition {partition})"));
        match kind {
            Benign::Kill => {
                let gone = if plan.random.chance(500) { 3_000 } else { 25_000 };
                let start_at = now + plan.random.between(200, gone);
                drop(plan);
                self.kill(me, start_at);
            }
            Benign::Close => {
                let start_at = now + plan.random.between(200, 3_000);
                drop(plan);
                self.close(me, start_at);
            }
            Benign::Stop => {
                let longest = if plan.random.chance(500) { 3_000 } else { 35_000 };
                let until = now + plan.random.between(300, longest);
                self.processes.borrow_mut()[me].stopped_until = until;
            }
            Benign::StoreLost | Benign::StoreDamaged => {
                let start_at = now + plan.random.between(200, 3_000);
                drop(plan);
                self.kill(me, start_at);
                let processes = self.processes.borrow();
                let mut disk = processes[me].stores.disk();
                if !processes[me].up && kind == Benign::StoreLost {
                    disk.files.remove(&partition);
                } else if let Some(files) = disk.files.get_mut(&partition) {
                    files.damaged = true;
                }
            }
            _ => {
                let mut c = self.c.borrow_mut();
                bear_in_cluster(kind, &mut c, &mut plan, (me, partition));
            }
        }
    }
}

fn bear_in_cluster(kind: Benign, c: &mut Cluster, plan: &mut Plan, (me, partition): (usize, i32)) {
    match kind {
        Benign::Rebalance => {
            let Cluster { group, random, .. } = c;
            group.rebalance(true, random);
        }
        Benign::BrokerDown => {
            let longest = if plan.random.chance(700) { 3_000 } else { 25_000 };
            c.down_until = c.now + plan.random.between(100, longest);
        }
        Benign::CoordinatorMoved => c.away_until = c.now + plan.random.between(50, 3_000),
        Benign::ConsumerGaveUp => c.clients[me].give_up = true,
        Benign::OffsetsGone => c.group.committed[partition as usize] = None,
        Benign::Rewound => {
            let low = c.log(Topic::Raw, partition).low;
            if let Some((offset, metadata)) = &mut c.group.committed[partition as usize]
                && *offset > low
            {
                *offset = plan.random.between(low as u64, *offset as u64) as i64;
                metadata.clear();
            }
        }
        Benign::HeadDeleted => {
            let page = &c.book.pages[partition as usize];
            // Retention would take away what tells of a lost tail.
            if page.excuses.contains("raw-tail-lost") {
                return;
            }
            let to = page.to;
            let log = c.log_mut(Topic::Raw, partition);
            if to > log.low && to <= log.high() {
                log.low = plan.random.between(log.low as u64, to as u64 + 1) as i64;
            }
        }
        Benign::CommitUndone => undo_commits(c),
        _ => {}
    }
}

fn undo_commits(c: &mut Cluster) {
    if !c.undo_decisions() {
        return;
    }
    c.book.journal_suspect = true;
    Book::reread(c);
    for partition in 0..c.partitions {
        let low = c.log(Topic::Raw, partition).low;
        let page = &mut c.book.pages[partition as usize];
        // Even its first entry can be gone, and what followed it leaves marks in clean.
        if page.head.is_none() {
            page.excuses.insert("clean-not-empty");
        }
        if page.to < low {
            page.excuses.insert("raw-head-deleted");
        }
    }
}

impl World {
    /// A lossy fault.
    pub fn suffer(self: &Rc<World>, lossy: Lossy) {
        let mut plan = self.plan.borrow_mut();
        let mut c = self.c.borrow_mut();
        c.say(|| format!("LOSS {lossy:?}"));
        match lossy {
            Lossy::RawTail(partition) => lose_raw(&mut c, &mut plan, partition),
            Lossy::JournalTail(partition) => lose_journal(&mut c, &mut plan, partition),
            Lossy::CleanTail(partition) => {
                let lost = "clean lost its tail";
                lose_output(
                    &mut c,
                    &mut plan,
                    (Topic::Clean, partition),
                    ("clean-tail-lost", lost),
                );
            }
            Lossy::QuarantineTail(partition) => {
                let place = (Topic::Quarantine, partition);
                let lost = "quarantine lost its tail";
                lose_output(&mut c, &mut plan, place, ("quarantine-tail-lost", lost));
            }
            Lossy::OffsetsTail(partition) => {
                let kept = plan.offsets.get(&partition).cloned().unwrap_or_default();
                if c.group.committed[partition as usize].is_some() && !kept.is_empty() {
                    let older = plan.random.pick(&kept).clone();
                    c.group.committed[partition as usize] = Some(older);
                }
            }
            Lossy::UnreadDeleted(partition) => {
                let page = &c.book.pages[partition as usize];
                if page.head.is_none() {
                    return;
                }
                let to = page.to;
                let log = c.log_mut(Topic::Raw, partition);
                log.low = log.low.max(log.high().min(to + 3));
                c.book.pages[partition as usize].excuses.insert("raw-head-deleted");
            }
            Lossy::RawRecreated => {
                kill_all(&mut c, Topic::Raw, &["raw-recreated"], plan.feed.truths.len())
            }
            Lossy::JournalRecreated => {
                let causes = ["journal-recreated", "journal-cut"];
                kill_all(&mut c, Topic::Journal, &causes, plan.feed.truths.len());
            }
            Lossy::CleanRecreated => {
                for partition in 0..c.partitions {
                    let any = c.log(Topic::Clean, partition).committed().next().is_some();
                    let page = &mut c.book.pages[partition as usize];
                    page.excuses.insert("clean-tail-lost");
                    if any {
                        page.output_lost = Some("clean was recreated");
                    }
                    page.keys.clear();
                }
                c.recreate(Topic::Clean);
            }
            Lossy::PartitionsAdded => {
                c.raw_partitions += 1;
                let now = c.now;
                for page in &mut c.book.pages {
                    page.excuses.insert("partitions-changed");
                    if page.head.is_some() {
                        page.dead_since = Some((now + 1, "partitions were added"));
                    }
                }
            }
        }
    }
}

/// Topics are taken by their ids: once one is another, nothing of it is committed.
fn kill_all(c: &mut Cluster, topic: Topic, causes: &[&'static str], tags: usize) {
    let now = c.now;
    c.book.journal_suspect |= topic == Topic::Journal;
    c.recreate(topic);
    for page in &mut c.book.pages {
        page.excuses.extend(causes);
        if topic == Topic::Journal {
            page.journal_cut = Some(now);
        }
        if page.head.is_some() {
            page.dead_since = Some((now + 1, "a topic was recreated"));
        }
        if topic == Topic::Raw {
            page.regrown_from = Some(tags as u64);
        }
    }
}

fn lose_raw(c: &mut Cluster, plan: &mut Plan, partition: i32) {
    let page = &c.book.pages[partition as usize];
    let (to, last) = (page.to, page.last_raw.as_ref().map_or(-1, |(offset, _)| *offset));
    let log = c.log_mut(Topic::Raw, partition);
    let from = log.low.max(log.high() - 20);
    // What is lost of markers alone no log can tell.
    if log.high() <= from || (last < 0 && to > 0) {
        return;
    }
    let mut cut = plan.random.between(from as u64, log.high() as u64) as i64;
    // At least one record goes with the markers.
    if cut < to && cut > last {
        cut = last.max(0);
    }
    let cut = log.lose_tail(cut);
    let tags = plan.feed.truths.len() as u64;
    c.say(|| format!("raw {partition} ends at {cut}"));
    let page = &mut c.book.pages[partition as usize];
    page.raw_cut = Some(cut);
    page.excuses.insert("raw-tail-lost");
    page.excuses.insert("raw-head-deleted");
    if last >= cut {
        page.regrown_from = Some(tags);
    }
}

fn lose_journal(c: &mut Cluster, plan: &mut Plan, partition: i32) {
    let now = c.now;
    let log = c.log_mut(Topic::Journal, partition);
    let (before, open, high) = (log.committed().count(), log.open_count(), log.high());
    if high == 0 {
        return;
    }
    let cut = plan.random.between((high - 12).max(0) as u64, high as u64) as i64;
    log.lose_tail(cut);
    let lost = log.committed().count() < before;
    // Of a transaction in flight: a marker will stand there, and no offset tell.
    let in_flight = log.open_count() < open;
    let page = &mut c.book.pages[partition as usize];
    page.excuses.extend(["journal-cut", "chain-broken", "clean-not-empty"]);
    page.journal_cut = Some(now);
    c.book.journal_suspect = true;
    let page = &mut c.book.pages[partition as usize];
    if in_flight && !lost {
        page.journal_lost = true;
        page.dead_since = Some((u64::MAX, "the journal lost what was under way"));
        page.blind = true;
    }
    if lost {
        page.journal_lost = true;
        page.dead_since = Some((now, "the journal lost its tail"));
    }
}

fn lose_output(
    c: &mut Cluster,
    plan: &mut Plan,
    (topic, partition): (Topic, i32),
    (cause, lost): (&'static str, &'static str),
) {
    let log = c.log_mut(topic, partition);
    let (before, open, high) = (log.committed().count(), log.open_count(), log.high());
    if high == 0 {
        return;
    }
    let cut = plan.random.between((high - 12).max(0) as u64, high as u64) as i64;
    let cut = log.lose_tail(cut);
    let in_flight = log.open_count() < open;
    let any = log.committed().count() < before;
    c.say(|| format!("{topic:?} {partition} ends at {cut}, it was {high}"));
    let page = &mut c.book.pages[partition as usize];
    page.excuses.insert(cause);
    if topic == Topic::Clean {
        page.keys.retain(|_, offset| *offset < cut);
    }
    // Of a transaction in flight: a marker will stand there, and no offset tell.
    page.blind |= in_flight;
    if any {
        page.output_lost = Some(lost);
    }
}
