//! From the files to [`Settings`].
//! Must not be in here: defaults and bounds (`catalogue`), rules of one route (`route`), or rules
//! between routes (`roles`).

use super::document::Document;
use super::fault::SettingsErrors;
use super::files::read_sources;
use super::given::Given;
use super::model::{Overrides, RouteSettings, Settings};
use super::section::Section;
use super::setting::Text;
use super::{catalogue, kafka_section, roles, route, topic_name};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// librdkafka's default for `socket.timeout.ms` gives way to the transaction's time-out, an
/// explicit one must not exceed it by more than this.
const SOCKET_TIMEOUT_OVER_MS: u32 = 100;

impl Settings {
    /// Reads a file of settings, or a directory of them, the recipes, and the environment variables
    /// and files that it names.
    ///
    /// # Errors
    /// Every fault that was found, if any was.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Settings, SettingsErrors> {
        Settings::load_all(&[path.to_owned()], overrides).map(|(settings, _)| settings)
    }

    /// The same of several files and directories that make one configuration; also what they say,
    /// and where.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_all(
        paths: &[PathBuf],
        overrides: &Overrides,
    ) -> Result<(Settings, Given), SettingsErrors> {
        let sources = read_sources(paths)?;
        let document = Document::of(&sources);
        let read = document.parse().and_then(|table| {
            let files = sources.iter().map(|source| source.file.clone()).collect();
            let settings =
                Reading { document: &document, overrides }.read(files, document.root(&table));
            Some((settings?, Given::of(&document, &table)))
        });
        match read {
            Some(read) if !document.is_faulty() => Ok(read),
            _ => Err(SettingsErrors::new(document.into_faults())),
        }
    }
}

struct Reading<'a> {
    document: &'a Document<'a>,
    overrides: &'a Overrides,
}

impl Reading<'_> {
    fn read(&self, files: Vec<String>, mut root: Section<'_, '_>) -> Option<Settings> {
        let group = self.group(&mut root);
        let state_dir = self.path(&mut root, &catalogue::STATE_DIR).into_inner();
        let recipes_dir = self.path(&mut root, &catalogue::RECIPES_DIR).into_inner();
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
            files,
            group: group?,
            state_dir: self.overrides.state_dir.clone().unwrap_or(state_dir),
            instance,
            recipes_dir,
            topics_dir,
            http_listen: self.overrides.http_listen.or(http_listen)?,
            store_memory_bytes: usize::try_from(store_memory_bytes).ok()?,
            store_left_bytes,
            kafka,
            routes,
        })
    }

    fn group(&self, root: &mut Section<'_, '_>) -> Option<String> {
        let group = root.required_text(catalogue::GROUP.key)?;
        if let Some(fault) = topic_name::topic_name_fault(group.get_ref()) {
            let meant = "it begins the names of topics and groups";
            self.document.fault(group.span(), format!("`group` {fault}"), meant);
            return None;
        }
        Some(group.into_inner().to_owned())
    }

    /// A path, and where it is named.
    fn path(&self, root: &mut Section<'_, '_>, setting: &Text) -> Spanned<PathBuf> {
        let text = root.text(setting.key);
        let span = text.as_ref().map_or(0..0, Spanned::span);
        let path = text.map_or(setting.default_text(), Spanned::into_inner);
        Spanned::new(span.clone(), self.document.dir(span.start).join(path))
    }

    /// The default need not be there: a topic without a declaration gets what its role needs.
    fn topics_dir(&self, root: &mut Section<'_, '_>) -> PathBuf {
        let dir = self.path(root, &catalogue::TOPICS_DIR);
        let (span, dir) = (dir.span(), dir.into_inner());
        if !span.is_empty() && !dir.is_dir() {
            let what = "`topics_dir` names a directory that is not there";
            self.document.fault(span, what, format!("{} is not there", dir.display()));
        }
        dir
    }

    fn instance(&self, root: &mut Section<'_, '_>) -> Option<String> {
        let text = root.text(catalogue::INSTANCE.key);
        let span = text.as_ref().map_or(0..0, |text| text.span());
        let of_file = text.map(|text| text.into_inner().to_owned());
        let instance = self.overrides.instance.clone().or(of_file)?;
        if let Some(fault) = topic_name::topic_name_fault(&instance) {
            let meant = "it becomes part of `group.instance.id`, which follows the rule of topics";
            self.document.fault(span, format!("the instance id {fault}"), meant);
        }
        Some(instance)
    }

    fn http_listen(&self, mut section: Option<Section<'_, '_>>) -> Option<SocketAddr> {
        let text = section.as_mut().and_then(|section| section.text(catalogue::HTTP_LISTEN.key));
        if let Some(section) = section {
            section.finish();
        }
        let span = text.as_ref().map_or(0..0, Spanned::span);
        let text = text.map_or(catalogue::HTTP_LISTEN.default_text(), Spanned::into_inner);
        let address = text.parse().ok();
        if address.is_none() {
            let what = "`listen` of [http] is not an address and a port";
            let meant = "write it like \"127.0.0.1:9464\" or \"[::]:9464\"";
            self.document.fault(span, what, meant);
        }
        address
    }

    /// librdkafka refuses a producer whose requests may outlive its transactions.
    fn socket_timeout(&self, kafka: &super::ClientProperties, routes: &[RouteSettings]) {
        const NAME: &str = "socket.timeout.ms";
        let (Some(at), Some(timeout_ms)) = (kafka.at(NAME), kafka.get(NAME)) else {
            return;
        };
        let least = routes.iter().map(|route| route.transaction_timeout_ms).min();
        let (Ok(timeout_ms), Some(least)) = (timeout_ms.parse::<u32>(), least) else {
            return;
        };
        if timeout_ms > least + SOCKET_TIMEOUT_OVER_MS {
            let what = format!("`{NAME}` is longer than a route's transactions may last");
            let meant = format!("at most the `timeouts.transaction` of every route: {least}");
            self.document.fault(at..at, what, meant);
        }
    }
}

/// Bytes of memory, and of disk for what was left.
fn store(mut section: Option<Section<'_, '_>>) -> (u64, u64) {
    let memory = catalogue::STORE_MEMORY.read(section.as_mut());
    let left = catalogue::STORE_LEFT.read(section.as_mut());
    if let Some(section) = section {
        section.finish();
    }
    (memory, left)
}

/// Milliseconds that fit into librdkafka's own numbers.
pub fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
