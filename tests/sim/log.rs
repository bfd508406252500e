//! A partition of a topic as a broker keeps it: records, markers, open transactions, a last stable
//! offset; and what can happen to it: a deleted head, a lost tail.
//! Must not be in here: who may write, which the coordinator decides.

use std::collections::BTreeMap;
use std::rc::Rc;

/// One of the route's topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    Raw,
    Clean,
    Quarantine,
    Audit,
    Journal,
}

/// A record, as far as a history looks at it.
#[derive(Debug)]
pub struct Record {
    pub key: Option<Vec<u8>>,
    pub payload: Option<Vec<u8>>,
    pub timestamp_ms: i64,
    /// Which raw record it is, or is a copy of; unique over the whole history.
    pub tag: u64,
    /// For outputs: the offset of the raw record that it tells of; -1 for none.
    pub source: i64,
    /// For clean records: the event key as text.
    pub event_key: String,
}

/// How far a record is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Plain,
    Open,
    Committed,
    Aborted,
}

#[derive(Clone)]
pub enum Slot {
    Record { pid: u64, record: Rc<Record>, state: State },
    Marker { pid: u64 },
}

/// One partition.
#[derive(Clone, Default)]
pub struct Log {
    pub low: i64,
    /// The slot at index n has offset n; a deleted head stays here for the final count.
    slots: Vec<Slot>,
    /// First offset of each open transaction.
    open: BTreeMap<u64, i64>,
    /// Where the log was cut by an unclean election, in order.
    pub cuts: Vec<i64>,
}

impl Log {
    pub fn high(&self) -> i64 {
        self.slots.len() as i64
    }

    /// The last stable offset.
    pub fn stable(&self) -> i64 {
        self.open.values().min().copied().unwrap_or(self.high())
    }

    pub fn append(&mut self, pid: Option<u64>, record: Rc<Record>) -> i64 {
        let offset = self.high();
        let state = if pid.is_some() { State::Open } else { State::Plain };
        if let Some(pid) = pid {
            self.open.entry(pid).or_insert(offset);
        }
        self.slots.push(Slot::Record { pid: pid.unwrap_or(0), record, state });
        offset
    }

    /// Writes the marker that ends a transaction here.
    pub fn mark(&mut self, pid: u64, commit: bool) {
        if let Some(first) = self.open.remove(&pid) {
            for slot in &mut self.slots[first as usize..] {
                if let Slot::Record { pid: of, state, .. } = slot
                    && *of == pid
                    && *state == State::Open
                {
                    *state = if commit { State::Committed } else { State::Aborted };
                }
            }
        }
        self.slots.push(Slot::Marker { pid });
    }

    /// Records of a producer's open transaction.
    pub fn open_of(&self, pid: u64) -> Vec<(i64, Rc<Record>)> {
        let Some(first) = self.open.get(&pid) else { return Vec::new() };
        self.from(*first)
            .filter_map(|(offset, slot)| match slot {
                Slot::Record { pid: of, record, state: State::Open } if *of == pid => {
                    Some((offset, record.clone()))
                }
                _ => None,
            })
            .collect()
    }

    fn from(&self, offset: i64) -> impl Iterator<Item = (i64, &Slot)> {
        let from = offset.clamp(0, self.high()) as usize;
        self.slots[from..].iter().enumerate().map(move |(n, slot)| ((from + n) as i64, slot))
    }

    /// Every committed record, a deleted head included.
    pub fn committed(&self) -> impl Iterator<Item = (i64, &Rc<Record>)> {
        self.committed_from(0)
    }

    /// Committed records from an offset on, beyond the last stable offset as well.
    pub fn committed_from(&self, offset: i64) -> impl Iterator<Item = (i64, &Rc<Record>)> {
        self.from(offset).filter_map(|(offset, slot)| match slot {
            Slot::Record { record, state: State::Plain | State::Committed, .. } => {
                Some((offset, record))
            }
            _ => None,
        })
    }

    /// How many records wait for their marker.
    pub fn open_count(&self) -> usize {
        let open = |slot: &&Slot| matches!(slot, Slot::Record { state: State::Open, .. });
        self.slots.iter().filter(open).count()
    }

    /// Committed records, and the open ones of producers whose commit is decided.
    pub fn decided<'a>(
        &'a self,
        pids: &'a [u64],
    ) -> impl Iterator<Item = (i64, &'a Rc<Record>)> + 'a {
        self.from(0).filter_map(move |(offset, slot)| match slot {
            Slot::Record { record, state: State::Plain | State::Committed, .. } => {
                Some((offset, record))
            }
            Slot::Record { pid, record, state: State::Open } if pids.contains(pid) => {
                Some((offset, record))
            }
            _ => None,
        })
    }

    /// The same, with open and aborted records: what a `read_uncommitted` client gets.
    pub fn uncommitted_from(&self, offset: i64) -> impl Iterator<Item = (i64, &Rc<Record>)> {
        self.from(offset).filter_map(|(offset, slot)| match slot {
            Slot::Record { record, .. } => Some((offset, record)),
            Slot::Marker { .. } => None,
        })
    }

    /// The record at an offset, whatever its state.
    pub fn at(&self, offset: i64) -> Option<&Rc<Record>> {
        match self.slots.get(usize::try_from(offset).ok()?)? {
            Slot::Record { record, .. } => Some(record),
            Slot::Marker { .. } => None,
        }
    }

    /// Loses everything from `cut` on. The cut is moved back where it would part records from
    /// the marker of an ended transaction. Gives where it was made.
    pub fn lose_tail(&mut self, cut: i64) -> i64 {
        let mut cut = cut.clamp(0, self.high());
        loop {
            let moved = self.moved_before_spans(cut);
            if moved == cut {
                break;
            }
            cut = moved;
        }
        self.slots.truncate(cut as usize);
        self.open.retain(|_, first| *first < cut);
        self.low = self.low.min(cut);
        self.cuts.push(cut);
        cut
    }

    fn moved_before_spans(&self, cut: i64) -> i64 {
        let mut first: BTreeMap<u64, i64> = BTreeMap::new();
        let mut moved = cut;
        for (offset, slot) in self.from(0) {
            match slot {
                Slot::Record { state: State::Plain, .. } => {}
                Slot::Record { pid, .. } => {
                    first.entry(*pid).or_insert(offset);
                }
                Slot::Marker { pid } => {
                    if let Some(first) = first.remove(pid)
                        && first < cut
                        && offset >= cut
                    {
                        moved = moved.min(first);
                    }
                }
            }
        }
        moved
    }
}
