//! TLS, SASL and ACLs against a broker that has them, and docs/security.md held to its word.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::secure::{CONFIG, Secure, login, scene, secure, write_config};
use common::{SOON, assert_agreement, assert_exact, await_log, end, rest, sample, unique};
use oncegate_testkit::broker::{Broker, BrokerOptions, Security};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::rules::{Rules, of_commands, of_table};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::{Acl, Admin, Operation, Resource};
use oncegate_testkit::wait::wait_for;

const DOCUMENT: &str = include_str!("../../../docs/security.md");

/// The rights that the document says one needs, on the names of a scene.
fn rights(purpose: &str, user: &str, scene: &Scene) -> Vec<Acl> {
    let principal = format!("User:{user}");
    let rules = of_table(DOCUMENT, &principal).expect("the table of rights");
    let names = [
        ("lab.raw", scene.raw()),
        ("lab.clean", scene.clean()),
        ("demo.lab.quarantine", scene.quarantine()),
        ("demo.lab.audit", scene.audit()),
        ("demo.lab.journal", scene.journal()),
        ("demo.lab", scene.group()),
        ("demo-lab-", format!("{}-route-", scene.name)),
        ("demo.lab-redrive", format!("{}-redrive", scene.group())),
        ("oncegate-survey", "oncegate-survey".to_owned()),
        ("", String::new()),
    ];
    let here = |acl: &Acl| {
        let name = names.iter().find(|(name, _)| *name == acl.name);
        let (_, name) = name.unwrap_or_else(|| panic!("unknown name in the table: {acl}"));
        Acl { name: name.clone(), ..acl.clone() }
    };
    rules[purpose].iter().map(here).collect()
}

fn grant(acls: &[Acl]) -> Admin {
    let admin = Admin::new(secure().broker.bootstrap()).expect("an admin client");
    acls.iter().for_each(|acl| admin.add_acl(acl).expect("allowed"));
    admin
}

fn send(scene: &Scene, sent: &[Sent]) {
    produce(&scene.bootstrap, &scene.raw(), sent, Timestamps::EventTime).expect("produced");
}

