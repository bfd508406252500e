//! The judgement as a table: a sound world, one change, and every finding that it must give.
#![cfg(test)]

use super::{CheckReport, Level, judge};
use crate::kafka::{
    ClusterFacts, Configs, OutputLimits, Rights, TopicDescription, TopicFacts, TopicId,
};
use crate::settings::{Arrival, RouteSettings, TopicRole, sample_route};
use crate::topics::{Declarations, topic_names};

const RAW_BYTES: i64 = 1_048_588;

struct World {
    route: RouteSettings,
    facts: ClusterFacts,
}

fn configs(pairs: &[(&str, &str)]) -> Configs {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

impl World {
    fn sound() -> World {
        let route = sample_route();
        let mut facts = ClusterFacts::default();
        for (nth, topic) in topic_names(std::slice::from_ref(&route)).into_iter().enumerate() {
            let id = TopicId::from_halves(7, nth as i64);
            let description = TopicDescription { id, partitions: 4, replication: 3, rights: None };
            let mut configs = configs(&[
                ("cleanup.policy", "delete"),
                ("max.message.bytes", "2000000"),
                ("message.timestamp.after.max.ms", "3600000"),
                ("message.timestamp.before.max.ms", "9223372036854775807"),
                ("message.timestamp.type", "CreateTime"),
                ("min.insync.replicas", "2"),
                ("retention.bytes", "-1"),
                ("retention.ms", "-1"),
                ("unclean.leader.election.enable", "false"),
            ]);
            if topic == "raw" {
                configs.insert("max.message.bytes".into(), RAW_BYTES.to_string());
                configs.insert("retention.ms".into(), "604800000".into());
            }
            if topic == route.journal {
                configs.insert("message.timestamp.type".into(), "LogAppendTime".into());
            }
            let present = TopicFacts::Present { description, configs: Some(configs) };
            facts.topics.insert(topic.to_owned(), present);
        }
        facts.broker = Some(configs(&[
            ("group.max.session.timeout.ms", "1800000"),
            ("group.min.session.timeout.ms", "6000"),
            ("offset.metadata.max.bytes", "4096"),
            ("transaction.max.timeout.ms", "900000"),
        ]));
        World { route, facts }
    }

    fn set(&mut self, topic: &str, name: &str, value: &str) {
        match self.facts.topics.get_mut(topic) {
            Some(TopicFacts::Present { configs: Some(configs), .. }) => {
                configs.insert(name.into(), value.into());
            }
            _ => panic!("{topic} has no configs"),
        }
    }

    fn describe(&mut self, topic: &str, change: impl Fn(&mut TopicDescription)) {
        match self.facts.topics.get_mut(topic) {
            Some(TopicFacts::Present { description, .. }) => change(description),
            _ => panic!("{topic} is not there"),
        }
    }

    fn replace(&mut self, topic: &str, facts: TopicFacts) {
        self.facts.topics.insert(topic.into(), facts);
    }

    fn judge(&self) -> CheckReport {
        judge(std::slice::from_ref(&self.route), &Declarations::default(), &self.facts)
    }
}

/// A change of the sound world, and the beginnings of the findings that it must give, in order.
type Case = (fn(&mut World), &'static [&'static str]);

