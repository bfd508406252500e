//! One Kafka node as a JVM process: its folder, its start, its end, and the faults it can suffer.
//! Knows nothing of the other nodes, nor how to tell that the cluster is ready.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::broker::guard::Guard;
use crate::broker::ports::Port;
use crate::error::{Doing, KitError, Result};
use crate::wait::wait_for;

const STOP_TIMEOUT: Duration = Duration::from_secs(90);
const LOG_LINES_SHOWN: usize = 15;

/// What a node is made of.
pub(super) struct NodePlan {
    pub id: usize,
    pub client_port: Port,
    pub controller_port: Port,
    /// The port of a second listener, and the one that its clients are told.
    pub behind_proxy: Option<(Port, u16)>,
    /// The port of a listener with TLS and SASL.
    pub secure_port: Option<Port>,
    pub folder: PathBuf,
    pub java: PathBuf,
    pub jars: PathBuf,
    pub heap_mb: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Down,
    Running,
    Frozen,
}

struct Process {
    state: State,
    child: Option<Child>,
}

/// One node of a local cluster, with the faults that a test can do to it.
pub struct Node {
    plan: NodePlan,
    guard: Arc<Guard>,
    process: Mutex<Process>,
}

impl Node {
    /// Formats the node's folder for the cluster, with further arguments of Kafka's tool. Nothing
    /// runs yet.
    pub(super) fn format(
        plan: NodePlan,
        guard: Arc<Guard>,
        properties: &str,
        cluster_id: &str,
        more: &[String],
    ) -> Result<Node> {
        let file = plan.folder.join("server.properties");
        fs::create_dir_all(&plan.folder)
            .and_then(|()| fs::write(&file, properties))
            .doing(|| format!("cannot write {}", file.display()))?;
        let output = java(&plan, "-Xmx128m")
            .args(["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c"])
            .arg(&file)
            .args(more)
            .output()
            .doing(|| format!("cannot run {}", plan.java.display()))?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            return Err(KitError::new(format!(
                "Kafka could not format {} ({}); it said:\n{}",
                plan.folder.display(),
                output.status,
                String::from_utf8_lossy(&said)
            )));
        }
        let process = Mutex::new(Process { state: State::Down, child: None });
        Ok(Node { plan, guard, process })
    }

    /// The node's id, as Kafka's metadata names it; the first is 1.
    pub fn id(&self) -> usize {
        self.plan.id
    }

    /// Where clients reach this node, as `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.plan.client_port.number())
    }

    /// Where clients reach its listener with TLS and SASL, if it has one.
    pub(super) fn secure_address(&self) -> Option<String> {
        self.plan.secure_port.as_ref().map(|port| format!("127.0.0.1:{}", port.number()))
    }

    /// Where the node's proxy has to forward to, if it has one.
    pub fn behind_proxy(&self) -> Option<std::net::SocketAddr> {
        let (port, _) = self.plan.behind_proxy.as_ref()?;
        Some((std::net::Ipv4Addr::LOCALHOST, port.number()).into())
    }

    /// The file with what the node says.
    pub fn log_path(&self) -> PathBuf {
        self.plan.folder.join("node.log")
    }

    /// The folder with the node's logs, one folder a partition: to be changed while it is down.
    pub fn data_dir(&self) -> PathBuf {
        self.plan.folder.join("data")
    }

    /// The id of its process, while there is one.
    pub fn process_id(&self) -> Option<u32> {
        self.lock().child.as_ref().map(Child::id)
    }

    /// Whether it runs and is not frozen.
    pub fn is_up(&self) -> bool {
        self.lock().state == State::Running
    }

    /// Starts the process, again on the same data and ports, and returns at once: see
    /// `Broker::start_again` for one that waits.
    pub fn launch(&self) -> Result<()> {
        let mut process = self.lock();
        if process.state != State::Down {
            return Err(self.wrong_state(process.state, "launched", "kill or terminate it first"));
        }
        let path = self.log_path();
        let log = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .doing(|| format!("cannot open {}", path.display()))?;
        let errors = log.try_clone().doing(|| format!("cannot open {}", path.display()))?;
        let mut command = java(&self.plan, &format!("-Xmx{}m", self.plan.heap_mb));
        command
            .arg("kafka.Kafka")
            .arg(self.plan.folder.join("server.properties"))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        self.guard.adopt(&mut command);
        let child = command.spawn().doing(|| "cannot start Kafka".to_owned())?;
        *process = Process { state: State::Running, child: Some(child) };
        Ok(())
    }

    /// SIGKILL: the node is gone at once, as after a power loss that spared the disk's cache.
    pub fn kill(&self) -> Result<()> {
        let mut process = self.lock();
        if let Some(mut child) = process.child.take() {
            process.state = State::Down;
            child.kill().doing(|| format!("cannot kill node {}", self.plan.id))?;
            child.wait().doing(|| format!("cannot wait for node {}", self.plan.id))?;
        }
        Ok(())
    }

    /// SIGTERM: the node shuts down in order; returns when it has.
    pub fn terminate(&self) -> Result<()> {
        let mut process = self.lock();
        if process.state == State::Frozen {
            return Err(self.wrong_state(process.state, "terminated", "thaw it first"));
        }
        self.signal(&process, libc::SIGTERM)?;
        let Some(child) = process.child.as_mut() else {
            return Ok(());
        };
        let what = format!("node {} has shut down", self.plan.id);
        wait_for(STOP_TIMEOUT, &what, || match child.try_wait() {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err("still running".to_owned()),
            Err(error) => Err(error.to_string()),
        })?;
        *process = Process { state: State::Down, child: None };
        Ok(())
    }

    /// SIGSTOP: the node keeps its connections and answers nothing.
    pub fn freeze(&self) -> Result<()> {
        let mut process = self.lock();
        self.signal(&process, libc::SIGSTOP)?;
        process.state = State::Frozen;
        Ok(())
    }

    /// SIGCONT: goes on after [`Node::freeze`].
    pub fn thaw(&self) -> Result<()> {
        let mut process = self.lock();
        self.signal(&process, libc::SIGCONT)?;
        process.state = State::Running;
        Ok(())
    }

    /// Why the process is not there any more although nobody ended it, with the end of its log.
    pub(super) fn died_by_itself(&self) -> Option<String> {
        let mut process = self.lock();
        let status = process.child.as_mut()?.try_wait().ok()??;
        *process = Process { state: State::Down, child: None };
        let how = match status.signal() {
            Some(signal) => format!("was ended by signal {signal}"),
            None => format!("ended by itself ({status})"),
        };
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let shown = lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n");
        Some(format!("Kafka node {} {how}; the end of its log:\n{shown}", self.plan.id))
    }

    fn signal(&self, process: &Process, signal: i32) -> Result<()> {
        let Some(child) = &process.child else {
            return Err(self.wrong_state(State::Down, "sent a signal", "launch it first"));
        };
        // SAFETY: kill has no memory effects; the child is not reaped, so the id is its own.
        if unsafe { libc::kill(child.id() as i32, signal) } == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        Err(KitError::new(format!("cannot send signal {signal} to node {}: {error}", self.plan.id)))
    }

    fn wrong_state(&self, state: State, verb: &str, remedy: &str) -> KitError {
        let id = self.plan.id;
        KitError::new(format!("node {id} is {state:?} and cannot be {verb}: {remedy}"))
    }

    // A test that panicked in another thread must still be able to end its brokers.
    fn lock(&self) -> std::sync::MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn java(plan: &NodePlan, heap: &str) -> Command {
    let classpath = Path::new(&plan.jars).join("*");
    let mut command = Command::new(&plan.java);
    command
        .arg(heap)
        .arg("-Xshare:auto")
        .arg("-Djava.awt.headless=true")
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        .arg("-Dorg.slf4j.simpleLogger.showDateTime=true")
        .arg("-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS")
        .arg("-cp")
        .arg(classpath)
        // Options meant for other JVMs must not reach this one.
        .env_remove("JAVA_TOOL_OPTIONS")
        .env_remove("CLASSPATH");
    command
}
