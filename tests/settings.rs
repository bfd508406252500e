//! The settings against files: every fault of a file is told in one run, at its line, and no value
//! that may be a secret is ever printed.
//!
//! In a file, `#~ text` says that its line has this fault, and `#~! text` that another file has one
//! that begins so. Every secret is `hunter2`.
#![cfg(feature = "service")]

use oncegate::gate::ConflictPolicy;
use oncegate::settings::{Arrival, BatchSettings, Overrides, Settings, UNBOUNDED_FUTURE_MICROS};
use oncegate::topics::Declarations;
use std::path::{Path, PathBuf};

const SECRET: &str = "hunter2";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings")
}

fn load(path: &Path) -> Result<Settings, Vec<String>> {
    Settings::load(path, &Overrides::default()).map_err(|errors| {
        let faults = errors.faults().iter();
        // Relative to the folder, as the expectations are.
        let folder = format!("{}/", folder().display());
        faults.map(|fault| fault.to_string().replace(&folder, "")).collect()
    })
}

/// The faults that a file says it has: whole ones, and beginnings.
fn expected(name: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let (mut whole, mut beginnings) = (Vec::new(), Vec::new());
    for (nth, line) in text.lines().enumerate() {
        for expectation in line.split("#~").skip(1) {
            match expectation.strip_prefix('!') {
                Some(beginning) => beginnings.push(beginning.trim().to_owned()),
                None => whole.push(format!("{name}:{}: {}", nth + 1, expectation.trim())),
            }
        }
    }
    (whole, beginnings)
}

/// The TOML files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

/// What was told against what was expected, and secrets.
fn mismatches(told: &[String], whole: &[String], beginnings: &[String]) -> Vec<String> {
    let begins = |fault: &String| beginnings.iter().any(|beginning| fault.starts_with(beginning));
    let came = |beginning: &String| told.iter().any(|fault| fault.starts_with(beginning));
    let surplus = told.iter().filter(|fault| !whole.contains(fault) && !begins(fault));
    let lacking = whole.iter().filter(|fault| !told.contains(fault));
    let lacking = lacking.chain(beginnings.iter().filter(|beginning| !came(beginning)));
    let secrets = told.iter().filter(|fault| fault.contains(SECRET));
    let mut wrong: Vec<String> = surplus.map(|fault| format!("not expected: {fault}")).collect();
    wrong.extend(lacking.map(|fault| format!("not told: {fault}")));
    wrong.extend(secrets.map(|fault| format!("a secret: {fault}")));
    wrong
}

#[test]
fn every_fault_is_told_at_its_line_in_one_run() {
    let mut wrong = Vec::new();
    let mut cases = 0;
    for path in files(&folder()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (whole, beginnings) = expected(name, &std::fs::read_to_string(&path).unwrap());
        if whole.is_empty() && beginnings.is_empty() {
            continue;
        }
        cases += 1;
        let told = load(&path).err().unwrap_or_default();
        wrong.extend(mismatches(&told, &whole, &beginnings));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases > 15, "the files are gone");
}

