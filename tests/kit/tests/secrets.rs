//! No payload and no secret in anything that oncegate says of itself: records and passwords bear a
//! mark, and whatever came out is searched for it.

mod common;

use common::secure::{CONFIG, login, scene, secure, write_config};
use common::{end, rest, sample, unique};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::scene::Scene;
use oncegate_testkit::topics::{Acl, Admin, Operation, Resource};

/// Stands in every payload, record key and password.
const MARK: &str = "MARK-4410";
const USER: &str = "secret";

/// A sample in which every record bears the mark: as a member of its own, within an identity, in
/// other content under a known key, in what is no JSON, and in the record's key.
fn marked() -> Vec<Sent> {
    let mut records = sample(501, Kind::Lab, 3_000);
    let text = |sent: &Sent| {
        let payload = sent.payload.as_deref().unwrap_or_default();
        String::from_utf8_lossy(payload).into_owned()
    };
    let whole = records.iter().filter(|sent| sent.first_of().is_some()).take(4).cloned();
    let mut more = Vec::new();
    for sent in whole.collect::<Vec<_>>() {
        let payload = text(&sent);
        for changed in [
            payload.replacen("\"accession\":\"", &format!("\"accession\":\"{MARK}-"), 1),
            payload.replacen(
                "\"accession\":\"",
                &format!("\"accession\":{{\"{MARK}\":1}},\"x\":\""),
                1,
            ),
            payload.replacen("\"final\"", &format!("\"{MARK}\""), 1),
            payload.replacen("\"resulted_at\":\"", &format!("\"resulted_at\":\"{MARK}"), 1),
            payload.replacen("\"analyte_loinc\":\"", &format!("\"analyte_loinc\":\"{MARK}"), 1),
            payload.replacen('}', &format!(",\"{MARK}\":1,\"{MARK}\":2}}"), 1),
            format!("{MARK} {payload}"),
        ] {
            assert!(changed.contains(MARK), "{payload}");
            more.push(Sent { payload: Some(changed.into_bytes()), ..sent.clone() });
        }
    }
    for sent in &mut records {
        let payload = text(sent);
        if let Some(rest) = payload.strip_suffix('}') {
            sent.payload = Some(format!("{rest},\"note\":\"{MARK}\"}}").into_bytes());
        }
    }
    records.extend(more);
    for sent in &mut records {
        sent.key = format!("{MARK}-{}", String::from_utf8_lossy(&sent.key)).into_bytes();
    }
    records
}

/// Everything of the scene, for a user who is no subject of this test.
fn grant_all(scene: &Scene) {
    let admin = Admin::new(secure().broker.bootstrap()).expect("an admin client");
    let rights = [
        (Resource::Topic, scene.name.as_str(), &Operation::ALL[..]),
        (Resource::Group, scene.name.as_str(), &[Operation::Read]),
        (Resource::Group, "oncegate-survey", &[Operation::Read]),
        (Resource::TransactionalId, scene.name.as_str(), &[Operation::Write]),
        (Resource::Cluster, "", &[Operation::DescribeConfigs]),
    ];
    for (resource, name, operations) in rights {
        for operation in operations {
            let (principal, operation) = (format!("User:{USER}"), *operation);
            let (name, prefixed) = (name.to_owned(), resource != Resource::Cluster);
            let acl = Acl { principal, resource, name, prefixed, operation };
            admin.add_acl(&acl).expect("allowed");
        }
    }
}

/// What came out, by where it came from.
#[derive(Default)]
struct Said(Vec<(String, String)>);

impl Said {
    fn add(&mut self, whence: &str, text: String) {
        self.0.push((whence.to_owned(), text));
    }

    fn command(&mut self, scene: &Scene, config: &str, arguments: &[&str]) {
        let (_, said) = scene.command_with(config, arguments).expect("it runs");
        self.add(&arguments.join(" "), said);
    }

    /// Where the mark came out, with the lines.
    fn marked(&self) -> Vec<String> {
        let lines = self.0.iter().flat_map(|(whence, text)| {
            text.lines().map(move |line| (whence, line)).filter(|(_, line)| line.contains(MARK))
        });
        lines.map(|(whence, line)| format!("{whence}: {line}")).collect()
    }
}

#[test]
fn no_payload_and_no_secret_comes_out() {
    let debug = "\"debug\" = \"security,broker,protocol,msg,topic,cgrp,eos,fetch\"\n";
    let scene = scene("secrets", login(USER, "SCRAM-SHA-512") + debug);
    grant_all(&scene);
    produce(&scene.bootstrap, &scene.raw(), &marked(), Timestamps::EventTime).expect("produced");
    let mut said = Said::default();
    let options = scene.process_options("one", CONFIG).variable("RUST_LOG", "trace");
    let mut one = Process::start(&options).expect("started");
    rest(&scene, &["one"]);
    for path in ["/metrics", "/readyz", "/livez", "/status", "/"] {
        let (_, body) = scene.get("one", path).expect("an answer");
        said.add(path, body);
    }
    end(&mut one);
    said.add("the log", scene.log("one"));
    // By PLAIN the client itself holds the password as it is sent.
    write_config(&scene, CONFIG, login(USER, "PLAIN") + debug);
    for command in [
        &["config", "show"][..],
        &["check"],
        &["topics", "diff"],
        &["reconcile", "route"],
        &["verify", "route"],
        &["quarantine", "list", "route"],
        &["quarantine", "list", "route", "--json"],
        &["survey", "--topic", &scene.raw(), "--recipe", "lab-result"],
    ] {
        said.command(&scene, CONFIG, command);
    }
    faulty(&scene, &mut said);
    for (whence, text) in &said.0 {
        let sound = !["/livez", "/status", "/"].contains(&whence.as_str());
        assert!(!sound || !text.is_empty(), "nothing came out of {whence}");
    }
    let log = &said.0.iter().find(|(whence, _)| whence == "the log").expect("the log").1;
    assert!(log.contains("DEBUG") && log.contains("taken over"), "it is no log of all levels");
    assert_eq!(said.marked(), Vec::<String>::new());
}

/// Faults of a configuration and of a login, each with the password at hand.
fn faulty(scene: &Scene, said: &mut Said) {
    let login = login(USER, "SCRAM-SHA-512");
    let file = format!("{}/{USER}.password", secure().security.folder().display());
    for (name, lines) in [
        ("refused.toml", format!("{login}\"group.id\" = \"{MARK}\"\n")),
        ("unknown.toml", format!("{login}\"sasl.pasword\" = \"${{file:{file}}}\"\n")),
        ("range.toml", format!("{login}\"linger.ms\" = \"${{file:{file}}}\"\n")),
        ("protocol.toml", login.replace("\"sasl_ssl\"", &format!("\"${{file:{file}}}\""))),
        ("keystore.toml", format!("{login}\"ssl.key.pem\" = \"${{file:{file}}}\"\n")),
        ("mechanism.toml", login.replace("SCRAM-SHA-512", MARK)),
        ("twice.toml", format!("{login}sasl.password = \"{MARK}\"\n")),
        ("no-toml.toml", format!("{login}\"sasl.password = {MARK}\n")),
    ] {
        write_config(scene, name, lines);
        said.command(scene, name, &["config", "show"]);
    }
    let wrong = secure().security.folder().join(unique("wrong"));
    std::fs::write(&wrong, format!("{MARK}-WRONG")).expect("written");
    write_config(scene, "wrong.toml", login.replace(&file, &wrong.display().to_string()));
    said.command(scene, "wrong.toml", &["check", "--timeout", "5s"]);
}
