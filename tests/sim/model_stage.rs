//! The scripts on the model. Must not be in here: an expectation.

use crate::cluster::{Cluster, Part, Refused};
use crate::log::{Record, Topic};
use crate::script::{Act, Member, Stage, Who};
use std::collections::BTreeMap;
use std::rc::Rc;

const PART: Part = Part::Log(Topic::Clean, 0);

pub struct ModelStage {
    cluster: Cluster,
    epochs: BTreeMap<Who, u32>,
    /// Member id and generation as they were at the join.
    members: BTreeMap<Member, (String, i32)>,
}

fn id(who: Who) -> usize {
    match who {
        Who::First | Who::Heir => 0,
        Who::Other => 1,
    }
}

fn word(result: Result<(), Refused>) -> String {
    match result {
        Ok(()) => "ok".into(),
        Err(Refused::Fenced) => "fenced".into(),
        Err(Refused::InvalidState) => "invalid".into(),
    }
}

fn record(value: &str) -> Rc<Record> {
    Rc::new(Record {
        key: None,
        payload: Some(value.as_bytes().to_vec()),
        timestamp_ms: 1,
        tag: 0,
        source: -1,
        event_key: value.to_owned(),
    })
}

impl ModelStage {
    pub fn new() -> ModelStage {
        ModelStage {
            cluster: Cluster::new(1, 1, 2, false),
            epochs: BTreeMap::new(),
            members: BTreeMap::new(),
        }
    }

    fn read(&self) -> String {
        let log = self.cluster.log(Topic::Clean, 0);
        let values: Vec<&str> = (log.committed())
            .filter(|(offset, _)| *offset < log.stable())
            .map(|(_, record)| record.event_key.as_str())
            .collect();
        let end = if log.stable() == log.high() { "end" } else { "held" };
        format!("{}; {end}", values.join(" "))
    }

    fn offsets(&mut self, who: Who, member: Member, offset: i64, note: &str) -> String {
        let c = &mut self.cluster;
        if let Err(refused) = c.add(id(who), self.epochs[&who], Part::Offsets) {
            return word(Err(refused));
        }
        let (held, generation) = &self.members[&member];
        let known = c.group.members.get(&(member as usize)) == Some(held);
        if !known || *generation != c.group.generation {
            return "membership".into();
        }
        let offsets = BTreeMap::from([(0, (offset, note.to_owned()))]);
        word(c.offsets(id(who), self.epochs[&who], offsets))
    }
}

impl Stage for ModelStage {
    fn act(&mut self, act: Act) -> String {
        let c = &mut self.cluster;
        match act {
            Act::Init(who) => {
                let epoch = c.init(id(who));
                self.epochs.insert(who, epoch);
                "ok".into()
            }
            Act::Begin(who) if self.epochs.contains_key(&who) => "ok".into(),
            Act::Begin(_) => "not initialised".into(),
            Act::Send(who, value) => {
                let (of, epoch) = (id(who), self.epochs[&who]);
                let added = c.add(of, epoch, PART);
                word(added.and_then(|()| {
                    c.produce(of, epoch, (Topic::Clean, 0), record(value)).map(drop)
                }))
            }
            Act::Plain(value) => {
                c.log_mut(Topic::Clean, 0).append(None, record(value));
                "ok".into()
            }
            Act::Offsets(who, member, offset, note) => self.offsets(who, member, offset, note),
            Act::Commit(who) => word(c.end(id(who), self.epochs[&who], true)),
            Act::Abort(who) => word(c.end(id(who), self.epochs[&who], false)),
            Act::Join(member) => {
                let Cluster { group, random, now, .. } = c;
                let held = group.join(member as usize, *now, random);
                self.members.insert(member, (held, group.generation));
                "ok".into()
            }
            Act::Read => self.read(),
            Act::Committed => {
                if c.group.pending.values().any(|pending| pending.contains_key(&0)) {
                    return "unstable".into();
                }
                let committed = &c.group.committed[0];
                committed
                    .as_ref()
                    .map_or("none".into(), |(offset, note)| format!("{offset} {note}"))
            }
        }
    }
}