#[test]
fn every_fault_of_a_topic_declaration_is_told_at_its_line() {
    let settings = load(&folder().join("sound.toml")).unwrap_or_else(|told| panic!("{told:?}"));
    let folder = folder().join("faulty-topics");
    let mut whole = Vec::new();
    for path in files(&folder) {
        let name = path.file_name().unwrap().to_str().unwrap();
        whole.extend(expected(name, &std::fs::read_to_string(&path).unwrap()).0);
    }
    let declarations = Declarations::read(&folder, &settings.routes);
    let here =
        |fault: &dyn ToString| fault.to_string().replace(&format!("{}/", folder.display()), "");
    let told: Vec<String> = declarations.faults.iter().map(|fault| here(fault)).collect();
    let wrong = mismatches(&told, &whole, &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unused: Vec<String> = declarations.unused.iter().map(|fault| here(fault)).collect();
    let expected = "unused.toml:1: no route has the topic `serials.claen`; \
                    did you mean `serials.clean`?";
    assert_eq!(unused, [expected]);
}

#[test]
fn a_declaration_holds_what_its_role_needs() {
    let settings = load(&folder().join("sound.toml")).unwrap_or_else(|told| panic!("{told:?}"));
    let declarations = Declarations::read(&settings.topics_dir, &settings.routes);
    assert_eq!(declarations.faults, []);
    let config = |topic: &str| -> Vec<String> {
        let config = declarations.topics[topic].config.iter();
        config.map(|(name, value)| format!("{name}={value}")).collect()
    };
    assert_eq!(
        config("lab.clean"),
        ["cleanup.policy=delete", "max.message.bytes=2000000", "retention.ms=86400000"]
    );
    assert_eq!(declarations.topics["lab.clean"].replication, Some(3));
    assert_eq!(
        config("pharmacy.lab.journal"),
        [
            "cleanup.policy=delete",
            "message.timestamp.type=LogAppendTime",
            "retention.bytes=-1",
            "retention.ms=-1"
        ]
    );
    assert_eq!(declarations.topics["pharmacy.lab.journal"].replication, None);
}

#[test]
fn a_file_that_is_no_toml_is_refused_by_line_without_quoting_it() {
    let told = load(&folder().join("not-toml.toml")).err().unwrap();
    assert!(told.iter().any(|fault| fault.starts_with("not-toml.toml:6: this is not TOML: ")));
    assert!(told.iter().any(|fault| fault.starts_with("not-toml.toml:8: this is not TOML: ")));
    assert!(told.iter().all(|fault| !fault.contains(SECRET)), "{told:?}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let told = load(Path::new("no/such/oncegate.toml")).err().unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("no/such/oncegate.toml: the file cannot be read: "), "{told:?}");
}

#[test]
fn what_is_said_is_what_is_set() {
    let settings = load(&folder().join("sound.toml")).unwrap_or_else(|told| panic!("{told:?}"));
    assert_eq!(settings.group, "pharmacy");
    assert_eq!(settings.state_dir, folder().join("state"));
    assert_eq!(settings.instance.as_deref(), Some("gate-1"));
    assert_eq!(settings.http_listen, "[::]:9000".parse().unwrap());
    assert_eq!(settings.store_memory_bytes, 1 << 30);
    assert_eq!(settings.store_left_bytes, 2 << 30);
    assert_eq!(settings.kafka.get("linger.ms"), Some("2"));
    assert_eq!(settings.kafka.get("sasl.mechanism"), Some("PLAIN"));
    assert_eq!(settings.kafka.get("sasl.password"), Some("${hunter2}"));
    assert!(!format!("{:?}", settings.kafka).contains(SECRET));
    let [all, defaults] = &settings.routes[..] else { panic!("two routes") };
    assert_eq!(all.group_id, "pharmacy.lab");
    assert_eq!((all.raw.as_str(), all.clean.as_str()), ("lab.raw", "lab.clean"));
    assert_eq!((all.quarantine.as_str(), all.audit.as_str()), ("lab.q", "lab.a"));
    assert_eq!(all.journal, "pharmacy.lab.journal");
    assert_eq!(all.recipe.name(), "lab-result");
    assert_eq!(all.window_micros, Some(30 * 86_400_000_000));
    assert_eq!(all.future_micros_max, 600_000_000);
    assert_eq!(all.conflict, ConflictPolicy::Correction);
    assert_eq!(defaults.conflict, ConflictPolicy::Quarantine);
    assert_eq!(all.arrival, Arrival::CreateTime);
    assert!(!all.keep_timestamp);
    assert_eq!(all.workers, 3);
    assert_eq!(all.batch, BatchSettings { records: 500, bytes: 1 << 20, wait_ms: 7 });
    assert_eq!((all.session_timeout_ms, all.transaction_timeout_ms), (12_000, 15_000));
    assert_eq!(all.shutdown_ms, 20_000);
    assert_eq!(defaults.quarantine, "pharmacy.serials.quarantine");
    assert_eq!(defaults.audit, "pharmacy.serials.audit");
    assert_eq!(defaults.window_micros, None);
    assert_eq!(defaults.future_micros_max, UNBOUNDED_FUTURE_MICROS);
    assert_eq!(defaults.arrival, Arrival::LogAppendTime);
    assert!(defaults.keep_timestamp);
    assert_eq!(defaults.workers, 1);
    assert_eq!(defaults.batch, BatchSettings { records: 20_000, bytes: 32 << 20, wait_ms: 50 });
    assert_eq!((defaults.session_timeout_ms, defaults.transaction_timeout_ms), (10_000, 10_000));
}

/// Whoever reaches the port sees topics, offsets and refusals: nobody but this machine, unless it
/// is told otherwise.
#[test]
fn the_port_is_of_this_machine_alone() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/oncegate.toml");
    for file in [folder().join("least.toml"), shipped] {
        let settings = load(&file).unwrap_or_else(|told| panic!("{told:?}"));
        assert_eq!(settings.http_listen, "127.0.0.1:9464".parse().unwrap(), "{}", file.display());
    }
}

#[test]
fn the_command_line_overrides_the_file() {
    let overrides = Overrides {
        state_dir: Some("elsewhere".into()),
        instance: Some("gate-2".to_owned()),
        http_listen: Some("127.0.0.1:0".parse().unwrap()),
        bootstrap: Some("other:1".to_owned()),
    };
    let settings = Settings::load(&folder().join("sound.toml"), &overrides).unwrap();
    assert_eq!(settings.state_dir, Path::new("elsewhere"));
    assert_eq!(settings.instance.as_deref(), Some("gate-2"));
    assert_eq!(settings.http_listen, "127.0.0.1:0".parse().unwrap());
    assert_eq!(settings.kafka.get("bootstrap.servers"), Some("other:1"));
}

#[test]
fn the_configuration_that_is_shipped_is_sound() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/oncegate.toml");
    let settings = load(&path).unwrap_or_else(|told| panic!("{told:?}"));
    let declarations = Declarations::read(&settings.topics_dir, &settings.routes);
    assert!(declarations.faults.is_empty(), "{:?}", declarations.faults);
    assert!(declarations.unused.is_empty(), "{:?}", declarations.unused);
    assert_eq!(declarations.topics.len(), 4 * settings.routes.len());
}

