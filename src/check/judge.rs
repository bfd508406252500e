//! The judgement: a pure function of routes, declarations and facts.
//! Must not be in here: the rules of single topics; they stand in `topics` and `configs`.

use super::report::{CheckReport, Finding, Level, RouteFacts, TopicIds};
use super::{configs, rights, topics};
use crate::kafka::{ClusterFacts, OutputLimits};
use crate::settings::{RouteSettings, TopicRole};
use crate::topics::{Declarations, plan};

/// Room that the metadata of a committed offset needs.
const OFFSET_METADATA_BYTES_MIN: i64 = 512;

/// Judges everything that is known.
pub fn judge(
    routes: &[RouteSettings],
    declarations: &Declarations,
    facts: &ClusterFacts,
) -> CheckReport {
    let mut report = CheckReport::default();
    for fault in &declarations.faults {
        report.findings.push(of_fault(Level::Error, fault));
    }
    for route in routes {
        let before = report.count(Level::Error);
        let mut findings = Findings { route, facts, list: &mut report.findings };
        topics::judge(&mut findings);
        rights::judge(&mut findings);
        configs::judge(&mut findings);
        timeouts(&mut findings);
        match route_facts(route, facts) {
            Some(facts) => report.routes.push(facts),
            // Without errors the gate starts, and then needs the facts of every route.
            None if report.count(Level::Error) == before => {
                let mut findings = Findings { route, facts, list: &mut report.findings };
                let what =
                    format!("the cluster tells no {} of its topics", configs::MAX_MESSAGE_BYTES);
                findings.error(&format!("route {}", route.name), what, "use brokers that do");
            }
            None => {}
        }
    }
    brokers(facts, &mut report.findings);
    for difference in plan(routes, declarations, facts).differences {
        if !difference.judged {
            report.findings.push(Finding {
                level: Level::Warning,
                subject: difference.topic,
                what: difference.what,
                remedy: "change one of them".to_owned(),
            });
        }
    }
    for fault in &declarations.unused {
        report.findings.push(of_fault(Level::Warning, fault));
    }
    // Routes may share a raw topic, which is then judged once for each.
    let mut said: Vec<Finding> = Vec::with_capacity(report.findings.len());
    for finding in report.findings.drain(..) {
        if !said.contains(&finding) {
            said.push(finding);
        }
    }
    report.findings = said;
    report
}

/// Where the rules of one route put what they find.
pub struct Findings<'a> {
    /// The route.
    pub route: &'a RouteSettings,
    /// The cluster.
    pub facts: &'a ClusterFacts,
    list: &'a mut Vec<Finding>,
}

impl Findings<'_> {
    /// The gate may not run.
    pub fn error(&mut self, subject: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.push(Level::Error, subject, what.into(), remedy.into());
    }

    /// A person should know.
    pub fn warning(&mut self, subject: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.push(Level::Warning, subject, what.into(), remedy.into());
    }

    fn push(&mut self, level: Level, subject: &str, what: String, remedy: String) {
        self.list.push(Finding { level, subject: subject.to_owned(), what, remedy });
    }
}

fn of_fault(level: Level, fault: &crate::settings::Fault) -> Finding {
    let line = fault.line.map_or_else(String::new, |line| format!(":{line}"));
    Finding {
        level,
        subject: format!("{}{line}", fault.file),
        what: fault.what.clone(),
        remedy: fault.meant.clone(),
    }
}

fn timeouts(findings: &mut Findings<'_>) {
    let (route, facts) = (findings.route, findings.facts);
    let subject = format!("route {}", route.name);
    let transaction_ms = i64::from(route.transaction_timeout_ms);
    if let Some(max) = facts.broker_number("transaction.max.timeout.ms")
        && transaction_ms > max
    {
        let what =
            format!("its transactions may last {transaction_ms} ms, the brokers allow {max} ms");
        let remedy = "lower `timeouts.transaction`, or raise transaction.max.timeout.ms";
        findings.error(&subject, what, remedy);
    }
    let session_ms = i64::from(route.session_timeout_ms);
    let bounds = [
        ("group.min.session.timeout.ms", "at least", std::cmp::Ordering::Less),
        ("group.max.session.timeout.ms", "at most", std::cmp::Ordering::Greater),
    ];
    for (name, bound, wrong) in bounds {
        if let Some(limit) = facts.broker_number(name)
            && session_ms.cmp(&limit) == wrong
        {
            let what = format!(
                "its session time-out is {session_ms} ms, the brokers want {bound} {limit} ms"
            );
            findings.error(&subject, what, format!("change `timeouts.session`, or {name}"));
        }
    }
}

fn brokers(facts: &ClusterFacts, findings: &mut Vec<Finding>) {
    let mut push = |level, what: String, remedy: &str| {
        let (subject, remedy) = ("brokers".to_owned(), remedy.to_owned());
        findings.push(Finding { level, subject, what, remedy });
    };
    if facts.broker.is_none() {
        let what = "their configs may not be described, so that time-outs are not compared";
        let remedy = "allow DESCRIBE_CONFIGS on the cluster, or compare them by hand";
        push(Level::Warning, what.to_owned(), remedy);
    }
    const METADATA: &str = "offset.metadata.max.bytes";
    if let Some(bytes) = facts.broker_number(METADATA)
        && bytes < OFFSET_METADATA_BYTES_MIN
    {
        let what = format!(
            "{METADATA} is {bytes}, the metadata of a committed offset needs {OFFSET_METADATA_BYTES_MIN}"
        );
        push(Level::Error, what, "raise it; Kafka's default is 4096");
    }
}

fn route_facts(route: &RouteSettings, facts: &ClusterFacts) -> Option<RouteFacts> {
    let id = |role| facts.description(route.topic(role))?.id.clone();
    let bytes = |role| {
        let bytes = facts.number(route.topic(role), configs::MAX_MESSAGE_BYTES)?;
        u64::try_from(bytes).ok()
    };
    let [clean, quarantine, audit, journal] = TopicRole::OWN.map(bytes);
    let own = [clean?, quarantine?, audit?, journal?];
    Some(RouteFacts {
        name: route.name.clone(),
        raw_partitions: facts.description(&route.raw)?.partitions,
        ids: TopicIds {
            raw: id(TopicRole::Raw)?,
            clean: id(TopicRole::Clean)?,
            quarantine: id(TopicRole::Quarantine)?,
            audit: id(TopicRole::Audit)?,
            journal: id(TopicRole::Journal)?,
        },
        clean_bytes_max: usize::try_from(clean?).ok()?,
        quarantine_bytes_max: usize::try_from(quarantine?).ok()?,
        limits: OutputLimits {
            smallest_bytes: own.into_iter().min()?,
            largest_bytes: own.into_iter().max()?,
        },
    })
}
