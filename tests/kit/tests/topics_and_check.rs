//! `topics apply`, `topics diff` and `check` against a real broker: what is missing is created as
//! its role needs, what exists is never altered, and everything that is wrong is said in one run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::process::{Process, ProcessOptions};
use oncegate_testkit::topics::{Admin, TopicSpec};

const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// A configuration of one route in a folder of its own.
struct Gate {
    folder: tempfile::TempDir,
    name: String,
    bootstrap: String,
}

impl Gate {
    fn new(bootstrap: &str, name: &str, of_route: &str) -> Gate {
        let gate = Gate {
            folder: tempfile::tempdir().unwrap(),
            name: format!("{name}{}", std::process::id()),
            bootstrap: bootstrap.to_owned(),
        };
        let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/recipes");
        let config = format!(
            "group = \"{name}\"\n\
             recipes_dir = \"{}\"\n\
             [kafka]\n\
             \"bootstrap.servers\" = \"{bootstrap}\"\n\
             [[route]]\n\
             name = \"lab\"\n\
             raw = \"{name}.raw\"\n\
             clean = \"{name}.clean\"\n\
             recipe = \"lab-result\"\n\
             {of_route}\n",
            recipes.display(),
            name = gate.name,
        );
        std::fs::write(gate.config(), config).unwrap();
        gate
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("oncegate.toml")
    }

    fn topic(&self, role: &str) -> String {
        match role {
            "raw" | "clean" => format!("{}.{role}", self.name),
            _ => format!("{}.lab.{role}", self.name),
        }
    }

    /// Exit status and what was said.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let log = self.folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let config = self.config();
        let mut all = arguments.to_vec();
        all.extend(["--config", config.to_str().unwrap(), "--bootstrap", &self.bootstrap]);
        let mut process = Process::start(&ProcessOptions::new(all, log)).unwrap();
        let status = process.wait(COMMAND_TIMEOUT).unwrap();
        (status.code().unwrap_or(-1), process.log_text())
    }
}

#[test]
fn missing_topics_are_created_and_then_all_is_well() {
    let broker = Broker::start(BrokerOptions::default()).unwrap();
    let admin = Admin::new(broker.bootstrap()).unwrap();
    let gate = Gate::new(broker.bootstrap(), "apply", "");

    let (status, said) = gate.run(&["topics", "apply"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("the raw topic of route `lab` is not there"), "{said}");

    admin.create(&[TopicSpec::new(gate.topic("raw"), 3)]).unwrap();
    let (status, said) = gate.run(&["topics", "diff"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("topics diff: 4 missing, 0 different"), "{said}");
    let (status, said) = gate.run(&["check"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("check: 4 errors, 0 warnings"), "{said}");

    let (status, said) = gate.run(&["topics", "apply"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("topics apply: 4 created, 0 not created, 0 different"), "{said}");
    let (status, said) = gate.run(&["topics", "diff"]);
    assert_eq!((status, said.as_str()), (0, "topics diff: 0 missing, 0 different\n"));
    let (status, said) = gate.run(&["check"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("check: 0 errors, "), "{said}");

    let id = admin.topic_id(&gate.topic("journal")).unwrap();
    let (status, said) = gate.run(&["topics", "apply"]);
    assert_eq!(status, 0, "{said}");
    assert_eq!(admin.topic_id(&gate.topic("journal")).unwrap(), id, "it was created again");
}

#[test]
fn everything_that_is_wrong_is_said_in_one_run_and_nothing_is_altered() {
    // Kafka's own default, which the kit lowers for tests of faults.
    let options = BrokerOptions::default().property("group.min.session.timeout.ms", 6_000);
    let broker = Broker::start(options).unwrap();
    let admin = Admin::new(broker.bootstrap()).unwrap();
    let of_route = "window = \"30d\"\n[route.timeouts]\nsession = \"1s\"";
    let gate = Gate::new(broker.bootstrap(), "check", of_route);
    admin
        .create(&[
            TopicSpec::new(gate.topic("raw"), 4).config("max.message.bytes", 3_000_000),
            TopicSpec::new(gate.topic("clean"), 4).config("retention.ms", 86_400_000),
            TopicSpec::new(gate.topic("quarantine"), 2).config("max.message.bytes", 4_000_000),
            TopicSpec::new(gate.topic("audit"), 4).config("cleanup.policy", "compact"),
            TopicSpec::new(gate.topic("journal"), 4),
        ])
        .unwrap();
    for command in [&["check"][..], &["topics", "apply"], &["check"]] {
        let (status, said) = gate.run(command);
        assert_eq!(status, 1, "{said}");
        let wanted: &[&str] = match command {
            ["check"] => &[
                "raw: message.timestamp.type is CreateTime",
                "clean: retention.ms is 86400000 and counts from the raw timestamps",
                "clean: max.message.bytes is 1048588, too small for 3000000",
                "max.message.bytes=3016384",
                "quarantine: has 2 partitions, ",
                "audit: cleanup.policy is compact",
                "journal: message.timestamp.type is CreateTime",
                "journal: retention.ms is 604800000",
                "session time-out is 1000 ms, the brokers want at least 6000 ms",
            ],
            _ => &[
                "topics apply: 0 created, 0 not created, ",
                "audit: cleanup.policy is compact, declared is delete",
                "quarantine: has 2 partitions, the raw topic has 4",
            ],
        };
        for wanted in wanted {
            assert!(said.contains(wanted), "{command:?} does not say: {wanted}\n{said}");
        }
    }
}

#[test]
fn a_cluster_that_is_not_there_is_told_as_that() {
    let gate = Gate::new("127.0.0.1:9", "nowhere", "");
    let (status, said) = gate.run(&["check", "--timeout", "2s"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("check: the cluster cannot be reached: "), "{said}");
    assert!(said.contains("Connection refused"), "{said}");
    let (status, said) = gate.run(&["topics", "diff", "--timeout", "2s"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("the cluster cannot be reached"), "{said}");
}

#[test]
fn a_faulty_configuration_has_its_own_status() {
    let gate = Gate::new("127.0.0.1:9", "faulty", "windw = \"30d\"");
    let (status, said) = gate.run(&["check"]);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("oncegate.toml:10: unknown key `windw` in route `lab`"), "{said}");
    assert!(said.contains("did you mean `window`?"), "{said}");
}
