//! The Dockerfile: what it runs, as whom, and on what.

use super::{command, read, run_args};

/// The arguments of an instruction in its JSON form, in each stage that has it.
fn json_form(instruction: &str) -> Vec<Vec<String>> {
    let text = read("Dockerfile").replace("\\\n", " ");
    let start = format!("{instruction} ");
    let of_line = |line: &str| {
        let rest = line.strip_prefix(&start)?;
        serde_json::from_str(&rest[rest.find('[')?..]).ok()
    };
    text.lines().filter_map(of_line).collect()
}

#[test]
fn the_image_runs_oncegate_and_nobodys_root() {
    let text = read("Dockerfile");
    assert_eq!(json_form("ENTRYPOINT"), [["traffic"], ["oncegate"]]);
    let commands = json_form("CMD");
    let args = run_args(&commands[1]);
    assert_eq!(args.config.config, [std::path::Path::new("/etc/oncegate/oncegate.toml")]);
    let state = args.state_dir.expect("a state directory");
    assert_eq!(json_form("VOLUME"), [[state.to_str().unwrap()]]);
    let port = args.listen.expect("an address").port();
    assert!(text.contains(&format!("EXPOSE {port}\n")));
    assert_eq!(text.matches("\nUSER 10001:10001\n").count(), 2, "in each of the two images");
}

#[test]
fn the_build_is_the_one_of_the_makefile() {
    assert!(read("Dockerfile").contains("cargo build --release --workspace --locked "));
    assert!(read("Makefile").contains("BUILD := $(CARGO) build --release --workspace --locked\n"));
    // What the final images need and `.dockerignore` must not keep out.
    let ignored = read(".dockerignore");
    for needed in ["src", "config", "tests", "benches", "examples", "topics", "Cargo.lock"] {
        assert!(!ignored.lines().any(|line| line.trim_end_matches('/') == needed), "{needed}");
    }
}

#[test]
fn the_health_check_is_a_command_that_there_is() {
    let text = read("Dockerfile").replace("\\\n", " ");
    let line = text.lines().find(|line| line.starts_with("HEALTHCHECK ")).expect("a health check");
    let words: Vec<String> =
        serde_json::from_str(&line[line.find("CMD ").expect("a command") + 4..]).expect("JSON");
    assert_eq!(words[0], "oncegate");
    assert!(format!("{:?}", command(&words[1..])).starts_with("Status"));
    let compose = super::yaml::document("docker-compose.yml");
    let test = super::yaml::texts(&compose, "/services/oncegate/healthcheck/test");
    assert_eq!(test[1..], words);
}
