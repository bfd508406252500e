//! `oncegate topics`: create what is missing, and say what differs.
//! Must not be in here: an alteration of a topic that exists.

use super::load;
use crate::check::facts_of;
use crate::cli::{Outcome, TopicsArgs};
use crate::kafka::{Admin, AdminError, NewTopicSpec};
use crate::settings::Settings;
use crate::topics::{Declarations, Plan, plan};
use std::time::{Duration, Instant};

/// A created topic is known to all brokers soon after.
const SETTLE_STEP: Duration = Duration::from_millis(200);

struct Session {
    settings: Settings,
    declarations: Declarations,
    admin: Admin,
}

/// `topics diff`.
pub fn diff(args: &TopicsArgs) -> Outcome {
    with_session(args, |session| {
        let plan = session.plan()?;
        for spec in &plan.create {
            println!("{}: is not there", spec.name);
        }
        let missing = plan.create.len();
        let others = differences(session, &plan);
        println!("topics diff: {missing} missing, {others} different");
        Ok(if missing + others == 0 { Outcome::Fine } else { Outcome::Wrong })
    })
}

/// `topics apply`.
pub fn apply(args: &TopicsArgs) -> Outcome {
    with_session(args, |session| {
        let plan = session.plan()?;
        let mut created = Vec::new();
        let mut refused = 0;
        for (name, result) in session.admin.create_topics(&plan.create)? {
            match result {
                Ok(()) => created.push(name),
                Err(error) => {
                    refused += 1;
                    eprintln!("{name}: cannot be created: {error}");
                }
            }
        }
        for spec in plan.create.iter().filter(|spec| created.contains(&spec.name)) {
            println!("created {}", described(spec));
        }
        let plan = session.settled(&created, args.timeout)?;
        let others = differences(session, &plan);
        println!(
            "topics apply: {} created, {refused} not created, {others} different",
            created.len()
        );
        Ok(if refused + others == 0 { Outcome::Fine } else { Outcome::Wrong })
    })
}

impl Session {
    fn plan(&self) -> Result<Plan, AdminError> {
        let facts = facts_of(&self.settings, &self.admin)?;
        Ok(plan(&self.settings.routes, &self.declarations, &facts))
    }

    /// The plan once the cluster knows the topics that it created.
    fn settled(&self, created: &[String], timeout: Duration) -> Result<Plan, AdminError> {
        let until = Instant::now() + timeout;
        loop {
            let plan = self.plan()?;
            let unknown = plan.create.iter().any(|spec| created.contains(&spec.name));
            if !unknown || Instant::now() >= until {
                return Ok(plan);
            }
            std::thread::sleep(SETTLE_STEP);
        }
    }
}

fn with_session(
    args: &TopicsArgs,
    command: impl FnOnce(&Session) -> Result<Outcome, AdminError>,
) -> Outcome {
    let settings = match load(&args.config.config, &args.config.overrides()) {
        Ok(settings) => settings,
        Err(outcome) => return outcome,
    };
    let declarations = Declarations::read(&settings.topics_dir, &settings.routes);
    if !declarations.faults.is_empty() {
        for fault in &declarations.faults {
            eprintln!("{fault}");
        }
        return Outcome::Faulty;
    }
    let result = Admin::new(&settings.kafka, args.timeout).and_then(|admin| {
        let session = Session { settings, declarations, admin };
        command(&session)
    });
    result.unwrap_or_else(|error| {
        eprintln!("topics: {error}");
        Outcome::Wrong
    })
}

/// Prints what differs; what no route has is said and not counted.
fn differences(session: &Session, plan: &Plan) -> usize {
    for difference in &plan.differences {
        println!("{difference}");
    }
    for fault in &session.declarations.unused {
        eprintln!("{fault}");
    }
    plan.differences.len()
}

/// A topic to create, in one line.
fn described(spec: &NewTopicSpec) -> String {
    let replication =
        spec.replication.map_or_else(|| "the cluster's".to_owned(), |count| count.to_string());
    let config: Vec<String> =
        spec.config.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!(
        "{}: {} partitions, {replication} replication, {}",
        spec.name,
        spec.partitions,
        config.join(" ")
    )
}
