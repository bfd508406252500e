//! The book that a history keeps: what was ever committed, and whether every commit kept the
//! invariants of docs/design.md. Must not be in here: faults, or a repair.

use crate::cluster::{Cluster, Part, TxnState};
use crate::log::Topic;
use oncegate::journal::entry::{EntryHash, counts_of};
use oncegate::journal::pb::EntryKind;
use oncegate::journal::{Assembler, ChainHead, Entry, OffsetMetadata};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What is known of one partition.
#[derive(Default, Clone)]
pub struct Page {
    pub head: Option<ChainHead>,
    pub to: i64,
    pub last_raw: Option<(i64, Vec<u8>)>,
    pub records: u64,
    pub events: u64,
    /// Event keys of committed clean records, and where they stand.
    pub keys: HashMap<String, i64>,
    /// Since when the partition must not go on, and why.
    pub dead_since: Option<(u64, &'static str)>,
    /// Causes of a refusal that the faults explain.
    pub excuses: BTreeSet<&'static str>,
    /// Committed records that an output log lost.
    pub output_lost: Option<&'static str>,
    pub journal_lost: bool,
    /// Where the raw log was cut.
    pub raw_cut: Option<i64>,
    /// A loss that no log can tell of: a marker, or nothing, stood where it happened.
    pub blind: bool,
    /// When the journal was cut last, whatever was in it.
    pub journal_cut: Option<u64>,
    /// Raw records from this tag on were sent after the raw log lost records.
    pub regrown_from: Option<u64>,
}

pub struct Book {
    pub pages: Vec<Page>,
    /// Every entry ever committed, by partition, number and hash.
    pub ever: HashSet<(i32, u64, EntryHash)>,
    pub failures: Vec<String>,
    pub commits: u64,
    /// Whether committed entries were ever taken away: then a store may have to be set aside.
    pub journal_suspect: bool,
}

impl Book {
    pub fn new(partitions: usize) -> Book {
        Book {
            pages: vec![Page::default(); partitions],
            ever: HashSet::new(),
            failures: Vec::new(),
            commits: 0,
            journal_suspect: false,
        }
    }

    pub fn fail(&mut self, what: impl Into<String>) {
        self.failures.push(what.into());
    }

    /// A process's transaction is about to be committed.
    pub fn committed(c: &mut Cluster, process: usize) {
        c.book.commits += 1;
        let unsent = c.clients[process].producer.as_ref().map_or(0, |p| p.unsent());
        if unsent > 0 {
            c.book.fail(format!("process {process} commits without a drain, {unsent} unsent"));
        }
        let pid = Cluster::pid(process);
        let pending = c.group.pending.get(&pid).cloned().unwrap_or_default();
        if pending.is_empty() || !c.txns[process].parts.contains(&Part::Offsets) {
            c.book.fail(format!("process {process} commits without offsets"));
        }
        let began = c.clients[process].producer.as_ref().map_or(0, |p| p.began);
        for partition in 0..c.partitions {
            let entries = open_entries(c, pid, partition);
            let offset = pending.get(&partition);
            match (entries, offset) {
                (Err(why), _) => c.book.fail(format!("partition {partition}: {why}")),
                (Ok(entries), None) if entries.is_empty() => {}
                // The journal lost it between the drain and the commit.
                (Ok(entries), Some(_)) if entries.is_empty() && c.lost_since(partition, began) => {
                    // No offset tells: a marker stands there. The next takeover finds the gap.
                    let page = &mut c.book.pages[partition as usize];
                    page.journal_lost = true;
                    page.dead_since = Some((u64::MAX, "the journal lost its tail"));
                }
                (Ok(entries), Some((to, metadata))) if !entries.is_empty() => {
                    for entry in &entries {
                        c.check_entry(process, partition, entry, began);
                    }
                    check_outputs(c, pid, partition, &entries);
                    let last = entries.last().expect("not empty");
                    let head = ChainHead { number: last.number, hash: last.hash };
                    let names =
                        metadata.parse::<OffsetMetadata>().is_ok_and(|noted| noted.names(&head));
                    if last.header.to != *to || !names {
                        c.book.fail(format!(
                            "partition {partition}: offset {to} is committed with an entry that ends at {}",
                            last.header.to
                        ));
                    }
                }
                (Ok(entries), offset) => c.book.fail(format!(
                    "partition {partition}: {} entries are committed with offset {offset:?}",
                    entries.len()
                )),
            }
            check_clean(c, pid, partition);
        }
    }

