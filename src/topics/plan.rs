//! What the cluster lacks and where it differs from the declarations.
//! Must not be in here: a client. It is a function of settings, declarations and facts.

use super::declaration::{Declarations, TopicDeclaration};
use super::needs::{OUTPUT_SPARE_BYTES, holds_raw_records, needs, undeclared};
use crate::kafka::{ClusterFacts, Configs, NewTopicSpec, TopicFacts};
use crate::settings::{RouteSettings, TopicRole};
use std::fmt;

const MAX_MESSAGE_BYTES: &str = "max.message.bytes";

/// What is to be done, and what only a person can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Topics that are missing and can be created.
    pub create: Vec<NewTopicSpec>,
    /// Where what exists differs from what is declared.
    pub differences: Vec<Difference>,
}

/// One difference between a declaration and the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The topic.
    pub topic: String,
    /// What differs.
    pub what: String,
    /// Whether `check` judges it too, with its own words.
    pub judged: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.topic, self.what)
    }
}

/// The topics of all routes, each once.
pub fn topic_names(routes: &[RouteSettings]) -> Vec<&str> {
    let roles = [TopicRole::Raw].into_iter().chain(TopicRole::OWN);
    let mut names: Vec<&str> =
        roles.flat_map(|role| routes.iter().map(move |route| route.topic(role))).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Compares every topic that the routes write with its declaration.
pub fn plan(routes: &[RouteSettings], declarations: &Declarations, facts: &ClusterFacts) -> Plan {
    let mut plan = Plan::default();
    for route in routes {
        let raw = facts.description(&route.raw);
        if raw.is_none() {
            let denied = matches!(facts.topics.get(&route.raw), Some(TopicFacts::Denied));
            let why = if denied { "may not be described" } else { "is not there" };
            let what = format!(
                "the raw topic of route `{}` {why}, so that its partitions are unknown",
                route.name
            );
            plan.differences.push(Difference { topic: route.raw.clone(), what, judged: true });
        }
        for role in TopicRole::OWN {
            let declaration = declarations.topics.get(route.topic(role));
            let wanted = Wanted::of(route, role, declaration, facts);
            compare(&wanted, raw.map(|raw| raw.partitions), facts, &mut plan);
        }
    }
    plan
}

/// How a topic is to be, once the raw topic is known.
struct Wanted<'a> {
    topic: &'a str,
    replication: Option<i32>,
    config: Configs,
    /// What it gets beyond that if it is created, and may be changed later.
    at_creation: Configs,
    /// What `max.message.bytes` must at least be, where nothing declares it.
    bytes_min: Option<i64>,
    role: TopicRole,
}

impl<'a> Wanted<'a> {
    fn of(
        route: &'a RouteSettings,
        role: TopicRole,
        declaration: Option<&TopicDeclaration>,
        facts: &ClusterFacts,
    ) -> Wanted<'a> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let (config, at_creation) = match declaration {
            Some(declaration) => (declaration.config.clone(), Configs::new()),
            None => {
                let needs = needs(role).iter().map(owned).collect();
                (needs, undeclared(role).iter().map(owned).collect())
            }
        };
        let raw_bytes = facts.number(&route.raw, MAX_MESSAGE_BYTES);
        let derived = holds_raw_records(role) && !config.contains_key(MAX_MESSAGE_BYTES);
        Wanted {
            topic: route.topic(role),
            replication: declaration.and_then(|declaration| declaration.replication),
            config,
            at_creation,
            bytes_min: raw_bytes
                .filter(|_| derived)
                .map(|bytes| bytes.saturating_add(OUTPUT_SPARE_BYTES).min(i32::MAX.into())),
            role,
        }
    }

    fn spec(&self, partitions: i32) -> NewTopicSpec {
        let mut config = self.config.clone();
        config.extend(self.at_creation.clone());
        if let Some(bytes) = self.bytes_min {
            config.insert(MAX_MESSAGE_BYTES.to_owned(), bytes.to_string());
        }
        let name = self.topic.to_owned();
        NewTopicSpec { name, partitions, replication: self.replication, config }
    }
}

