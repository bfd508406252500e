//! The configuration as people meet it: split over files, shown as it holds, and its page of
//! reference. Every secret is `hunter2`.
#![cfg(feature = "service")]

use clap::CommandFactory;
use oncegate::cli::Cli;
use oncegate::settings::{Overrides, Settings, reference, show};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SECRET: &str = "hunter2";
const PAGE: &str = "docs/configuration.md";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn split(files: &[&str]) -> Vec<PathBuf> {
    files.iter().map(|file| root().join("tests/settings/split").join(file)).collect()
}

/// The faults, with file names alone.
fn faults(paths: &[PathBuf]) -> Vec<String> {
    let faults = Settings::load_all(paths, &Overrides::default()).err().expect("faults");
    let folder = format!("{}/", root().join("tests/settings/split").display());
    faults.faults().iter().map(|fault| fault.to_string().replace(&folder, "")).collect()
}

fn shown(paths: &[PathBuf], overrides: &Overrides) -> String {
    let (settings, given) =
        Settings::load_all(paths, overrides).unwrap_or_else(|faults| panic!("{faults}"));
    show(&settings, &given, overrides)
}

#[test]
fn files_and_directories_make_one_configuration() {
    let dir = split(&[""]);
    let named = split(&["10-base.toml", "20-lab.toml", "30-serials.toml"]);
    for paths in [dir, named] {
        let settings = Settings::load_all(&paths, &Overrides::default());
        let (settings, _) = settings.unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(settings.files.len(), 3);
        assert_eq!(settings.group, "pharmacy");
        assert_eq!((settings.store_memory_bytes, settings.store_left_bytes), (1 << 30, 1 << 30));
        let names: Vec<&str> = settings.routes.iter().map(|route| route.name.as_str()).collect();
        assert_eq!(names, ["lab", "serials"]);
        assert_eq!(settings.routes[1].batch.records, 7);
        assert_eq!(settings.kafka.get("sasl.password"), Some(SECRET));
    }
}

#[test]
fn what_two_files_say_is_a_fault_that_names_both_places() {
    let [lab, again] = ["20-lab.toml", "more/again.toml"];
    let told = faults(&split(&["10-base.toml", lab, "30-serials.toml", again]));
    assert_eq!(
        told,
        [
            "more/again.toml:2: `group` is set in two files; the other is 10-base.toml:2",
            "more/again.toml:3: `route` is set in two files; the other is 20-lab.toml:10",
            "more/again.toml:4: `memory` is set in two files; the other is 10-base.toml:10",
        ]
    );
    // Of a property that is written in two ways, only the section itself can tell.
    let text = std::fs::read_to_string(&split(&[again])[0]).unwrap();
    let section = &text[text.find("[kafka]").unwrap()..];
    let folder = tempfile::tempdir().unwrap();
    let only = folder.path().join("kafka.toml");
    std::fs::write(&only, section).unwrap();
    let mut paths = split(&["10-base.toml", lab, "30-serials.toml"]);
    paths.push(only.clone());
    let told = faults(&paths);
    let only = only.display();
    assert_eq!(
        told,
        [
            format!(
                "{only}:2: `bootstrap.servers` is set twice, once under another name; see 10-base.toml:7"
            ),
            format!(
                "{only}:3: `sasl.password` is set twice, once under another name; see 20-lab.toml:5"
            ),
        ]
    );
}

