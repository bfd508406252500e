//! A cluster in containers, through testcontainers: for machines with a Docker engine that has
//! the Kafka image or can pull it. No faults: those are for local JVM clusters.

mod image;

use std::time::Duration;

use testcontainers::bollard::models::PortBinding;
use testcontainers::core::IntoContainerPort;
use testcontainers::runners::SyncRunner;
use testcontainers::{Container, ContainerRequest, GenericImage, ImageExt};

use crate::broker::guard::Guard;
use crate::broker::ports::Port;
use crate::broker::ready::wait_ready;
use crate::broker::{BrokerOptions, jars, properties};
use crate::error::{Doing, Result};

const START_TIMEOUT: Duration = Duration::from_secs(90);
const LOG_BYTES_SHOWN: usize = 1_500;
/// Ports inside the containers; each has a network address of its own.
const CONTROLLER_PORT: u16 = 9093;
const INTERNAL_PORT: u16 = 9094;

/// A cluster of containers.
pub(super) struct ContainerCluster {
    image: image::ImageName,
    containers: Vec<Container<GenericImage>>,
    ports: Vec<Port>,
    // Removes the containers where this process is killed and cannot.
    _guard: Guard,
}

impl ContainerCluster {
    pub(super) fn start(options: &BrokerOptions) -> Result<ContainerCluster> {
        let image = image::present()?;
        let locks = jars::cache_folder()?.join("ports");
        let ports = (0..options.brokers).map(|_| Port::take(&locks)).collect::<Result<Vec<_>>>()?;
        let plan = Plan::new(&ports);
        let guard = Guard::start_with_last_act(None, &plan.removal())?;
        let mut cluster = ContainerCluster { image, containers: Vec::new(), ports, _guard: guard };
        for place in 0..options.brokers {
            let request = plan.request(&cluster.image, place, options);
            let container =
                request.start().doing(|| format!("the container of {} failed", cluster.image))?;
            cluster.containers.push(container);
        }
        for port in &cluster.ports {
            let address = address(port.number());
            wait_ready(&address, options.brokers, START_TIMEOUT, || cluster.died_by_itself())?;
        }
        Ok(cluster)
    }

    pub(super) fn bootstrap(&self) -> String {
        let addresses: Vec<String> = self.ports.iter().map(|p| address(p.number())).collect();
        addresses.join(",")
    }

    pub(super) fn image(&self) -> &image::ImageName {
        &self.image
    }

    fn died_by_itself(&self) -> Option<String> {
        let dead = self.containers.iter().find(|one| !one.is_running().unwrap_or(true))?;
        let said =
            [dead.stdout_to_vec(), dead.stderr_to_vec()].map(|said| said.unwrap_or_default());
        let said = said.concat();
        let shown = &said[said.len().saturating_sub(LOG_BYTES_SHOWN)..];
        Some(format!(
            "a container of {} ended; it said: {}",
            self.image,
            String::from_utf8_lossy(shown)
        ))
    }
}

/// Names and ports of all containers, known before the first one starts.
struct Plan {
    ports: Vec<u16>,
    network: Option<String>,
    names: Vec<String>,
}

impl Plan {
    fn new(ports: &[Port]) -> Plan {
        let ports: Vec<u16> = ports.iter().map(Port::number).collect();
        // The ports are this process's alone, so names made with them are as well.
        let names: Vec<String> =
            ports.iter().map(|port| format!("oncegate-kafka-{port}")).collect();
        let network = (ports.len() > 1).then(|| format!("oncegate-kafka-{}-net", ports[0]));
        Plan { ports, network, names }
    }

    /// The shell command that removes all of it.
    fn removal(&self) -> String {
        let mut command = format!("docker rm -f {}", self.names.join(" "));
        if let Some(network) = &self.network {
            command.push_str(&format!("; docker network rm {network}"));
        }
        command
    }

    /// How the nodes find each other.
    fn host(&self, place: usize) -> &str {
        if self.network.is_some() { &self.names[place] } else { "localhost" }
    }

    fn request(
        &self,
        image: &image::ImageName,
        place: usize,
        options: &BrokerOptions,
    ) -> ContainerRequest<GenericImage> {
        let port = self.ports[place];
        let voters: Vec<String> = (0..self.ports.len())
            .map(|other| format!("{}@{}:{CONTROLLER_PORT}", other + 1, self.host(other)))
            .collect();
        let host = self.host(place);
        let own = [
            ("node.id", (place + 1).to_string()),
            ("controller.quorum.voters", voters.join(",")),
            (
                "listeners",
                format!(
                    "PLAINTEXT://:{port},INTERNAL://:{INTERNAL_PORT},CONTROLLER://:{CONTROLLER_PORT}"
                ),
            ),
            (
                "advertised.listeners",
                format!("PLAINTEXT://{},INTERNAL://{host}:{INTERNAL_PORT}", address(port)),
            ),
            ("inter.broker.listener.name", "INTERNAL".to_owned()),
            (
                "listener.security.protocol.map",
                "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT".to_owned(),
            ),
            ("log.dirs", "/tmp/kafka-data".to_owned()),
        ];
        let container_port = port.tcp();
        let mut request = GenericImage::new(&*image.name, &*image.tag)
            .with_exposed_port(container_port)
            .with_container_name(&self.names[place])
            .with_startup_timeout(START_TIMEOUT)
            .with_env_var("CLUSTER_ID", properties::CLUSTER_ID)
            .with_env_var(
                "KAFKA_HEAP_OPTS",
                if options.brokers == 1 { "-Xmx1g" } else { "-Xmx512m" },
            )
            // The same port outside as inside, and on the loopback only.
            .with_host_config_modifier(move |host_config| {
                let binding = PortBinding {
                    host_ip: Some("127.0.0.1".to_owned()),
                    host_port: Some(port.to_string()),
                };
                let bindings = [(container_port.to_string(), Some(vec![binding]))];
                host_config.port_bindings = Some(bindings.into_iter().collect());
                host_config.publish_all_ports = Some(false);
            });
        for (name, value) in properties::of_node(options, &own) {
            request = request.with_env_var(properties::as_variable(&name), value);
        }
        match &self.network {
            Some(network) => request.with_network(network),
            None => request,
        }
    }
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}