const CASES: &[Case] = &[
    (|_| {}, &[]),
    (
        |world| world.replace("raw", TopicFacts::Missing),
        &["error: raw: is not there; it is the raw topic of route lab; create it"],
    ),
    (
        |world| world.replace("raw", TopicFacts::Denied),
        &[
            "error: raw: may not be described; it is the raw topic of route lab; allow READ and DESCRIBE_CONFIGS on it",
        ],
    ),
    (
        |world| world.replace("clean", TopicFacts::Missing),
        &["error: clean: is not there; it is the clean topic of route lab; create it with \
           `oncegate topics apply`"],
    ),
    (
        |world| world.describe("clean", |clean| clean.id = None),
        &["error: clean: the cluster gives no id of it"],
    ),
    (
        |world| world.describe("clean", |clean| clean.partitions = 3),
        &["error: clean: has 3 partitions, raw has 4; records keep their raw partition"],
    ),
    (
        |world| world.describe("g.lab.journal", |journal| journal.partitions = 8),
        &["error: g.lab.journal: has 8 partitions, raw has 4; a journal of another number"],
    ),
    (
        |world| world.set("audit", "cleanup.policy", "compact,delete"),
        &["error: audit: cleanup.policy is compact,delete, the role audit needs delete"],
    ),
    (
        |world| world.set("raw", "cleanup.policy", "compact"),
        &["error: raw: cleanup.policy has compact: records may be taken out before they are read"],
    ),
    (
        |world| {
            world.set("g.lab.journal", "message.timestamp.type", "CreateTime");
            world.set("g.lab.journal", "retention.ms", "604800000");
            world.set("g.lab.journal", "retention.bytes", "1000");
        },
        &[
            "error: g.lab.journal: message.timestamp.type is CreateTime, the role journal needs",
            "error: g.lab.journal: retention.ms is 604800000, the role journal needs -1",
            "error: g.lab.journal: retention.bytes is 1000, the role journal needs -1",
        ],
    ),
    (
        |world| world.set("clean", "retention.ms", "604800000"),
        &["error: clean: retention.ms is 604800000 and counts from the raw timestamps: an old \
             record is deleted as it arrives; set retention.ms=-1 on it, or timestamp = \"now\""],
    ),
    (
        |world| {
            world.set("clean", "retention.ms", "-1");
            world.set("clean", "message.timestamp.type", "LogAppendTime");
        },
        &["warning: clean: message.timestamp.type is LogAppendTime, so that the raw timestamps"],
    ),
    (
        |world| {
            world.set("clean", "message.timestamp.type", "LogAppendTime");
            world.route.keep_timestamp = false;
        },
        &[],
    ),
    (
        |world| world.set("clean", "message.timestamp.before.max.ms", "86400000"),
        &["warning: clean: message.timestamp.before.max.ms is 86400000, that of raw is 92233"],
    ),
    (
        |world| world.set("clean", "max.message.bytes", "1048588"),
        &["error: clean: max.message.bytes is 1048588, too small for 1048588 as raw and headers; \
           set max.message.bytes=1064972 on it"],
    ),
    (
        |world| world.set("quarantine", "max.message.bytes", "1064971"),
        &["error: quarantine: max.message.bytes is 1064971, too small for 1048588 as raw"],
    ),
    (|world| world.set("quarantine", "max.message.bytes", "1064972"), &[]),
    (
        |world| {
            world.set("audit", "max.message.bytes", "1000");
            world.set("g.lab.journal", "max.message.bytes", "100000");
        },
        &[
            "error: audit: max.message.bytes is 1000, too small for its records in batches; set",
            "error: g.lab.journal: max.message.bytes is 100000, too small for the parts of an",
        ],
    ),
    (
        |world| world.route.future_micros_max = 3_600_000_000,
        &["error: raw: message.timestamp.type is CreateTime, and route lab has a window or \
           `max_future`; set message.timestamp.type=LogAppendTime on it, or say in the route"],
    ),
    (
        |world| {
            world.route.future_micros_max = 3_600_000_000;
            world.route.arrival = Arrival::CreateTime;
        },
        &[],
    ),
    (
        |world| {
            world.set("raw", "message.timestamp.type", "LogAppendTime");
            world.route.arrival = Arrival::CreateTime;
        },
        &["warning: raw: message.timestamp.type is LogAppendTime, but route lab has arrival"],
    ),
    (
        |world| world.route.transaction_timeout_ms = 900_001,
        &["error: route lab: its transactions may last 900001 ms, the brokers allow 900000 ms"],
    ),
    (
        |world| world.route.session_timeout_ms = 5_000,
        &["error: route lab: its session time-out is 5000 ms, the brokers want at least 6000 ms"],
    ),
    (
        |world| {
            let broker = world.facts.broker.as_mut().unwrap();
            broker.insert("offset.metadata.max.bytes".into(), "100".into());
            broker.insert("group.max.session.timeout.ms".into(), "9000".into());
        },
        &[
            "error: route lab: its session time-out is 10000 ms, the brokers want at most 9000 ms",
            "error: brokers: offset.metadata.max.bytes is 100",
        ],
    ),
    (|world| world.facts.broker = None, &["warning: brokers: their configs may not be described"]),
    (
        |world| {
            world.describe("clean", |clean| clean.replication = 1);
            world.describe("audit", |audit| audit.replication = 1);
        },
        &["warning: route lab: one replica of each partition in clean, audit; with the disk"],
    ),
    (
        |world| {
            world.set("clean", "min.insync.replicas", "1");
            world.set("raw", "unclean.leader.election.enable", "true");
        },
        &[
            "warning: raw: unclean.leader.election.enable is true",
            "warning: clean: min.insync.replicas is 1 of 3 replicas",
        ],
    ),
    (
        |world| {
            let description = world.facts.description("clean").unwrap().clone();
            world.replace("clean", TopicFacts::Present { description, configs: None });
        },
        &["error: clean: its configs may not be described; allow DESCRIBE_CONFIGS on it"],
    ),
    (
        |world| {
            let clean = world.facts.topics.get_mut("clean");
            if let Some(TopicFacts::Present { configs: Some(configs), .. }) = clean {
                configs.remove("max.message.bytes");
            }
        },
        &["error: route lab: the cluster tells no max.message.bytes of its topics"],
    ),
    (
        |world| {
            let all = Some(Rights { read: true, write: true });
            for topic in ["raw", "clean", "quarantine", "audit", "g.lab.journal"] {
                world.describe(topic, |topic| topic.rights = all);
            }
            world.facts.groups.insert("g.lab".into(), Rights { read: true, write: false });
        },
        &[],
    ),
    (
        |world| {
            let (read, write) =
                (Rights { read: true, write: false }, Rights { read: false, write: true });
            world.describe("raw", |topic| topic.rights = Some(read));
            world.describe("clean", |topic| topic.rights = Some(read));
            world.describe("audit", |topic| topic.rights = Some(write));
            world.describe("g.lab.journal", |topic| topic.rights = Some(write));
            world.facts.groups.insert("g.lab".into(), Rights::default());
        },
        &[
            "error: clean: this user may not write to it; it is the clean topic of route lab; allow WRITE on it",
            "error: g.lab.journal: this user may not read it; it is the journal topic of route lab; allow READ on it",
            "error: group g.lab: this user may not join it; it is the group of route lab; allow READ on the group",
        ],
    ),
];