#[test]
fn every_line_that_the_shipped_configuration_offers_may_be_said() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let text = std::fs::read_to_string(shipped.join("oncegate.toml")).unwrap();
    let offered = |line: &&str| line.starts_with("# ") && line.contains(" = ");
    assert!(text.lines().filter(offered).count() > 12, "nothing is offered");
    let said: Vec<&str> =
        text.lines().map(|line| if offered(&line) { &line[2..] } else { line }).collect();
    let said = said
        .join("\n")
        .replace("${ONCEGATE_PASSWORD}", SECRET)
        .replace("\"recipes\"", &format!("{:?}", shipped.join("recipes")))
        .replace("\"../topics\"", &format!("{:?}", shipped.join("../topics")));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oncegate.toml");
    std::fs::write(&path, said).unwrap();
    let settings = load(&path).unwrap_or_else(|told| panic!("{told:?}"));
    assert_eq!(settings.routes[0].window_micros, Some(30 * 86_400_000_000));
    // What is offered as a default is the default.
    let plain = load(&shipped.join("oncegate.toml")).unwrap();
    let (said, plain) = (&settings.routes[0], &plain.routes[0]);
    assert_eq!(said.batch, plain.batch);
    assert_eq!((&said.quarantine, &said.audit), (&plain.quarantine, &plain.audit));
    assert_eq!((said.arrival, said.keep_timestamp), (plain.arrival, plain.keep_timestamp));
    assert_eq!(said.session_timeout_ms, plain.session_timeout_ms);
    assert_eq!(said.transaction_timeout_ms, plain.transaction_timeout_ms);
    assert_eq!((said.shutdown_ms, said.workers), (plain.shutdown_ms, plain.workers));
}
