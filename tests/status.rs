//! `oncegate status` and the log format, at the program itself: exit status, and what is said where.
#![cfg(feature = "service")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

const READY: &str = r#"{"version":"0.1.0","instance":"gate-1","group":"g","ready":true,
    "waits_for":[],"uptime_seconds":5,"routes":[]}"#;

fn oncegate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncegate"));
    command.args(arguments).env_remove("ONCEGATE_LOG_FORMAT").env_remove("RUST_LOG");
    command.output().expect("the program runs")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A port that gives one answer to one question, and its URL.
fn answering(status: &'static str, body: String) -> (std::thread::JoinHandle<String>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a question");
        let mut asked = [0; 1024];
        let read = stream.read(&mut asked).expect("it is read");
        let answer = format!("HTTP/1.0 {status}\r\nContent-Type: application/json\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).expect("it is answered");
        said(&asked[..read])
    });
    (serving, url)
}

#[test]
fn the_exit_status_says_whether_it_is_ready() {
    let (serving, url) = answering("200 OK", READY.to_owned());
    let output = oncegate(&["status", "--url", &url]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    assert!(said(&output.stdout).starts_with("ready "), "{}", said(&output.stdout));
    assert!(serving.join().expect("it served").starts_with("GET /status HTTP/1.0\r\n"));

    let waits = READY.replace("true", "false").replace("[],\"up", "[\"lab/0: x\"],\"up");
    let (_serving, url) = answering("200 OK", waits.clone());
    let output = oncegate(&["status", "--json", "--url", &url]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said(&output.stdout).trim_end(), waits);
}

#[test]
fn what_cannot_be_reached_is_one_line() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it");
    let (_first, other) = answering("404 Not Found", String::new());
    let (_second, html) = answering("200 OK", "<html>".to_owned());
    for (url, word) in [
        (format!("http://{closed}"), "connection refused"),
        (other, "HTTP status 404"),
        (html, "does not answer as oncegate"),
    ] {
        let output = oncegate(&["status", "--url", &url]);
        let error = said(&output.stderr);
        assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
        assert!(error.contains(word) && error.contains(&url), "{error}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(oncegate(&["status", "--url", "https://x:1"]).status.code(), Some(2));
}

#[test]
fn a_configuration_says_where() {
    let (_serving, url) = answering("200 OK", READY.to_owned());
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("gate.toml");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let least = std::fs::read_to_string(root.join("tests/settings/least.toml")).expect("it");
    let recipes = format!("recipes_dir = {:?}", root.join("tests/settings/recipes"));
    // A process that listens everywhere is asked on this machine.
    let port = url.rsplit(':').next().expect("a port");
    let text = least
        .replace("[kafka]", &format!("{recipes}\n[http]\nlisten = \"0.0.0.0:{port}\"\n[kafka]"));
    std::fs::write(&config, text).expect("written");
    let output = oncegate(&["status", "--config", config.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
}

#[test]
fn what_ends_a_process_is_json_where_the_log_is() {
    let arguments = ["run", "--config", "no/such.toml", "--log-format"];
    let output = oncegate(&[&arguments[..], &["json"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let lines = said(&output.stderr);
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["level"], "ERROR");
        assert!(line["message"].as_str().expect("text").contains("no/such.toml"));
    }
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let output = oncegate(&[&arguments[..], &["human"]].concat());
    assert!(said(&output.stderr).starts_with("no/such.toml: "), "{}", said(&output.stderr));
    assert_eq!(oncegate(&[&arguments[..], &["xml"]].concat()).status.code(), Some(2));
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncegate"));
    command.args(&arguments[..3]).env("ONCEGATE_LOG_FORMAT", "");
    let error = said(&command.output().expect("it runs").stderr);
    assert!(error.starts_with("no/such.toml: "), "an empty variable is not set: {error}");
}

/// Set where the next test runs this one as a program of its own.
const PANICS: &str = "ONCEGATE_TEST_PANICS";

#[test]
fn child_that_panics() {
    if std::env::var_os(PANICS).is_none() {
        return;
    }
    oncegate::ops::logging::start(oncegate::ops::logging::LogFormat::Json);
    let text = String::from("éJANE-DOE-4410");
    let thread = std::thread::Builder::new().name("worker".to_owned());
    let thread = thread.spawn(move || text[1..].len()).expect("a thread");
    assert!(thread.join().is_err());
}

#[test]
fn a_panic_is_a_line_of_the_log_without_what_it_quotes() {
    let this = std::env::current_exe().expect("this test");
    let mut command = Command::new(this);
    command.args(["child_that_panics", "--exact", "--nocapture"]).env(PANICS, "1");
    let output = command.output().expect("it runs");
    let error = said(&output.stderr);
    let line =
        error.lines().find(|line| line.contains("panic")).unwrap_or_else(|| panic!("{error}"));
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!((&line["level"], &line["thread"]), (&"ERROR".into(), &"worker".into()));
    assert!(line["place"].as_str().expect("text").contains("tests/status.rs:"));
    assert!(line["message"].as_str().expect("text").starts_with("panic: "));
    assert!(!error.contains("JANE-DOE-4410"), "{error}");
}
