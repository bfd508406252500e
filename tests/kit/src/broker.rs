//! One way to a Kafka cluster for every test, the demo, the bench and `make broker`.
//! Which one it is, is decided here; how a local one runs, in the modules below.
//! Nothing here produces, reads, or names a topic of a test.

mod container;
mod guard;
mod jars;
mod local;
mod node;
mod ports;
mod properties;
mod ready;
mod security;
pub(crate) mod tools;

use std::time::Duration;

pub use guard::Guard;
pub use jars::KAFKA_VERSION;
pub use node::Node;
pub use security::{Security, User};

use crate::error::{Doing, KitError, Result};
use container::ContainerCluster;
use local::LocalCluster;

/// Names a cluster that runs already, as `host:port[,host:port]`.
pub const BOOTSTRAP_VARIABLE: &str = "ONCEGATE_BOOTSTRAP";

const GIVEN_TIMEOUT: Duration = Duration::from_secs(30);
const RESTART_TIMEOUT: Duration = Duration::from_secs(90);

/// What kind of cluster a test needs.
#[derive(Clone, Debug)]
pub struct BrokerOptions {
    /// How many brokers: 1, or 3 for replication 3 with two in sync.
    pub brokers: usize,
    /// Broker properties beyond the kit's own, as in `server.properties`.
    pub properties: Vec<(String, String)>,
    /// The test kills or freezes brokers: a local JVM cluster of its own, whatever else is there.
    pub faults: bool,
    /// Ports of proxies, one a node: each node listens a second time, and names its proxy to
    /// clients that come that way. With [`BrokerOptions::faults`] only.
    pub proxies: Vec<u16>,
    /// A second listener with TLS and SASL, and rules on who may do what: a local JVM cluster of
    /// its own. The clients of the kit itself use the first one, and may do everything.
    pub security: Option<Security>,
}

impl Default for BrokerOptions {
    fn default() -> BrokerOptions {
        BrokerOptions {
            brokers: 1,
            properties: Vec::new(),
            faults: false,
            proxies: Vec::new(),
            security: None,
        }
    }
}

impl BrokerOptions {
    /// Adds a broker property, such as `transaction.max.timeout.ms`.
    pub fn property(mut self, name: &str, value: impl ToString) -> BrokerOptions {
        self.properties.push((name.to_owned(), value.to_string()));
        self
    }
}

/// A Kafka cluster that answers. One that was started here ends when this value is dropped, and
/// also when the process is killed.
pub struct Broker {
    bootstrap: String,
    flavour: Flavour,
}

enum Flavour {
    Given,
    Containers(ContainerCluster),
    Local(LocalCluster),
}

impl Broker {
    /// Finds or starts a cluster and waits until it answers: the one that `ONCEGATE_BOOTSTRAP`
    /// names, else one in containers where a Docker engine runs and has the image or can pull
    /// it, else a local one in JVMs. Blocks, so call it outside of any async runtime.
    pub fn start(options: BrokerOptions) -> Result<Broker> {
        if !matches!(options.brokers, 1 | 3) {
            return Err(KitError::new(format!(
                "a test cluster has 1 or 3 brokers, not {}",
                options.brokers
            )));
        }
        let own = options.faults || options.security.is_some();
        let given = std::env::var(BOOTSTRAP_VARIABLE).ok().filter(|given| !given.is_empty());
        match given {
            Some(given) if !own => Broker::given(given, &options),
            _ if own => Broker::local(&options),
            _ => Broker::containers(&options).or_else(|reason| {
                eprintln!("testkit: no Kafka in containers ({reason}); starting one in a JVM");
                Broker::local(&options)
            }),
        }
    }

    fn containers(options: &BrokerOptions) -> Result<Broker> {
        let cluster = ContainerCluster::start(options)?;
        Ok(Broker { bootstrap: cluster.bootstrap(), flavour: Flavour::Containers(cluster) })
    }

    fn given(bootstrap: String, options: &BrokerOptions) -> Result<Broker> {
        ready::wait_ready(&bootstrap, options.brokers, GIVEN_TIMEOUT, || None).doing(|| {
            format!(
                "{BOOTSTRAP_VARIABLE} names a cluster that does not serve ({} brokers wanted); \
                 start it, or unset the variable to have one started",
                options.brokers
            )
        })?;
        if !options.properties.is_empty() {
            let names: Vec<&str> = options.properties.iter().map(|(name, _)| &**name).collect();
            eprintln!("testkit: the cluster is given, so these are not set: {}", names.join(", "));
        }
        Ok(Broker { bootstrap, flavour: Flavour::Given })
    }

    fn local(options: &BrokerOptions) -> Result<Broker> {
        let cluster = LocalCluster::start(options)?;
        Ok(Broker { bootstrap: cluster.bootstrap(), flavour: Flavour::Local(cluster) })
    }

    /// The `bootstrap.servers` of the cluster.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// The `bootstrap.servers` of the listeners with TLS and SASL, which
    /// [`BrokerOptions::security`] asks for.
    pub fn secure_bootstrap(&self) -> Result<String> {
        self.local_cluster()?.secure_bootstrap()
    }

    /// In a word or two, where the cluster comes from.
    pub fn describe(&self) -> String {
        match &self.flavour {
            Flavour::Given => format!("the cluster that {BOOTSTRAP_VARIABLE} names"),
            Flavour::Containers(cluster) => format!("a cluster in containers, {}", cluster.image()),
            Flavour::Local(_) => format!("a local JVM cluster, Apache Kafka {KAFKA_VERSION}"),
        }
    }

    /// Whether it ran already, so that nothing here ends it.
    pub fn is_given(&self) -> bool {
        matches!(self.flavour, Flavour::Given)
    }

    /// The node with this id, the first is 1, to do faults to. Local clusters only: ask for one
    /// with [`BrokerOptions::faults`].
    pub fn node(&self, id: usize) -> Result<&Node> {
        self.local_cluster()?.node(id)
    }

    /// The processes of a local cluster's nodes; none where the cluster is not in processes of
    /// ours.
    pub fn process_ids(&self) -> Vec<u32> {
        match &self.flavour {
            Flavour::Local(cluster) => cluster.process_ids(),
            _ => Vec::new(),
        }
    }

    /// Starts a node that was killed or terminated, on the same data and port, and waits until
    /// it and all others that are up answer.
    pub fn start_again(&self, id: usize) -> Result<()> {
        let cluster = self.local_cluster()?;
        cluster.node(id)?.launch()?;
        cluster.wait_ready(RESTART_TIMEOUT)
    }

    /// Waits until all nodes that are up answer, for instance after a thaw.
    pub fn wait_ready(&self, timeout: Duration) -> Result<()> {
        self.local_cluster()?.wait_ready(timeout)
    }

    fn local_cluster(&self) -> Result<&LocalCluster> {
        match &self.flavour {
            Flavour::Local(cluster) => Ok(cluster),
            _ => Err(KitError::new(
                "faults need a local JVM cluster: set `faults: true` in the BrokerOptions",
            )),
        }
    }
}
