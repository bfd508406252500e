//! A process of oncegate as a child of a test, and the faults that it can suffer. Knows nothing
//! of what it does.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::broker::Guard;
use crate::error::{Doing, KitError, Result};
use crate::wait::wait_for;

/// Names the binary to run instead of the one beside the test.
pub const BINARY_VARIABLE: &str = "ONCEGATE_BIN";

const LOG_LINES_SHOWN: usize = 20;

/// How to run the process.
#[derive(Clone, Debug, Default)]
pub struct ProcessOptions {
    /// The binary; without it the one that `ONCEGATE_BIN` names, else `oncegate` in the folder
    /// that the test was built into.
    pub binary: Option<PathBuf>,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables beyond those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// Its working folder; without it this process's.
    pub folder: Option<PathBuf>,
    /// Where its standard output and error go, appended.
    pub log: PathBuf,
}

impl ProcessOptions {
    /// Runs with these arguments; what it says goes to `log`.
    pub fn new<A: Into<OsString>>(
        arguments: impl IntoIterator<Item = A>,
        log: impl Into<PathBuf>,
    ) -> ProcessOptions {
        ProcessOptions {
            arguments: arguments.into_iter().map(Into::into).collect(),
            log: log.into(),
            ..ProcessOptions::default()
        }
    }

    /// Sets a variable.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }
}

/// A running process. Killed when this value is dropped, and when the test is killed.
pub struct Process {
    child: Child,
    log: PathBuf,
    status: Option<ExitStatus>,
    _guard: Guard,
}

impl Process {
    /// Starts it.
    pub fn start(options: &ProcessOptions) -> Result<Process> {
        let binary = match &options.binary {
            Some(binary) => binary.clone(),
            None => default_binary()?,
        };
        let log = File::options()
            .create(true)
            .append(true)
            .open(&options.log)
            .doing(|| format!("cannot open {}", options.log.display()))?;
        let errors = log.try_clone().doing(|| "cannot share the log".to_owned())?;
        let guard = Guard::start(None)?;
        let mut command = Command::new(&binary);
        command
            .args(&options.arguments)
            .envs(options.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        if let Some(folder) = &options.folder {
            command.current_dir(folder);
        }
        guard.adopt(&mut command);
        let child = command.spawn().doing(|| {
            format!(
                "cannot run {} (build it with `cargo build --release`, or name it in \
                 {BINARY_VARIABLE})",
                binary.display()
            )
        })?;
        Ok(Process { child, log: options.log.clone(), status: None, _guard: guard })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.poll().is_none()
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill9(&mut self) -> Result<ExitStatus> {
        self.signal(libc::SIGKILL)?;
        self.wait(Duration::from_secs(30))
    }

    /// SIGSTOP: it keeps its connections and does nothing.
    pub fn freeze(&mut self) -> Result<()> {
        self.signal(libc::SIGSTOP)
    }

    /// SIGCONT after [`Process::freeze`].
    pub fn thaw(&mut self) -> Result<()> {
        self.signal(libc::SIGCONT)
    }

    /// SIGTERM; see [`Process::wait`] for its end.
    pub fn terminate(&mut self) -> Result<()> {
        self.signal(libc::SIGTERM)
    }

    /// Waits until it ends.
    pub fn wait(&mut self, timeout: Duration) -> Result<ExitStatus> {
        let what = format!("process {} has ended", self.id());
        let waited = wait_for(timeout, &what, || self.poll().ok_or_else(String::new));
        waited.map_err(|error| KitError::new(format!("{error}\n{}", self.end_of_log())))
    }

    /// What it has said so far.
    pub fn log_text(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines that it said, for messages.
    pub fn end_of_log(&self) -> String {
        let text = self.log_text();
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..];
        format!("the end of {}:\n{}", self.log.display(), shown.join("\n"))
    }

    fn poll(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    fn signal(&mut self, signal: i32) -> Result<()> {
        if let Some(status) = self.poll() {
            return Err(KitError::new(format!(
                "process {} cannot be sent signal {signal}, it has ended ({status}); {}",
                self.id(),
                self.end_of_log()
            )));
        }
        // SAFETY: kill has no memory effects; the child is not reaped, so the id is its own.
        if unsafe { libc::kill(self.child.id() as i32, signal) } == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        Err(KitError::new(format!("cannot send signal {signal} to {}: {error}", self.id())))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.poll().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The binary that `ONCEGATE_BIN` names, else the one built beside the running test.
pub fn default_binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(BINARY_VARIABLE).filter(|named| !named.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    let own = std::env::current_exe().doing(|| "cannot tell the path of the test".to_owned())?;
    let folder = own.parent().unwrap_or(Path::new("."));
    // Test binaries stand in `deps` below the folder of the binaries.
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    let binary = folder.join("oncegate");
    if binary.is_file() {
        return Ok(binary);
    }
    Err(KitError::new(format!(
        "there is no {}: run `cargo build --release` first, or name the binary in \
         {BINARY_VARIABLE}",
        binary.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_until;

    fn shell(script: &str, log: &Path) -> Process {
        let mut options = ProcessOptions::new(["-c", script], log);
        options.binary = Some(PathBuf::from("/bin/sh"));
        Process::start(&options).unwrap()
    }

    #[test]
    fn runs_tells_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell("echo said; exit 3", &folder.path().join("log"));
        let status = process.wait(Duration::from_secs(20)).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(process.log_text(), "said\n");
        assert!(process.terminate().unwrap_err().to_string().contains("has ended"));
    }

    #[test]
    fn is_frozen_thawed_and_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell("exec sleep 600", &folder.path().join("log"));
        let state = |process: &Process| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
            stat.rsplit(')').next().unwrap().trim().chars().next().unwrap()
        };
        let soon = Duration::from_secs(20);
        process.freeze().unwrap();
        wait_until(soon, "it is stopped", || state(&process) == 'T').unwrap();
        process.thaw().unwrap();
        wait_until(soon, "it goes on", || state(&process) != 'T').unwrap();
        assert_eq!(process.kill9().unwrap().code(), None);
    }

    #[test]
    fn a_wait_in_vain_shows_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell("echo working; exec sleep 600", &folder.path().join("log"));
        wait_until(Duration::from_secs(20), "it speaks", || !process.log_text().is_empty())
            .unwrap();
        let error = process.wait(Duration::from_millis(50)).unwrap_err().to_string();
        assert!(error.contains("has ended") && error.contains("working"), "{error}");
    }
}
