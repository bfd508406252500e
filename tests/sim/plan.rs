//! What comes when: records, scans, markers, late requests, faults.
//! Must not be in here: what a fault does.

use crate::cluster::{Cluster, SCAN_MS, SESSION_MS};
use crate::history::Plan;
use crate::log::Topic;
use crate::world::World;
use std::rc::Rc;

impl World {
    pub fn next_plan(&self) -> u64 {
        let plan = self.plan.borrow();
        let c = self.c.borrow();
        let mut next = plan.next_scan.min(plan.next_group_scan);
        if !plan.healed {
            next = next.min(plan.next_fault);
            if plan.records_left > 0 {
                next = next.min(plan.next_feed);
            }
            if let Some((at, _)) = plan.lossy {
                next = next.min(at);
            }
        }
        let times = c.late.iter().map(|(at, _)| *at).chain(c.markers.iter().map(|(at, _)| *at));
        times.fold(next, u64::min)
    }

    /// Does what is due by the plan: scans, markers, late requests, records, faults.
    pub fn plan_due(self: &Rc<World>) {
        let now = self.now();
        if self.next_plan() > now {
            return;
        }
        self.cluster_due(now);
        let (healed, feed, fault, lossy) = {
            let plan = self.plan.borrow();
            let lossy = plan.lossy.is_some_and(|(at, _)| at <= now);
            let feed = plan.next_feed <= now && plan.records_left > 0;
            (plan.healed, feed, plan.next_fault <= now, lossy)
        };
        if healed {
            return;
        }
        if feed {
            self.send_some(now);
        }
        self.end_raw_transactions(now);
        if lossy {
            let lossy = self.plan.borrow_mut().lossy.take();
            if let Some((_, lossy)) = lossy {
                self.suffer(lossy);
            }
        }
        if fault {
            let kind = {
                let mut plan = self.plan.borrow_mut();
                let gap = plan.fault_gap;
                plan.next_fault = now + plan.random.between(gap / 2, gap * 2);
                let Plan { random, kinds, .. } = &mut *plan;
                *random.pick(kinds)
            };
            self.bear(kind);
        }
    }

    fn cluster_due(&self, now: u64) {
        let mut plan = self.plan.borrow_mut();
        let mut c = self.c.borrow_mut();
        let markers: Vec<usize> =
            c.markers.extract_if(.., |(at, _)| *at <= now).map(|(_, of)| of).collect();
        markers.into_iter().for_each(|of| c.markers_due(of));
        let late: Vec<_> = c.late.extract_if(.., |(at, _)| *at <= now).map(|(_, l)| l).collect();
        late.into_iter().for_each(|late| c.arrive(late));
        if plan.next_scan <= now {
            plan.next_scan = now + SCAN_MS;
            if !c.is_down() {
                c.scan_transactions();
            }
        }
        if plan.next_group_scan <= now {
            plan.next_group_scan = now + 500;
            let down = c.is_down();
            for (me, process) in self.processes.borrow().iter().enumerate() {
                if down || (process.up && process.stopped_until <= now) {
                    c.group.last_seen.insert(me, now);
                }
            }
            let Cluster { group, random, .. } = &mut *c;
            let gone = group.expire(now, SESSION_MS, random);
            if !gone.is_empty() {
                c.say(|| format!("session of {gone:?} expired"));
            }
            self.note_offsets(&mut plan, &c);
        }
    }

    fn note_offsets(&self, plan: &mut Plan, c: &Cluster) {
        for (partition, committed) in c.group.committed.iter().enumerate() {
            let kept = plan.offsets.entry(partition as i32).or_default();
            if let Some(committed) = committed
                && kept.last() != Some(committed)
            {
                kept.push(committed.clone());
            }
        }
    }

    /// Appends a few records to the raw topic, some in transactions.
    fn send_some(&self, now: u64) {
        let mut plan = self.plan.borrow_mut();
        let mut c = self.c.borrow_mut();
        plan.next_feed = now + plan.random.between(20, 1_500);
        let partition = plan.random.below(c.partitions as u64) as i32;
        let count = plan.random.between(1, 16).min(plan.records_left);
        plan.records_left -= count;
        let pid = match plan.raw_open.get(&partition).copied() {
            Some((pid, _)) => plan.random.chance(600).then_some(pid),
            None if plan.random.chance(300) => {
                plan.raw_pids += 1;
                let pid = plan.raw_pids;
                let ends = now + plan.random.between(1, 4_000);
                plan.raw_open.insert(partition, (pid, ends));
                Some(pid)
            }
            None => None,
        };
        for _ in 0..count {
            let Plan { feed, random, .. } = &mut *plan;
            let record = feed.record(partition, random);
            c.log_mut(Topic::Raw, partition).append(pid, record);
        }
    }

    pub fn end_raw_transactions(&self, now: u64) {
        let mut plan = self.plan.borrow_mut();
        let mut c = self.c.borrow_mut();
        let ended: Vec<i32> = (plan.raw_open.iter())
            .filter(|(_, (_, ends))| *ends <= now)
            .map(|(partition, _)| *partition)
            .collect();
        for partition in ended {
            if let Some((pid, _)) = plan.raw_open.remove(&partition) {
                let commit = plan.random.chance(700);
                c.log_mut(Topic::Raw, partition).mark(pid, commit);
            }
        }
    }
}
