//! Nothing outlives its parent: a local cluster ends with the process that started it, also
//! when that is killed and can do nothing about it.

use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use oncegate_testkit::process::{Process, ProcessOptions};
use oncegate_testkit::wait::{wait_for, wait_until};

const START_TIMEOUT: Duration = Duration::from_secs(300);
/// Short, because a broker whose data folder is gone ends by itself after some 15 s: that would
/// not be the guard's work.
const END_TIMEOUT: Duration = Duration::from_secs(8);

#[test]
fn a_cluster_ends_with_its_parent_also_on_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let announced = folder.path().join("ready");
    let arguments = ["--local", "--announce", announced.to_str().unwrap()];
    let mut options = ProcessOptions::new(arguments, folder.path().join("log"))
        // The data folder of the cluster goes in here, where it can be looked for.
        .variable("TMPDIR", folder.path());
    options.binary = Some(PathBuf::from(env!("CARGO_BIN_EXE_broker")));
    let mut broker = Process::start(&options).unwrap();
    let said = wait_for(START_TIMEOUT, "the broker is announced", || {
        std::fs::read_to_string(&announced).map_err(|_| broker.end_of_log())
    })
    .unwrap();
    let address = said.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap();
    assert!(TcpStream::connect(address).is_ok(), "{address}");
    let data = std::fs::read_dir(folder.path())
        .unwrap()
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_string_lossy().starts_with("oncegate-kafka-"));
    let data = data.expect("the cluster's data folder").path();

    broker.kill9().unwrap();

    wait_until(END_TIMEOUT, "the broker's port is closed", || TcpStream::connect(address).is_err())
        .unwrap();
    wait_until(END_TIMEOUT, "its data folder is gone", || !data.exists()).unwrap();
    wait_until(END_TIMEOUT, "no process knows the folder", || {
        processes().iter().all(|command| !command.contains(data.to_str().unwrap()))
    })
    .unwrap();
}

/// The command lines of all processes.
fn processes() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|command| String::from_utf8_lossy(&command).into_owned())
        .collect()
}
