//! A local cluster of JVM nodes: combined brokers and controllers (KRaft) on the loopback, data
//! in a temporary folder, ended with this process. The faults are in `node`.

use std::fmt::Write;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::broker::guard::Guard;
use crate::broker::node::{Node, NodePlan};
use crate::broker::ports::Port;
use crate::broker::ready::wait_ready;
use crate::broker::{BrokerOptions, jars, properties, tools};
use crate::error::{Doing, KitError, Result};

const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A cluster of local nodes.
pub(super) struct LocalCluster {
    nodes: Vec<Node>,
    // After the nodes, so that they are gone when their folder goes.
    _folder: TempDir,
}

impl LocalCluster {
    pub(super) fn start(options: &BrokerOptions) -> Result<LocalCluster> {
        let java = tools::java()?;
        let jars = jars::folder()?;
        let locks = jars::cache_folder()?.join("ports");
        let folder = tempfile::Builder::new()
            .prefix("oncegate-kafka-")
            .tempdir()
            .doing(|| "cannot create a temporary folder for Kafka's data".to_owned())?;
        let guard = Arc::new(Guard::start(Some(folder.path()))?);
        let mut plans = Vec::new();
        for id in 1..=options.brokers {
            plans.push(NodePlan {
                id,
                client_port: Port::take(&locks)?,
                controller_port: Port::take(&locks)?,
                behind_proxy: match options.proxies.get(id - 1) {
                    Some(proxy) => Some((Port::take(&locks)?, *proxy)),
                    None => None,
                },
                secure_port: match &options.security {
                    Some(_) => Some(Port::take(&locks)?),
                    None => None,
                },
                folder: folder.path().join(format!("node-{id}")),
                java: java.clone(),
                jars: jars.clone(),
                heap_mb: if options.brokers == 1 { 1024 } else { 512 },
            });
        }
        let voters: Vec<String> = plans
            .iter()
            .map(|plan| format!("{}@127.0.0.1:{}", plan.id, plan.controller_port.number()))
            .collect();
        let voters = voters.join(",");
        // Each node formats in a JVM of its own: side by side, since a start takes a second.
        let nodes = thread::scope(|scope| {
            let formatting: Vec<_> = plans
                .into_iter()
                .map(|plan| {
                    let properties = properties(&plan, &voters, options);
                    let guard = Arc::clone(&guard);
                    let security = options.security.as_ref();
                    let more = security.map(|s| s.format_arguments()).unwrap_or_default();
                    scope.spawn(move || {
                        Node::format(plan, guard, &properties, properties::CLUSTER_ID, &more)
                    })
                })
                .collect();
            formatting
                .into_iter()
                .map(|one| one.join().unwrap_or_else(|_| Err(KitError::new("formatting panicked"))))
                .collect::<Result<Vec<Node>>>()
        })?;
        let cluster = LocalCluster { nodes, _folder: folder };
        for node in &cluster.nodes {
            node.launch()?;
        }
        cluster.wait_ready(START_TIMEOUT)?;
        Ok(cluster)
    }

    /// All addresses, in the order of the node ids.
    pub(super) fn bootstrap(&self) -> String {
        self.nodes.iter().map(Node::address).collect::<Vec<_>>().join(",")
    }

    /// The addresses of the listeners with TLS and SASL.
    pub(super) fn secure_bootstrap(&self) -> Result<String> {
        let addresses: Option<Vec<String>> = self.nodes.iter().map(Node::secure_address).collect();
        addresses.map(|addresses| addresses.join(",")).ok_or_else(|| {
            KitError::new("no listener with TLS: set `security` in the BrokerOptions")
        })
    }

    /// The processes of the nodes that run.
    pub(super) fn process_ids(&self) -> Vec<u32> {
        self.nodes.iter().filter_map(Node::process_id).collect()
    }

    /// The node with this id.
    pub(super) fn node(&self, id: usize) -> Result<&Node> {
        self.nodes.iter().find(|node| node.id() == id).ok_or_else(|| {
            KitError::new(format!("no node {id}: the ids go from 1 to {}", self.nodes.len()))
        })
    }

    /// Waits until every node that is up knows all others that are up, and the controller answers.
    pub(super) fn wait_ready(&self, timeout: Duration) -> Result<()> {
        let up = self.nodes.iter().filter(|node| node.is_up()).count();
        for node in self.nodes.iter().filter(|node| node.is_up()) {
            let gone = || self.nodes.iter().find_map(Node::died_by_itself);
            wait_ready(&node.address(), up, timeout, gone)?;
        }
        Ok(())
    }
}

fn properties(plan: &NodePlan, voters: &str, options: &BrokerOptions) -> String {
    let client = format!("127.0.0.1:{}", plan.client_port.number());
    let controller = format!("127.0.0.1:{}", plan.controller_port.number());
    let mut listeners = format!("PLAINTEXT://{client},CONTROLLER://{controller}");
    let mut advertised = format!("PLAINTEXT://{client}");
    let mut protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT".to_owned();
    if let Some((own, proxy)) = &plan.behind_proxy {
        let _ = write!(listeners, ",PROXIED://127.0.0.1:{}", own.number());
        let _ = write!(advertised, ",PROXIED://127.0.0.1:{proxy}");
        protocols.push_str(",PROXIED:PLAINTEXT");
    }
    if let (Some(port), Some(security)) = (&plan.secure_port, &options.security) {
        let _ = write!(listeners, ",SECURE://127.0.0.1:{}", port.number());
        let _ = write!(advertised, ",SECURE://127.0.0.1:{}", port.number());
        let _ = write!(protocols, ",SECURE:{}", security.protocol());
    }
    let own = [
        ("node.id", plan.id.to_string()),
        ("controller.quorum.voters", voters.to_owned()),
        ("listeners", listeners),
        ("advertised.listeners", advertised),
        ("listener.security.protocol.map", protocols),
        ("log.dirs", plan.folder.join("data").display().to_string()),
    ];
    let mut all = properties::of_node(options, &own);
    all.extend(options.security.iter().flat_map(|security| security.properties()));
    all.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name}={value}");
        text
    })
}