#[test]
fn rules_between_routes_hold_over_files() {
    let told = faults(&split(&["10-base.toml", "20-lab.toml", "more/route.toml"]));
    let expected =
        "more/route.toml:2: there are two routes `lab`; the other is named in 20-lab.toml:11";
    assert_eq!(told, [expected]);
    let told = faults(&split(&["10-base.toml", "30-serials.toml", "more/route.toml"]));
    let expected = "more/route.toml:3: the raw topic `serials.clean` has another role already; it is the clean topic of route `serials` (30-serials.toml:4)";
    assert_eq!(told, [expected]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let told = faults(&split(&["10-base.toml", "no-such.toml", "../faulty-nothing"]));
    assert!(told[0].starts_with("../faulty-nothing: the file cannot be read: "), "{told:?}");
    assert!(told[1].starts_with("no-such.toml: the file cannot be read: "), "{told:?}");
    let empty = tempfile::tempdir().unwrap();
    std::fs::write(empty.path().join(".hidden.toml"), "no TOML").unwrap();
    let told = faults(&[empty.path().to_owned()]);
    assert!(told[0].ends_with("there is no `*.toml` file in the directory"), "{told:?}");
}

#[test]
fn what_is_shown_is_what_holds() {
    for paths in [
        split(&[""]),
        vec![root().join("config/oncegate.toml")],
        vec![root().join("tests/settings/sound.toml")],
    ] {
        let first = shown(&paths, &Overrides::default());
        assert!(!first.contains(SECRET), "{first}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shown.toml");
        // A password is shown nowhere, so the copy gets another one.
        let copy =
            first.replace("# \"sasl.password\" is set and hidden", "\"sasl.password\" = \"x\"");
        std::fs::write(&path, copy).unwrap();
        let load = |paths: &[PathBuf]| {
            let loaded = Settings::load_all(paths, &Overrides::default());
            loaded.unwrap_or_else(|faults| panic!("{faults}\n{first}")).0
        };
        let (given, again) = (load(&paths), load(std::slice::from_ref(&path)));
        assert_eq!(bare(&first), bare(&shown(&[path], &Overrides::default())));
        assert_eq!(given.group, again.group);
        assert_eq!(given.store_memory_bytes, again.store_memory_bytes);
        assert_eq!(given.store_left_bytes, again.store_left_bytes);
        assert_eq!(given.http_listen, again.http_listen);
        assert_eq!(given.routes.len(), again.routes.len());
        for (one, other) in given.routes.iter().zip(&again.routes) {
            assert_eq!((&one.name, &one.raw, &one.clean), (&other.name, &other.raw, &other.clean));
            assert_eq!((&one.quarantine, &one.audit), (&other.quarantine, &other.audit));
            assert_eq!(one.window_micros, other.window_micros);
            assert_eq!(one.future_micros_max, other.future_micros_max);
            assert_eq!((one.conflict, one.arrival), (other.conflict, other.arrival));
            assert_eq!((one.keep_timestamp, one.workers), (other.keep_timestamp, other.workers));
            assert_eq!(one.batch, other.batch);
            assert_eq!(one.session_timeout_ms, other.session_timeout_ms);
            assert_eq!(one.transaction_timeout_ms, other.transaction_timeout_ms);
            assert_eq!(one.shutdown_ms, other.shutdown_ms);
        }
    }
}

/// The lines without the places behind them; paths and comments differ from copy to copy.
fn bare(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.contains("_dir = "));
    let lines = lines.filter(|line| !line.contains("sasl.password"));
    lines.map(|line| line.split(" # ").next().unwrap_or(line)).collect()
}

#[test]
fn each_setting_is_shown_with_its_place() {
    let overrides = Overrides {
        instance: Some("gate-2".to_owned()),
        bootstrap: Some("other:1".to_owned()),
        ..Overrides::default()
    };
    let text = shown(&split(&[""]), &overrides);
    let folder = format!("{}/", root().join("tests/settings/split").display());
    let text = text.replace(&folder, "");
    for line in [
        "group = \"pharmacy\" # 10-base.toml:2",
        "instance = \"gate-2\" # --instance",
        "listen = \"127.0.0.1:9464\"",
        "memory = \"1GiB\" # 10-base.toml:10",
        "left = \"1GiB\" # 20-lab.toml:8",
        "\"bootstrap.servers\" = \"other:1\" # --bootstrap or ONCEGATE_BOOTSTRAP",
        "\"sasl.username\" = \"gate\" # 20-lab.toml:4",
        "# \"sasl.password\" is set and hidden # 20-lab.toml:5",
        "# \"linger.ms\" = \"5\", for producers",
        "quarantine = \"pharmacy.lab.quarantine\"",
        "# window is not set: nothing is forgotten",
        "# max_future is not set, and counts only with `window`",
        "conflict = \"quarantine\"",
        "records = 7 # 30-serials.toml:6",
        "wait = \"50ms\"",
    ] {
        assert!(text.lines().any(|shown| shown == line), "not shown: {line}\n{text}");
    }
}