fn compare(wanted: &Wanted<'_>, partitions: Option<i32>, facts: &ClusterFacts, plan: &mut Plan) {
    let mut differs = |what: String, judged: bool| {
        let topic = wanted.topic.to_owned();
        plan.differences.push(Difference { topic, what, judged });
    };
    let (description, configs) = match facts.topics.get(wanted.topic) {
        Some(TopicFacts::Present { description, configs }) => (description, configs),
        Some(TopicFacts::Denied) => return differs("may not be described".to_owned(), true),
        Some(TopicFacts::Missing) | None => {
            if let Some(partitions) = partitions {
                plan.create.push(wanted.spec(partitions));
            }
            return;
        }
    };
    if let Some(partitions) = partitions
        && description.partitions != partitions
    {
        let found = description.partitions;
        differs(format!("has {found} partitions, the raw topic has {partitions}"), true);
    }
    if let Some(replication) = wanted.replication
        && description.replication != replication
    {
        let found = description.replication;
        differs(format!("has replication {found}, declared is {replication}"), false);
    }
    let Some(configs) = configs else {
        return differs("its configs may not be described".to_owned(), true);
    };
    for (name, value) in &wanted.config {
        let judged = needs(wanted.role).iter().any(|(needed, _)| needed == name);
        match configs.get(name) {
            Some(found) if found == value => {}
            Some(found) => differs(format!("{name} is {found}, declared is {value}"), judged),
            None => differs(format!("the cluster knows no config {name}"), false),
        }
    }
    let bytes = configs.get(MAX_MESSAGE_BYTES).and_then(|bytes| bytes.parse::<i64>().ok());
    if let (Some(least), Some(found)) = (wanted.bytes_min, bytes)
        && found < least
    {
        differs(format!("{MAX_MESSAGE_BYTES} is {found}, at least {least} are needed"), true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::{TopicDescription, TopicId};
    use crate::settings::sample_route;
    use std::collections::BTreeMap;

    fn present(partitions: i32, pairs: &[(&str, &str)]) -> TopicFacts {
        let id = TopicId::from_halves(1, 2);
        let configs = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        TopicFacts::Present {
            description: TopicDescription { id, partitions, replication: 1, rights: None },
            configs: Some(configs.collect()),
        }
    }

    fn facts(topics: &[(&str, TopicFacts)]) -> ClusterFacts {
        let topics = topics.iter().map(|(name, facts)| ((*name).to_owned(), facts.clone()));
        ClusterFacts { topics: topics.collect(), ..ClusterFacts::default() }
    }

    fn text(spec: &NewTopicSpec) -> String {
        let config: Vec<String> =
            spec.config.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} {} {:?} {}", spec.name, spec.partitions, spec.replication, config.join(" "))
    }

    #[test]
    fn missing_topics_are_created_as_their_roles_need() {
        let routes = [sample_route()];
        let mut declarations = Declarations::default();
        let declaration = TopicDeclaration {
            file: "audit.toml".into(),
            name: "audit".into(),
            role: TopicRole::Audit,
            replication: Some(3),
            config: BTreeMap::from([("retention.ms".into(), "1000".into())]),
        };
        declarations.topics.insert("audit".into(), declaration);
        let raw = present(4, &[("max.message.bytes", "1000000")]);
        let plan = plan(&routes, &declarations, &facts(&[("raw", raw)]));
        assert_eq!(plan.differences, []);
        let created: Vec<String> = plan.create.iter().map(text).collect();
        let kept = "cleanup.policy=delete max.message.bytes=1016384 retention.bytes=-1 \
                    retention.ms=-1";
        assert_eq!(
            created,
            [
                format!("clean 4 None {kept}"),
                format!("quarantine 4 None {kept}"),
                "audit 4 Some(3) retention.ms=1000".to_owned(),
                "g.lab.journal 4 None cleanup.policy=delete message.timestamp.type=LogAppendTime \
                 retention.bytes=-1 retention.ms=-1"
                    .to_owned(),
            ]
        );
    }

    #[test]
    fn without_the_raw_topic_nothing_is_created() {
        let plan = plan(&[sample_route()], &Declarations::default(), &ClusterFacts::default());
        assert_eq!(plan.create, []);
        assert_eq!(plan.differences.len(), 1);
    }

    #[test]
    fn what_exists_is_compared() {
        let raw = present(4, &[("max.message.bytes", "1000000")]);
        let sound = [("cleanup.policy", "delete"), ("max.message.bytes", "1016384")];
        let journal = [sound.as_slice(), &[("message.timestamp.type", "CreateTime")]].concat();
        let facts = facts(&[
            ("raw", raw),
            ("clean", present(4, &sound)),
            (
                "quarantine",
                present(4, &[("cleanup.policy", "compact"), ("max.message.bytes", "7")]),
            ),
            ("audit", present(5, &sound)),
            ("g.lab.journal", present(4, &journal)),
        ]);
        let plan = plan(&[sample_route()], &Declarations::default(), &facts);
        assert_eq!(plan.create, []);
        let differences: Vec<String> = plan.differences.iter().map(ToString::to_string).collect();
        assert_eq!(
            differences,
            [
                "quarantine: cleanup.policy is compact, declared is delete",
                "quarantine: max.message.bytes is 7, at least 1016384 are needed",
                "audit: has 5 partitions, the raw topic has 4",
                "g.lab.journal: message.timestamp.type is CreateTime, declared is LogAppendTime",
                "g.lab.journal: the cluster knows no config retention.bytes",
                "g.lab.journal: the cluster knows no config retention.ms",
            ]
        );
    }
}
