//! Where the chaos plays: three brokers, each behind a proxy, one route, and three processes of
//! the gate that an orchestrator would start again.
//! Must not be in here: which fault comes when.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::broker::{Broker, BrokerOptions};
use crate::chaos::proxy::Proxy;
use crate::error::{KitError, Result};
use crate::generator::Kind;
use crate::process::Process;
use crate::scene::{Scene, SceneOptions};
use crate::wait::wait_for;

/// Partitions of every topic.
pub const PARTITIONS: i32 = 6;
/// Brokers and processes.
pub const MEMBERS: usize = 3;
/// Session time-out of the gate.
pub const SESSION: Duration = Duration::from_secs(3);
/// Transaction time-out of the gate.
pub const TRANSACTION: Duration = Duration::from_secs(5);
/// How often the brokers look for transactions whose time is over; Kafka's default is 10 s.
pub const SCAN: Duration = Duration::from_secs(2);
/// How long an orderly end may take.
const END_TIMEOUT: Duration = Duration::from_secs(40);
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// The configuration that reaches the brokers through the proxies.
const CONFIG: &str = "proxied.toml";

/// Brokers, proxies, the route, and its processes.
pub struct Stage {
    /// The processes; first, so that they end first.
    members: Vec<Member>,
    /// The route, reached past the proxies.
    pub scene: Scene,
    /// The cluster.
    pub broker: Broker,
    /// One before each broker.
    pub proxies: Vec<Proxy>,
}

struct Member {
    name: String,
    process: Option<Process>,
    /// Whether it is meant to run.
    wanted: bool,
    exits: u64,
}

impl Stage {
    /// Starts brokers and proxies, makes the topics, and starts the processes.
    pub fn set() -> Result<Stage> {
        let proxies = (0..MEMBERS).map(|_| Proxy::start()).collect::<Result<Vec<_>>>()?;
        let options = BrokerOptions {
            brokers: MEMBERS,
            faults: true,
            proxies: proxies.iter().map(Proxy::port).collect(),
            ..BrokerOptions::default()
        }
        .property("transaction.abort.timed.out.transaction.cleanup.interval.ms", SCAN.as_millis());
        let broker = Broker::start(options)?;
        for (id, proxy) in (1..).zip(&proxies) {
            let node = broker.node(id)?.behind_proxy();
            proxy.forward_to(node.ok_or_else(|| KitError::new("a node without a second port"))?);
        }
        let bootstrap: Vec<String> =
            proxies.iter().map(|proxy| format!("127.0.0.1:{}", proxy.port())).collect();
        let options = SceneOptions {
            kind: Kind::Lab,
            partitions: PARTITIONS,
            batch_records: 500,
            session_ms: SESSION.as_millis() as u64,
            transaction_ms: TRANSACTION.as_millis() as u64,
            bootstrap: Some(bootstrap.join(",")),
            ..SceneOptions::default()
        };
        // Declares and creates past the proxies, as an operator would.
        let direct = SceneOptions { bootstrap: None, ..options.clone() };
        let scene = Scene::new(&broker, "chaos", direct)?;
        scene.write_config(CONFIG, &options)?;
        let members = (1..=MEMBERS).map(|number| Member {
            name: format!("gate-{number}"),
            process: None,
            wanted: false,
            exits: 0,
        });
        let members = members.collect();
        let mut stage = Stage { members, scene, broker, proxies };
        (0..MEMBERS).try_for_each(|member| stage.start(member))?;
        (0..MEMBERS).try_for_each(|member| stage.wait_ready(member))?;
        Ok(stage)
    }

    /// The name of a process, for lines.
    pub fn name(&self, member: usize) -> &str {
        &self.members[member].name
    }

    /// Starts a process on its state directory.
    pub fn start(&mut self, member: usize) -> Result<()> {
        let scene = &self.scene;
        let member = &mut self.members[member];
        // What the last start said would be taken for what this one says.
        let log = scene.dir.path().join(format!("{}.log", member.name));
        if log.exists() {
            let before = fs::read(&log).unwrap_or_default();
            let all = scene.dir.path().join(format!("{}.before.log", member.name));
            let kept = fs::OpenOptions::new().create(true).append(true).open(all);
            let _ = kept.and_then(|mut all| std::io::Write::write_all(&mut all, &before));
            let _ = fs::remove_file(&log);
        }
        member.process = Some(scene.start_with(&member.name, CONFIG)?);
        member.wanted = true;
        Ok(())
    }

    /// Waits until a process says that it is ready.
    pub fn wait_ready(&mut self, member: usize) -> Result<()> {
        let name = self.members[member].name.clone();
        let what = format!("{name} is ready");
        wait_for(READY_TIMEOUT, &what, || {
            self.tend().map_err(|error| error.to_string())?;
            match self.scene.get(&name, "/readyz") {
                Ok((200, _)) => Ok(()),
                Ok((status, body)) => Err(format!("{status} {body}")),
                Err(error) => Err(error.to_string()),
            }
        })
        .map_err(|error| KitError::new(format!("{error}\n{}", self.ends_of_logs())))
    }

    /// What an orchestrator does: starts a process again that ended by itself.
    pub fn tend(&mut self) -> Result<()> {
        for number in 0..self.members.len() {
            let member = &mut self.members[number];
            let runs = member.process.as_mut().is_some_and(Process::is_running);
            if member.wanted && !runs {
                member.exits += 1;
                self.start(number)?;
            }
        }
        Ok(())
    }

    /// How often processes ended by themselves.
    pub fn exits(&self) -> u64 {
        self.members.iter().map(|member| member.exits).sum()
    }

    /// SIGKILL of a process; gives its state directory.
    pub fn kill(&mut self, member: usize) -> Result<PathBuf> {
        self.running(member)?.kill9()?;
        let member = &mut self.members[member];
        member.wanted = false;
        Ok(self.scene.state_dir(&member.name))
    }

    /// SIGSTOP of a process.
    pub fn freeze(&mut self, member: usize) -> Result<()> {
        self.running(member)?.freeze()
    }

    /// SIGCONT of a process.
    pub fn thaw(&mut self, member: usize) -> Result<()> {
        self.running(member)?.thaw()
    }

    /// SIGTERM of a process, which has to end in order and in time.
    pub fn end(&mut self, member: usize) -> Result<()> {
        let process = self.running(member)?;
        process.terminate()?;
        let status = process.wait(END_TIMEOUT)?;
        let said = process.end_of_log();
        self.members[member].wanted = false;
        match status.success() {
            true => Ok(()),
            false => {
                let name = self.name(member);
                Err(KitError::new(format!(
                    "{name} was asked to end and ended with {status}; {said}"
                )))
            }
        }
    }

    fn running(&mut self, member: usize) -> Result<&mut Process> {
        self.tend()?;
        let member = &mut self.members[member];
        let name = &member.name;
        member.process.as_mut().ok_or_else(|| KitError::new(format!("{name} was never started")))
    }

    /// Leaves logs and state where they are; gives the folder.
    pub fn keep(&mut self) -> PathBuf {
        self.scene.dir.disable_cleanup(true);
        self.scene.dir.path().to_owned()
    }

    /// The last lines of all processes, for messages.
    pub fn ends_of_logs(&self) -> String {
        let ends = self.members.iter().filter_map(|member| member.process.as_ref());
        ends.map(Process::end_of_log).collect::<Vec<_>>().join("\n")
    }
}
