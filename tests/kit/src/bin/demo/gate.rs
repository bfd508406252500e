//! The gate's commands and processes, as an operator runs them: by command line, readiness over
//! HTTP, and signals. Must not be in here: what a process does between.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use oncegate_testkit::error::Doing;
use oncegate_testkit::generator::Kind;
use oncegate_testkit::process::{Process, ProcessOptions};
use oncegate_testkit::wait::wait_for;
use oncegate_testkit::{KitError, Result};

use crate::progress::Progress;
use crate::stage::Stage;

const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// `shutdown` is 25 s where nothing else is set.
const END_TIMEOUT: Duration = Duration::from_secs(40);
const HTTP_TIMEOUT: Duration = Duration::from_secs(5);

/// The binary with this run's configuration.
pub struct Gate {
    binary: PathBuf,
    bootstrap: String,
    config: PathBuf,
    folder: PathBuf,
}

/// A process of the gate on its own state directory.
pub struct Member {
    name: &'static str,
    process: Process,
    /// How much of the log earlier processes of this name wrote.
    log_from: usize,
}

impl Gate {
    /// For this stage.
    pub fn new(binary: PathBuf, stage: &Stage) -> Gate {
        Gate {
            binary,
            bootstrap: stage.bootstrap.clone(),
            config: stage.config.clone(),
            folder: stage.folder.clone(),
        }
    }

    /// Runs a command to its end, which must be a good one, and shows its last line.
    pub fn command(&self, words: &[&str], progress: &Progress) -> Result<()> {
        let log = self.folder.join(format!("{}.log", words.join("-")));
        let mut process = Process::start(&self.options(words, log))?;
        let status = process.wait(COMMAND_TIMEOUT)?;
        let (said, words) = (process.log_text(), words.join(" "));
        if !status.success() {
            return Err(KitError::new(format!("oncegate {words} ended with {status}:\n{said}")));
        }
        let last = said.lines().last().unwrap_or_default();
        progress.say(format!("oncegate {words}: {}", last.rsplit(": ").next().unwrap_or(last)));
        Ok(())
    }

    /// Starts a process; one of the same name goes on from the same state directory.
    pub fn start(&self, name: &'static str) -> Result<Member> {
        let log = self.folder.join(format!("{name}.log"));
        let log_from = std::fs::metadata(&log).map_or(0, |log| log.len() as usize);
        let mut options = self.options(&["run"], log);
        let state = self.folder.join(format!("state-{name}"));
        options.arguments.extend(["--state-dir".into(), state.into_os_string()]);
        options.arguments.extend(["--listen".into(), "127.0.0.1:0".into()]);
        Ok(Member { name, process: Process::start(&options)?, log_from })
    }

    /// Waits until the process says that it is ready and holds partitions of every route.
    pub fn wait_ready(&self, member: &mut Member) -> Result<()> {
        let what = format!("process {} is ready and holds partitions of each route", member.name);
        let waited = wait_for(READY_TIMEOUT, &what, || {
            if !member.is_running() {
                return Ok(false);
            }
            let address = member.address().ok_or("it does not listen yet")?;
            let said = readiness(&address).map_err(|error| error.to_string())?;
            if said != "ready\n" {
                return Err(said);
            }
            match Kind::ALL.iter().find(|kind| member.partitions(**kind).is_empty()) {
                Some(kind) => Err(format!("it has no partition of {kind} yet")),
                None => Ok(true),
            }
        });
        match waited {
            Ok(true) => Ok(()),
            Ok(false) => Err("it ended".to_owned()),
            Err(error) => Err(error.to_string()),
        }
        .doing(|| format!("process {} does not run: {}", member.name, member.end_of_log()))
    }

    fn options(&self, words: &[&str], log: PathBuf) -> ProcessOptions {
        let mut options = ProcessOptions::new(words.iter().copied(), log);
        options.arguments.extend(["--config".into(), self.config.clone().into_os_string()]);
        options.arguments.extend(["--bootstrap".into(), self.bootstrap.clone().into()]);
        options.binary = Some(self.binary.clone());
        options
    }
}

impl Member {
    /// Its name, which is also that of its log and state directory.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    /// The last lines that it said.
    pub fn end_of_log(&self) -> String {
        self.process.end_of_log()
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill9(&mut self) -> Result<()> {
        self.process.kill9().map(|_| ())
    }

    /// SIGTERM, and waits for the orderly end.
    pub fn end(&mut self) -> Result<()> {
        self.process.terminate()?;
        let status = self.process.wait(END_TIMEOUT)?;
        if status.success() {
            return Ok(());
        }
        let (name, log) = (self.name, self.end_of_log());
        Err(KitError::new(format!("process {name} ended with {status} after SIGTERM; {log}")))
    }

    /// The partitions of a route that it holds, by its own log.
    pub fn partitions(&self, kind: Kind) -> BTreeSet<i32> {
        held(&self.log(), kind)
    }

    /// The address that it says it listens on.
    pub fn address(&self) -> Option<String> {
        let log = self.log();
        let line = log.lines().find(|line| line.contains("listening for"))?;
        word_after(line, "bound=").map(str::to_owned)
    }

    /// What this process said, earlier ones of its name left out.
    fn log(&self) -> String {
        self.process.log_text().split_off(self.log_from)
    }
}

/// Reads takeovers and revocations of a route in a log.
fn held(log: &str, kind: Kind) -> BTreeSet<i32> {
    let route = format!("route=\"{kind}\"");
    let mut held = BTreeSet::new();
    for line in log.lines().filter(|line| line.contains(&route)) {
        if line.contains(" taken over ") {
            held.extend(word_after(line, " partition=").and_then(|word| word.parse::<i32>().ok()));
        } else if line.contains(" partitions revoked ") {
            let list = line.split_once(" partitions=[").map_or("", |(_, rest)| rest);
            let list = list.split(']').next().unwrap_or_default();
            for partition in list.split(", ").filter_map(|number| number.parse().ok()) {
                held.remove(&partition);
            }
        }
    }
    held
}

/// The word that follows a mark.
fn word_after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.split_once(mark)?.1.split_whitespace().next()
}

/// What `/readyz` says.
fn readiness(address: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(HTTP_TIMEOUT))?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_taken_over_and_not_revoked() {
        let log = "INFO oncegate: taken over route=\"lab\" topic=\"lab.raw\" partition=0 offset=0\n\
                   INFO oncegate: taken over route=\"lab\" topic=\"lab.raw\" partition=3 offset=0\n\
                   INFO oncegate: taken over route=\"epcis\" topic=\"epcis.raw\" partition=1 a=1\n\
                   INFO oncegate: partitions revoked route=\"lab\" partitions=[0, 1]\n";
        assert_eq!(held(log, Kind::Lab), BTreeSet::from([3]));
        assert_eq!(held(log, Kind::Epcis), BTreeSet::from([1]));
        assert_eq!(held(log, Kind::Inventory), BTreeSet::new());
    }
}