    /// Notes the end of the journal and the keys of clean anew, after an undone commit.
    pub fn reread(c: &mut Cluster) {
        let decided: Vec<u64> = (0..c.txns.len())
            .filter(|process| c.txns[*process].state == TxnState::Ending { commit: true })
            .map(Cluster::pid)
            .collect();
        for partition in 0..c.partitions {
            let page = &mut c.book.pages[partition as usize];
            if page.dead_since.is_some() {
                continue;
            }
            let (output_lost, journal_cut) = (page.output_lost, page.journal_cut);
            let (raw_cut, blind) = (page.raw_cut, page.blind);
            let regrown_from = page.regrown_from;
            let excuses = std::mem::take(&mut page.excuses);
            *page = Page {
                excuses,
                output_lost,
                regrown_from,
                journal_cut,
                raw_cut,
                blind,
                ..Page::default()
            };
            let (mut assembler, mut entries) = (Assembler::default(), Vec::new());
            for (_, record) in c.log(Topic::Journal, partition).decided(&decided) {
                if let Ok(Some(entry)) =
                    assembler.push(record.payload.as_deref().unwrap_or_default())
                {
                    entries.push(entry);
                }
            }
            let keys = (c.log(Topic::Clean, partition).decided(&decided))
                .map(|(offset, record)| (record.event_key.clone(), offset))
                .collect();
            entries.iter().for_each(|entry| c.book.turn(partition, entry));
            c.book.pages[partition as usize].keys = keys;
        }
    }

    fn turn(&mut self, partition: i32, entry: &Entry) {
        self.ever.insert((partition, entry.number, entry.hash));
        let page = &mut self.pages[partition as usize];
        page.head = Some(ChainHead { number: entry.number, hash: entry.hash });
        page.to = entry.header.to;
        // It was read before the cut, and only markers stood behind it.
        if let Some(cut) = page.raw_cut
            && entry.header.last_raw_offset < cut
            && cut < entry.header.to
            && entry.header.from <= cut
        {
            page.blind = true;
        }
        page.last_raw = (entry.header.last_raw_offset >= 0)
            .then(|| (entry.header.last_raw_offset, entry.header.last_raw_hash.clone()));
        let totals = counts_of(entry.header.total_counts.as_ref());
        page.records = totals.records;
        page.events = totals.events();
    }
}

/// The whole entries among a transaction's open journal records.
fn open_entries(c: &Cluster, pid: u64, partition: i32) -> Result<Vec<Entry>, String> {
    let (mut assembler, mut entries) = (Assembler::default(), Vec::new());
    for (_, record) in c.log(Topic::Journal, partition).open_of(pid) {
        let value = record.payload.as_deref().unwrap_or_default();
        entries.extend(assembler.push(value).map_err(|error| error.to_string())?);
    }
    if assembler.is_open() {
        return Err("an entry is committed without its last part".into());
    }
    Ok(entries)
}

/// What the entries tell of was written in the same transaction.
fn check_outputs(c: &mut Cluster, pid: u64, partition: i32, entries: &[Entry]) {
    let (mut firsts, mut quarantined) = (0, 0);
    for entry in entries {
        let header = &entry.header;
        for counts in [&header.counts, &header.replay_counts] {
            let counts = counts_of(counts.as_ref());
            firsts += counts.let_through();
            quarantined += counts.quarantined_total();
        }
    }
    let outputs = [
        (Topic::Clean, firsts, "clean-tail-lost"),
        (Topic::Quarantine, quarantined, "quarantine-tail-lost"),
    ];
    for (topic, told, cause) in outputs {
        let written = c.log(topic, partition).open_of(pid).len() as u64;
        let page = &mut c.book.pages[partition as usize];
        if written < told && page.excuses.contains(cause) {
            page.blind = true;
        } else if written != told {
            c.book.fail(format!(
                "partition {partition}: {written} records of {topic:?} are committed, the entry tells of {told}"
            ));
        }
    }
}

/// No key twice.
fn check_clean(c: &mut Cluster, pid: u64, partition: i32) {
    for (offset, record) in c.log(Topic::Clean, partition).open_of(pid) {
        let page = &mut c.book.pages[partition as usize];
        if let Some(before) = page.keys.insert(record.event_key.clone(), offset) {
            c.book.fail(format!(
                "ONCE: partition {partition}: raw {} stands in clean at {before} and {offset}",
                record.source
            ));
        }
    }
}

impl Cluster {
    fn lost_since(&self, partition: i32, began: u64) -> bool {
        self.book.pages[partition as usize].journal_cut.is_some_and(|since| began <= since)
    }

