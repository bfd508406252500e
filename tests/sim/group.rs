//! The group coordinator: members, generations, who owns which partition, committed offsets.
//! Must not be in here: what a client believes of all this.

use crate::random::Random;
use std::collections::BTreeMap;

/// A committed source offset and its metadata.
pub type Offset = (i64, String);

pub struct Group {
    pub generation: i32,
    /// Member id by process.
    pub members: BTreeMap<usize, String>,
    /// Who is to have each partition.
    pub target: Vec<Option<usize>>,
    /// Who has it: until it gave it back, or was thrown out.
    pub owner: Vec<Option<usize>>,
    pub last_seen: BTreeMap<usize, u64>,
    pub committed: Vec<Option<Offset>>,
    /// Offsets of transactions under way, by producer.
    pub pending: BTreeMap<u64, BTreeMap<i32, Offset>>,
    joined: u64,
}

impl Group {
    pub fn new(partitions: usize) -> Group {
        Group {
            generation: 0,
            members: BTreeMap::new(),
            target: vec![None; partitions],
            owner: vec![None; partitions],
            last_seen: BTreeMap::new(),
            committed: vec![None; partitions],
            pending: BTreeMap::new(),
            joined: 0,
        }
    }

    /// A process joins; one that was a member under the same name takes its own place again.
    pub fn join(&mut self, process: usize, now: u64, random: &mut Random) -> String {
        self.joined += 1;
        let id = format!("member-{process}-{}", self.joined);
        let known = self.members.insert(process, id.clone()).is_some();
        self.last_seen.insert(process, now);
        if !known {
            self.rebalance(false, random);
        }
        id
    }

    /// Throws out who was not seen for longer than the session.
    pub fn expire(&mut self, now: u64, session_ms: u64, random: &mut Random) -> Vec<usize> {
        let gone: Vec<usize> = (self.members.keys())
            .filter(|process| now.saturating_sub(self.last_seen[process]) > session_ms)
            .copied()
            .collect();
        for process in &gone {
            self.members.remove(process);
            for owner in self.owner.iter_mut().filter(|owner| **owner == Some(*process)) {
                *owner = None;
            }
        }
        if !gone.is_empty() {
            self.rebalance(false, random);
        }
        gone
    }

    /// Deals the partitions out anew; what is dealt fairly stays, unless it is to be shuffled.
    pub fn rebalance(&mut self, shuffle: bool, random: &mut Random) {
        self.generation += 1;
        let members: Vec<usize> = self.members.keys().copied().collect();
        let share = self.target.len().div_ceil(members.len().max(1));
        let mut dealt: BTreeMap<usize, usize> = BTreeMap::new();
        for target in &mut self.target {
            let keep = target.filter(|process| {
                !shuffle
                    && members.contains(process)
                    && dealt.get(process).copied().unwrap_or(0) < share
            });
            *target = keep;
            if let Some(process) = keep {
                *dealt.entry(process).or_default() += 1;
            }
        }
        for target in self.target.iter_mut().filter(|target| target.is_none()) {
            let with_room: Vec<usize> = (members.iter())
                .filter(|process| dealt.get(process).copied().unwrap_or(0) < share)
                .copied()
                .collect();
            if with_room.is_empty() {
                continue;
            }
            let process = *random.pick(&with_room);
            *target = Some(process);
            *dealt.entry(process).or_default() += 1;
        }
    }
}
