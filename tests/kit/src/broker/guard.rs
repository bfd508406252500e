//! Ends a group of processes and removes their folder when this process is gone, however it
//! went, `kill -9` included. Knows nothing of Kafka.
//!
//! A small shell stands guard: it waits for the end of a pipe whose other end only this process
//! holds, so the kernel tells it. `PR_SET_PDEATHSIG` would not do: it fires when the *thread*
//! that spawned the child ends, and test threads end early.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Doing, Result};

// `read` returns at the end of the pipe. The last act runs in a session of its own, because the
// guard belongs to the group that it kills.
const WATCH: &str = r#"
trap '' INT TERM HUP
read -r line
exec setsid sh -c 'kill -s KILL -- "-$0"; if [ -n "$1" ]; then rm -rf -- "$1"; fi; sh -c "$2"' \
    "$$" "$1" "$2"
"#;

/// A process group that ends with this process.
pub struct Guard {
    shell: Child,
}

impl Guard {
    /// Starts the guard. When this process ends, the group is killed and `folder` is removed.
    pub fn start(folder: Option<&Path>) -> Result<Guard> {
        Guard::start_with_last_act(folder, "true")
    }

    /// As [`Guard::start`], and then runs `last_act`, a shell command.
    pub fn start_with_last_act(folder: Option<&Path>, last_act: &str) -> Result<Guard> {
        let folder = folder.map(|f| f.as_os_str().to_owned()).unwrap_or_default();
        let shell = Command::new("sh")
            .args(["-c", WATCH, "guard"])
            .arg(folder)
            .arg(last_act)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A group of its own: Ctrl-C at a terminal must not end the guard before its time.
            .process_group(0)
            .spawn()
            .doing(|| "cannot start `sh` to watch over child processes".to_owned())?;
        Ok(Guard { shell })
    }

    /// Makes a child that is about to start a member of the guarded group.
    pub fn adopt(&self, command: &mut Command) {
        command.process_group(self.shell.id() as i32);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The guard dies with its group, or exits where setsid fails; both are fine here.
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::time::Duration;

    use super::*;
    use crate::wait::wait_until;

    #[test]
    fn the_group_is_killed_and_the_folder_removed_when_the_pipe_ends() {
        let folder = tempfile::tempdir().unwrap();
        let (guarded, witness) = (folder.path().join("guarded"), folder.path().join("witness"));
        std::fs::create_dir(&guarded).unwrap();
        let last_act = format!("touch {}", witness.display());
        let guard = Guard::start_with_last_act(Some(&guarded), &last_act).unwrap();
        // Ignores what can be ignored, and is frozen besides: only SIGKILL ends it.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM HUP INT; kill -s STOP $$; exec sleep 600"]);
        guard.adopt(&mut command);
        let mut child = command.spawn().unwrap();
        drop(guard);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
        let soon = Duration::from_secs(20);
        wait_until(soon, "the last act is done", || witness.exists()).unwrap();
        assert!(!guarded.exists());
    }
}