    fn check_entry(&mut self, process: usize, partition: i32, entry: &Entry, began: u64) {
        let page = &self.book.pages[partition as usize];
        let head = page.head.unwrap_or(ChainHead::EMPTY);
        let mut failures = Vec::new();
        match page.dead_since {
            Some((since, why)) if began >= since => failures.push(format!("it went on: {why}")),
            Some(_) => {}
            None => {
                if let Err(error) = head.follow(entry) {
                    failures.push(format!("chain: {error} (after {})", head.number));
                }
                let counts = counts_of(entry.header.counts.as_ref());
                let totals = counts_of(entry.header.total_counts.as_ref());
                let replayed = counts_of(entry.header.replay_counts.as_ref());
                let sums = counts.events() == counts.records
                    && replayed.events() == replayed.records
                    && totals.records == page.records + counts.records
                    && totals.events() == page.events + counts.events()
                    && replayed.let_through() == 0;
                if !sums {
                    failures.push("its counts do not add up".to_owned());
                }
            }
        }
        let undone = self.txns[process].undone;
        if entry.header.kind() != EntryKind::Begin && !undone {
            match self.clients[process].assigned.get(&partition) {
                None => failures.push("it is not assigned".to_owned()),
                Some(fetch)
                    if entry.header.from < fetch.lowest || entry.header.to > fetch.position =>
                {
                    failures.push(format!(
                        "[{}, {}) was not read in this assignment, which read [{}, {})",
                        entry.header.from, entry.header.to, fetch.lowest, fetch.position
                    ));
                }
                Some(_) => {}
            }
        }
        if !undone
            && self.group.owner[partition as usize] != Some(process)
            && self.group.members.contains_key(&process)
        {
            failures.push("another member owns it".to_owned());
        }
        self.say(|| {
            format!(
                "{process} commits entry {} of {partition}: [{}, {})",
                entry.number, entry.header.from, entry.header.to
            )
        });
        for failure in failures {
            let number = entry.number;
            self.book.fail(format!("{process}, partition {partition}, entry {number}: {failure}"));
        }
        self.book.turn(partition, entry);
    }
}

/// Positions of stores that no committed entry explains.
pub fn leading(book: &Book, stores: &BTreeMap<i32, crate::store::Files>) -> Option<String> {
    stores.iter().find_map(|(partition, files)| {
        let (position, _) = files.writes.last()?;
        let known = book.pages[*partition as usize].journal_lost
            || book.ever.contains(&(*partition, position.number, position.hash));
        (!known).then(|| {
            format!(
                "partition {partition}: the store holds entry {}, which is not committed",
                position.number
            )
        })
    })
}