/// Repeats a command until it ends as expected and says all of these: rules reach the broker a
/// moment after they are made.
fn await_said(scene: &Scene, command: &[&str], sound: bool, words: &[&str]) -> String {
    let what =
        format!("{command:?} {} and says {words:?}", if sound { "is sound" } else { "fails" });
    wait_for(SOON, &what, || {
        let (found, said) = scene.command_with(CONFIG, command).expect("it runs");
        match found == sound && words.iter().all(|word| said.contains(word)) {
            true => Ok(said),
            false => Err(format!("success: {found}; it said:\n{said}")),
        }
    })
    .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_table_and_the_commands_of_the_document_say_the_same() {
    let set = |rules: &Rules| -> BTreeSet<String> {
        let lines = rules
            .iter()
            .flat_map(|(purpose, acls)| acls.iter().map(move |acl| format!("{purpose}: {acl}")));
        lines.collect()
    };
    let table = of_table(DOCUMENT, "User:gate").expect("the table");
    let commands = of_commands(DOCUMENT, "User:gate").expect("the commands");
    assert!(table.len() > 3, "{table:?}");
    assert_eq!(set(&table), set(&commands));
}

#[test]
fn a_run_over_tls_and_scram_to_the_end() {
    let scene = scene("tls", login("tls", "SCRAM-SHA-512"));
    grant(&rights("run", "tls", &scene));
    let sent = sample(401, Kind::Lab, 20_000);
    send(&scene, &sent);
    await_said(&scene, &["check"], true, &["check: 0 errors"]);
    let mut one = scene.start_with("one", CONFIG).expect("started");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
    let unsigned = "\"enable.sasl.oauthbearer.unsecure.jwt\" = true\n\
                    \"sasl.oauthbearer.config\" = \"principal=tls\"\n";
    for (mechanism, more) in [("SCRAM-SHA-256", ""), ("PLAIN", ""), ("OAUTHBEARER", unsigned)] {
        write_config(&scene, CONFIG, login("tls", mechanism) + more);
        await_said(&scene, &["check"], true, &["check: 0 errors"]);
    }
}

/// A listener that lets in who has a certificate of its authority, and nobody else.
#[test]
fn a_client_shows_its_certificate() {
    let security = Security::by_certificate().expect("certificates");
    let options = BrokerOptions { security: Some(security.clone()), ..BrokerOptions::default() };
    let broker = Broker::start(options).expect("a broker that wants certificates");
    let scene = Scene::new(&broker, &unique("certified"), SceneOptions::default());
    let scene = scene.expect("a scene");
    let admin = Admin::new(broker.bootstrap()).expect("an admin client");
    for acl in rights("run", "CN=localhost", &scene) {
        admin.add_acl(&acl).expect("allowed");
    }
    let trust = format!(
        "\"security.protocol\" = \"ssl\"\n\"ssl.ca.location\" = {:?}\n",
        security.ca().display().to_string()
    );
    let write = |lines: &str| {
        let bootstrap = Some(broker.secure_bootstrap().expect("a port with TLS"));
        let kafka_lines = format!("{trust}{lines}");
        let options = SceneOptions { bootstrap, kafka_lines, ..scene.options.clone() };
        scene.write_config(CONFIG, &options).expect("written");
    };
    write(&security.client_lines(true));
    await_said(&scene, &["check"], true, &["check: 0 errors"]);
    let sent = sample(403, Kind::Lab, 2_000);
    send(&scene, &sent);
    let mut one = scene.start_with("one", CONFIG).expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    assert_exact(&scene, &sent, &["one"]);
    for lines in [security.client_lines(false), String::new()] {
        write(&lines);
        let (found, said) =
            scene.command_with(CONFIG, &["check", "--timeout", "5s"]).expect("it runs");
        assert!(!found, "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("`ssl.certificate.location` in [kafka] must name"), "{said}");
    }
}

/// One clear line each, and an end with status 1.
#[test]
fn what_does_not_fit_is_said_in_one_line() {
    let scene = scene("unfit", login("tls", "SCRAM-SHA-512"));
    grant(&rights("run", "tls", &scene));
    await_said(&scene, &["check"], true, &["check: 0 errors"]);
    let Secure { security, .. } = secure();
    let other = |name: &str| security.folder().join(name).display().to_string();
    std::fs::write(other("wrong.password"), "MARK-4410-WRONG\n").expect("written");
    let (ca, other_ca) =
        (security.ca().display().to_string(), security.other_ca().display().to_string());
    let sound = login("tls", "SCRAM-SHA-512");
    let cases = [
        (
            sound.replace(&ca, &other_ca),
            &["certificate verify failed", "`ssl.ca.location` in [kafka] must name"][..],
        ),
        (
            sound.replace(&other("tls.password"), &other("wrong.password")),
            &["uthentication failed", "look at `sasl.username` and `sasl.password`"],
        ),
        (
            login("tls", "PLAIN").replace(&other("tls.password"), &other("wrong.password")),
            &["uthentication failed", "look at `sasl.username` and `sasl.password`"],
        ),
        (String::new(), &["`security.protocol` in [kafka] must be that of the brokers' listener"]),
        (
            sound.replace("sasl_ssl", "ssl"),
            &["`security.protocol` in [kafka] must be that of the brokers' listener"],
        ),
    ];
    for (lines, words) in cases {
        write_config(&scene, CONFIG, lines.clone());
        let (found, said) =
            scene.command_with(CONFIG, &["check", "--timeout", "5s"]).expect("it runs");
        assert!(!found, "{lines}\n{said}");
        assert_eq!(said.lines().count(), 1, "{lines}\n{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{words:?} of {lines}\n{said}");
        assert!(!said.contains("MARK-4410"), "{said}");
    }
    // `run` ends where the cluster said no, and else tries again, not ready.
    write_config(&scene, CONFIG, sound.replace(&ca, &other_ca));
    let mut one = scene.start_with("one", CONFIG).expect("started");
    let status = one.wait(SOON).expect("it ends");
    assert_eq!(status.code(), Some(1));
    assert!(
        one.log_text().contains("`ssl.ca.location` in [kafka] must name"),
        "{}",
        one.log_text()
    );
    write_config(&scene, CONFIG, String::new());
    let mut two = scene.start_with("two", CONFIG).expect("started");
    await_log(&scene, "two", "`security.protocol` in [kafka] must be", 1, SOON);
    assert!(scene.wait_readyz("two", 503, "").is_ok());
    end(&mut two);
}

/// With exactly the rights of the document it runs; without any one of them, a line names it.
#[test]
fn the_rights_to_run_are_enough_and_none_is_too_much() {
    let scene = scene("rights", login("gate", "SCRAM-SHA-512"));
    let acls = rights("run", "gate", &scene);
    let admin = grant(&acls);
    let sent = sample(402, Kind::Lab, 6_000);
    send(&scene, &sent[..4_000]);
    await_said(&scene, &["check"], true, &["check: 0 errors"]);
    let mut one = scene.start_with("one", CONFIG).expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    for acl in &acls {
        admin.remove_acl(acl).expect("taken away");
        let right = spelled(acl.operation);
        match acl.resource {
            Resource::TransactionalId => {
                let mut two = scene.start_with("two", CONFIG).expect("started");
                let id = format!("the transactional id {}", acl.name);
                await_log(&scene, "two", &id, 1, SOON);
                assert!(scene.log("two").contains(right), "{}", scene.log("two"));
                drop(two.kill9());
            }
            Resource::Cluster => {
                await_said(&scene, &["check"], true, &["warning: brokers: ", right, "cluster"]);
            }
            Resource::Topic | Resource::Group => {
                await_said(&scene, &["check"], false, &[&acl.name, right]);
            }
        }
        admin.add_acl(acl).expect("allowed");
    }
    await_said(&scene, &["check"], true, &["check: 0 errors"]);
    // A takeover of what is there already needs no more than the first one did.
    send(&scene, &sent[4_000..]);
    let mut one = scene.start_with("one", CONFIG).expect("started again");
    rest(&scene, &["one"]);
    assert_exact(&scene, &sent, &["one"]);
    end(&mut one);
    assert_agreement(&scene, &sent, &["one"]);
    acts(&scene);
}

/// The acts of a person need what `run` needs. They have nothing to do here, and say so.
fn acts(scene: &Scene) {
    let state = scene.state_dir("one").display().to_string();
    let who = ["--by", "J. Roe", "--because", "a test", "--state-dir", &state];
    for act in [
        &["accept-gap", "route", "--partition", "0"][..],
        &["skip", "route", "--partition", "0", "--to", "999999"],
        &["adopt", "route", "--partition", "0", "--at", "0"],
    ] {
        let (_, said) = scene.command_with(CONFIG, &[act, &who].concat()).expect("it runs");
        assert!(
            !said.contains("uthorization failed") && !said.contains("(docs/security"),
            "{said}"
        );
    }
}

fn spelled(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "READ",
        Operation::Write => "WRITE",
        Operation::Create => "CREATE",
        Operation::Describe => "DESCRIBE",
        Operation::DescribeConfigs => "DESCRIBE_CONFIGS",
    }
}

/// Runs one route to its end as the kit's own user, so that there is something to prove.
fn done(name: &str, seed: u64, user: &str) -> Scene {
    let scene = scene(name, login(user, "SCRAM-SHA-256"));
    send(&scene, &sample(seed, Kind::Lab, 4_000));
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    end(&mut one);
    scene
}

/// Each right by itself: without it one of the commands fails and names what it is about.
fn each_is_needed(scene: &Scene, admin: &Admin, acls: &[Acl], commands: &[&[&str]]) {
    for acl in acls {
        admin.remove_acl(acl).expect("taken away");
        let name = match acl.resource {
            Resource::Group => format!("the group {}", acl.name),
            _ => acl.name.clone(),
        };
        let what = format!("without {acl} one of {commands:?} fails and names it");
        let told = wait_for(SOON, &what, || {
            let mut all = String::new();
            for command in commands {
                let (sound, said) = scene.command_with(CONFIG, command).expect("it runs");
                if !sound && said.contains(&name) {
                    return Ok(());
                }
                all.push_str(&format!("{command:?}, success {sound}:\n{said}\n"));
            }
            Err(all)
        });
        told.unwrap_or_else(|error| panic!("{error}"));
        admin.add_acl(acl).expect("allowed");
    }
}

#[test]
fn the_rights_of_the_evidence_commands() {
    let scene = done("evidence", 403, "auditor");
    let acls = rights("evidence", "auditor", &scene);
    let admin = grant(&acls);
    const TIMEOUT: &str = "--timeout=5s";
    let commands = [
        &["reconcile", "route", TIMEOUT][..],
        &["verify", "route", TIMEOUT],
        &["quarantine", "list", "route", TIMEOUT],
    ];
    for command in commands {
        await_said(&scene, command, true, &[]);
    }
    each_is_needed(&scene, &admin, &acls, &commands);

    let acls = rights("survey", "auditor", &scene);
    let (evidence, survey) = (rights("evidence", "auditor", &scene), acls.clone());
    evidence.iter().for_each(|acl| admin.remove_acl(acl).expect("taken away"));
    survey.iter().for_each(|acl| admin.add_acl(acl).expect("allowed"));
    let raw = scene.raw();
    let command = ["survey", "--topic", &raw, "--recipe", "lab-result", TIMEOUT];
    await_said(&scene, &command, true, &[]);
    each_is_needed(&scene, &admin, &acls, &[&command]);
}

#[test]
fn the_rights_to_redrive() {
    let scene = done("redrive", 404, "redriver");
    let acls = rights("redrive", "redriver", &scene);
    let admin = grant(&acls);
    let command = ["quarantine", "redrive", "route", "--all", "--timeout=5s"];
    await_said(&scene, &command, true, &["raw records appended"]);
    each_is_needed(&scene, &admin, &acls, &[&command]);
}

#[test]
fn the_rights_to_make_topics() {
    let scene = scene("maker", login("maker", "SCRAM-SHA-512"));
    let acls = rights("topics apply", "maker", &scene);
    let admin = grant(&acls);
    let own = [scene.clean(), scene.quarantine(), scene.audit(), scene.journal()];
    let delete = || {
        for topic in &own {
            if admin.topic_id(topic).expect("an answer").is_some() {
                admin.delete(&[topic.as_str()]).expect("deleted");
            }
        }
    };
    delete();
    await_said(&scene, &["topics", "apply"], true, &["4 created, 0 not created, 0 different"]);
    await_said(&scene, &["topics", "diff"], true, &["0 missing, 0 different"]);
    for acl in &acls {
        delete();
        admin.remove_acl(acl).expect("taken away");
        std::thread::sleep(Duration::from_millis(200));
        each_fails(&scene, acl);
        admin.add_acl(acl).expect("allowed");
    }
}

fn each_fails(scene: &Scene, acl: &Acl) {
    for command in [["topics", "apply"], ["topics", "diff"]] {
        let (sound, said) = scene.command_with(CONFIG, &command).expect("it runs");
        if !sound && said.contains(&acl.name) {
            return;
        }
        println!("without {acl}: {command:?}, success {sound}: {said}");
    }
    panic!("nothing fails without {acl}");
}