#[test]
fn each_change_of_a_sound_world_gives_its_findings_and_no_others() {
    for (nth, (change, expected)) in CASES.iter().enumerate() {
        let mut world = World::sound();
        change(&mut world);
        let report = world.judge();
        let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "case {nth}: {found:#?}");
        for (found, expected) in found.iter().zip(*expected) {
            assert!(found.starts_with(expected), "case {nth}: {found}\nexpected: {expected}");
        }
        let errors = expected.iter().filter(|finding| finding.starts_with("error")).count();
        assert_eq!(report.is_sound(), errors == 0, "case {nth}");
        assert_eq!(report.count(Level::Error), errors, "case {nth}");
    }
}

#[test]
fn the_gate_gets_its_numbers() {
    let mut world = World::sound();
    world.set("audit", "max.message.bytes", "100000");
    let report = world.judge();
    let route = report.route("lab").unwrap();
    assert_eq!(route.raw_partitions, 4);
    assert_eq!((route.clean_bytes_max, route.quarantine_bytes_max), (2_000_000, 2_000_000));
    assert_eq!(route.limits, OutputLimits { smallest_bytes: 100_000, largest_bytes: 2_000_000 });
    assert_eq!(Some(&route.ids.raw), world.facts.description("raw").unwrap().id.as_ref());
    assert_ne!(route.ids.clean, route.ids.journal);
    world.describe("raw", |raw| raw.id = None);
    assert_eq!(world.judge().route("lab"), None);
}

#[test]
fn what_two_routes_share_is_said_once() {
    let mut world = World::sound();
    let mut other = sample_route();
    other.name = "other".into();
    for (topic, role) in
        [(&mut other.clean, TopicRole::Clean), (&mut other.audit, TopicRole::Audit)]
    {
        *topic = format!("other.{role}");
    }
    other.quarantine = "other.quarantine".into();
    other.journal = "g.other.journal".into();
    for role in TopicRole::OWN {
        let twin = world.facts.topics[world.route.topic(role)].clone();
        world.replace(other.topic(role), twin);
    }
    world.set("raw", "cleanup.policy", "compact");
    let routes = [world.route.clone(), other];
    let report = judge(&routes, &Declarations::default(), &world.facts);
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
}
