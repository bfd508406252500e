//! The Kafka Streams contender: builds `benches/peers/streams` with Maven, and starts it.
//! Must not be in here: what the application does; that is Java.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::round::Plan;
use crate::broker::tools;
use crate::error::{Doing, KitError, Result};
use crate::process::{Process, ProcessOptions};
use crate::scene::Scene;

const MAIN: &str = "oncegate.peers.DeduplicatingApp";
const HEAP: &str = "-Xmx1g";
const STORE: &str = "seen";
const LINES_SHOWN: usize = 20;

/// The application, built.
pub struct StreamsApp {
    java: PathBuf,
    /// Where its jar is, and in `lib` the jars it needs.
    folder: PathBuf,
}

impl StreamsApp {
    /// Builds it into the folder that this program was built into, beside `release`.
    pub fn build() -> Result<StreamsApp> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/peers/streams");
        let own =
            std::env::current_exe().doing(|| "cannot tell the path of this program".to_owned())?;
        let target = own.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
        let folder = target.join("peers-streams");
        let java = tools::java()?;
        tools::java_compiler()?;
        let maven = tools::maven()?;
        eprintln!("bench: building the Kafka Streams application with Maven");
        let output = Command::new(&maven)
            .args(["-q", "-B", "-f"])
            .arg(source.join("pom.xml"))
            .arg(format!("-Dbench.build={}", folder.display()))
            .arg("package")
            .stdin(Stdio::null())
            .output()
            .doing(|| format!("cannot run {}", maven.display()))?;
        if output.status.success() {
            return Ok(StreamsApp { java, folder });
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Vec<&str> = said.lines().take(LINES_SHOWN).collect();
        Err(KitError::new(format!(
            "Maven could not build {} ({}). Check the network or Maven's settings. It said:\n{}",
            source.display(),
            output.status,
            said.join("\n")
        )))
    }

    /// Starts it over a scene's topics; its application id is the scene's group.
    pub fn start(&self, scene: &Scene, plan: Plan) -> Result<Process> {
        let mut classpath = self.folder.join("streams-peer.jar").into_os_string();
        classpath.push(":");
        classpath.push(self.folder.join("lib").join("*"));
        let arguments: Vec<OsString> = vec![
            HEAP.into(),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn".into(),
            "-cp".into(),
            classpath,
            MAIN.into(),
            scene.bootstrap.clone().into(),
            scene.group().into(),
            scene.raw().into(),
            scene.clean().into(),
            scene.state_dir("streams").into(),
            plan.workers.to_string().into(),
            plan.commit_ms.to_string().into(),
        ];
        let mut options = ProcessOptions::new(arguments, scene.dir.path().join("streams.log"));
        options.binary = Some(self.java.clone());
        Process::start(&options)
    }

    /// The changelog of its store.
    pub fn changelog(scene: &Scene) -> String {
        format!("{}-{STORE}-changelog", scene.group())
    }
}
