//! From the file to [`Settings`]: what each key of the file means, and its default.
//! Must not be in here: rules of one route (`route`), or rules between routes (`roles`).

use super::document::{Document, Section};
use super::fault::{Fault, SettingsErrors};
use super::model::{Overrides, RouteSettings, Settings};
use super::{kafka_section, roles, route, topic_name};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

const STATE_DIR: &str = "state";
const RECIPES_DIR: &str = "recipes";
const TOPICS_DIR: &str = "topics";
/// Reachable from this machine only, unless the file says otherwise.
const HTTP_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);
const STORE_MEMORY_BYTES: u64 = 512 << 20;
/// Below, write buffers of a few partitions alone would not fit.
const STORE_MEMORY_BYTES_MIN: u64 = 16 << 20;
const STORE_MEMORY_BYTES_MAX: u64 = 1 << 40;
const STORE_LEFT_BYTES: u64 = 10 << 30;
const STORE_LEFT_BYTES_MAX: u64 = 1 << 50;
/// librdkafka's default for `socket.timeout.ms` gives way to the transaction's time-out, an
/// explicit one must not exceed it by more than this.
const SOCKET_TIMEOUT_OVER_MS: u32 = 100;

impl Settings {
    /// Reads a file of settings, its recipes, and the environment variables that it names.
    ///
    /// # Errors
    /// Every fault that was found, if any was.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Settings, SettingsErrors> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let (what, meant) = (format!("the file cannot be read: {error}"), String::new());
            SettingsErrors::new(vec![Fault { file: file.clone(), line: None, what, meant }])
        })?;
        let document = Document::new(file, &text);
        let settings = document.parse().and_then(|table| {
            let dir = path.parent().unwrap_or(Path::new("")).to_owned();
            Reading { document: &document, dir, overrides }.read(path, document.root(&table))
        });
        match settings {
            Some(settings) if !document.is_faulty() => Ok(settings),
            _ => Err(SettingsErrors::new(document.into_faults())),
        }
    }
}

struct Reading<'a> {
    document: &'a Document<'a>,
    /// The directory of the file, to which its paths are relative.
    dir: PathBuf,
    overrides: &'a Overrides,
}

impl Reading<'_> {
    fn read(&self, path: &Path, mut root: Section<'_, '_>) -> Option<Settings> {
        let group = self.group(&mut root);
        let state_dir = self.path(&mut root, "state_dir", STATE_DIR);
        let recipes_dir = self.path(&mut root, "recipes_dir", RECIPES_DIR);
        let topics_dir = self.topics_dir(&mut root);
        let instance = self.instance(&mut root);
        let http_listen = self.http_listen(root.section("http"));
        let (store_memory_bytes, store_left_bytes) = store(root.section("store"));
        let kafka = kafka_section::read(root.section("kafka"), self.document, self.overrides);
        let sections = root.sections("route");
        if sections.is_empty() && !self.document.is_faulty() {
            self.document.fault(0..0, "no route", "begin one with [[route]]");
        }
        // A missing group is told already; routes are read all the same, for their own faults.
        let group_name = group.clone().unwrap_or_else(|| "group".to_owned());
        let mut routes = roles::Roles::new(self.document);
        for section in sections {
            routes.add(route::read(section, &group_name, &recipes_dir));
        }
        let routes = routes.finish();
        root.finish();
        self.socket_timeout(&kafka, &routes);
        Some(Settings {
            file: path.to_owned(),
            group: group?,
            state_dir: self.overrides.state_dir.clone().unwrap_or(state_dir),
            instance,
            topics_dir,
            http_listen: self.overrides.http_listen.or(http_listen)?,
            store_memory_bytes: usize::try_from(store_memory_bytes).ok()?,
            store_left_bytes,
            kafka,
            routes,
        })
    }

    fn group(&self, root: &mut Section<'_, '_>) -> Option<String> {
        let group = root.required_text("group")?;
        if let Some(fault) = topic_name::topic_name_fault(group.get_ref()) {
            let meant = "it begins the names of topics and groups";
            self.document.fault(group.span(), format!("`group` {fault}"), meant);
            return None;
        }
        Some(group.into_inner().to_owned())
    }

    fn path(&self, root: &mut Section<'_, '_>, key: &'static str, default: &str) -> PathBuf {
        let path = root.text(key).map_or(default, |text| text.into_inner());
        self.dir.join(path)
    }

    /// The default need not be there: a topic without a declaration gets what its role needs.
    fn topics_dir(&self, root: &mut Section<'_, '_>) -> PathBuf {
        let Some(text) = root.text("topics_dir") else {
            return self.dir.join(TOPICS_DIR);
        };
        let dir = self.dir.join(text.get_ref());
        if !dir.is_dir() {
            let what = "`topics_dir` names a directory that is not there";
            self.document.fault(text.span(), what, format!("{} is not there", dir.display()));
        }
        dir
    }

    fn instance(&self, root: &mut Section<'_, '_>) -> Option<String> {
        let text = root.text("instance");
        let span = text.as_ref().map_or(0..0, |text| text.span());
        let of_file = text.map(|text| text.into_inner().to_owned());
        let instance = self.overrides.instance.clone().or(of_file)?;
        if let Some(fault) = topic_name::topic_name_fault(&instance) {
            let meant = "it becomes part of `group.instance.id`, which follows the rule of topics";
            self.document.fault(span, format!("the instance id {fault}"), meant);
        }
        Some(instance)
    }

    fn http_listen(&self, section: Option<Section<'_, '_>>) -> Option<SocketAddr> {
        let Some(mut section) = section else {
            return Some(HTTP_LISTEN);
        };
        let text = section.text("listen");
        section.finish();
        let Some(text) = text else {
            return Some(HTTP_LISTEN);
        };
        let address = text.get_ref().parse().ok();
        if address.is_none() {
            let what = "`listen` of [http] is not an address and a port";
            let meant = "write it like \"127.0.0.1:9464\" or \"[::]:9464\"";
            self.document.fault(text.span(), what, meant);
        }
        address
    }

    /// librdkafka refuses a producer whose requests may outlive its transactions.
    fn socket_timeout(&self, kafka: &super::ClientProperties, routes: &[RouteSettings]) {
        const NAME: &str = "socket.timeout.ms";
        let (Some(line), Some(timeout_ms)) = (kafka.line(NAME), kafka.get(NAME)) else {
            return;
        };
        let least = routes.iter().map(|route| route.transaction_timeout_ms).min();
        let (Ok(timeout_ms), Some(least)) = (timeout_ms.parse::<u32>(), least) else {
            return;
        };
        if timeout_ms > least + SOCKET_TIMEOUT_OVER_MS {
            let what = format!("`{NAME}` is longer than a route's transactions may last");
            let meant = format!("at most the `timeouts.transaction` of every route: {least}");
            self.document.fault_at_line(line, what, meant);
        }
    }
}

/// Bytes of memory, and of disk for what was left.
fn store(section: Option<Section<'_, '_>>) -> (u64, u64) {
    let Some(mut section) = section else {
        return (STORE_MEMORY_BYTES, STORE_LEFT_BYTES);
    };
    let memory = section.size("memory", STORE_MEMORY_BYTES_MIN..=STORE_MEMORY_BYTES_MAX);
    let left = section.size("left", 0..=STORE_LEFT_BYTES_MAX);
    section.finish();
    (memory.unwrap_or(STORE_MEMORY_BYTES), left.unwrap_or(STORE_LEFT_BYTES))
}

/// Milliseconds that fit into librdkafka's own numbers.
pub fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