#[test]
fn the_page_of_reference_is_that_of_the_code() {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    assert!(
        page == reference(),
        "{PAGE} is not what the code says; run: oncegate config reference > {PAGE}"
    );
}

#[test]
fn every_key_that_a_section_knows_is_on_the_page() {
    let page = reference();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unknown.toml");
    let unknown = "zzz = 1\n[http]\nzzz = 1\n[store]\nzzz = 1\n[[route]]\nzzz = 1\n\
                   [route.batch]\nzzz = 1\n[route.timeouts]\nzzz = 1\n";
    std::fs::write(&path, unknown).unwrap();
    let told = faults(&[path]);
    let mut sections = 0;
    for fault in told.iter().filter(|fault| fault.contains("unknown key `zzz`")) {
        let (place, known) = fault.split_once("; known are ").expect("the known keys");
        let heading = match place {
            _ if place.contains("[http]") => "## [http]",
            _ if place.contains("[store]") => "## [store]",
            _ if place.contains("`batch`") => "## [route.batch]",
            _ if place.contains("`timeouts`") => "## [route.timeouts]",
            _ if place.contains("[[route]]") => "## [[route]]",
            _ => "## Outside of any section",
        };
        let from = page.find(&format!("{heading}\n")).unwrap_or_else(|| panic!("{heading}"));
        let section = &page[from + heading.len()..];
        let section = &section[..section.find("\n## ").unwrap_or(section.len())];
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let told: BTreeSet<&str> = rows.collect();
        let tables = ["http", "store", "kafka", "route", "batch", "timeouts"];
        let keys = known.split('`').skip(1).step_by(2).filter(|key| !tables.contains(key));
        assert_eq!(told, keys.collect(), "{heading}");
        sections += 1;
    }
    assert_eq!(sections, 6, "{told:#?}");
}

#[test]
fn every_variable_and_override_of_the_command_line_is_on_the_page() {
    let page = reference();
    let command = Cli::command();
    let (mut variables, mut options) = (BTreeSet::new(), BTreeSet::new());
    let mut left = vec![&command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands());
        for argument in command.get_arguments() {
            variables.extend(argument.get_env().map(|name| format!("`{}`", name.display())));
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            if help.contains("in place of `") {
                options.extend(argument.get_long().map(|name| format!("`--{name}`")));
            }
        }
    }
    assert!(!variables.is_empty() && options.len() > 3, "{variables:?} {options:?}");
    for told in variables.iter().chain(&options) {
        assert!(page.contains(told), "{told} is not on the page");
    }
    for row in page.lines().filter(|line| line.contains("| `--")) {
        let option = row.split('|').nth(2).unwrap().trim();
        assert!(options.contains(option), "{option} is on the page, and is no option");
    }
}

#[test]
fn a_secret_of_a_file_is_in_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    write("secret", SECRET);
    let base = write(
        "gate.toml",
        "group = \"g\"\n[kafka]\n\"bootstrap.servers\" = \"localhost:1\"\n\
         \"linger.ms\" = \"${file:secret}\"\n\"ssl.ca.location\" = \"${file:secret}\"\n\
         \"security.protocol\" = \"${file:secret}\"\n\"client.id\" = \"${file:no-such}\"\n",
    );
    let told = faults(&[base]);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told.iter().all(|fault| !fault.contains(SECRET)), "{told:?}");
    let dir = Path::new(folder.path()).join("no-such");
    assert!(told.iter().any(|fault| fault.contains(&dir.display().to_string())), "{told:?}");
}
