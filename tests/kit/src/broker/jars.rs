//! The jars of Apache Kafka, resolved by Maven into a cache folder, once a machine.
//! Starts nothing; knows no cluster.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::broker::tools;
use crate::error::{Doing, KitError, Result};

/// The version of Apache Kafka that a local broker runs.
pub const KAFKA_VERSION: &str = "4.4.0";

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>oncegate</groupId><artifactId>local-broker</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
      <version>KAFKA_VERSION</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"#;

/// `$ONCEGATE_CACHE`, else `oncegate/kafka` in the user's cache folder.
pub fn cache_folder() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("ONCEGATE_CACHE") {
        return Ok(folder);
    }
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("oncegate").join("kafka"))
        .ok_or_else(|| KitError::new("neither HOME nor ONCEGATE_CACHE is set: set one of them"))
}

/// The folder with the jars, filled on first use. Several processes may ask at once: one
/// resolves, the others wait for it.
pub fn folder() -> Result<PathBuf> {
    let cache = cache_folder()?;
    let jars = cache.join(format!("kafka-{KAFKA_VERSION}"));
    if jars.is_dir() {
        return Ok(jars);
    }
    fs::create_dir_all(&cache).doing(|| format!("cannot create {}", cache.display()))?;
    let lock_path = cache.join("install.lock");
    let lock = File::create(&lock_path).doing(|| format!("cannot open {}", lock_path.display()))?;
    lock.lock().doing(|| format!("cannot lock {}", lock_path.display()))?;
    if !jars.is_dir() {
        resolve(&cache, &jars)?;
    }
    Ok(jars)
}

fn resolve(cache: &Path, jars: &Path) -> Result<()> {
    let maven = tools::maven()?;
    eprintln!(
        "testkit: resolving Apache Kafka {KAFKA_VERSION} with Maven into {} (once)",
        jars.display()
    );
    // Resolved elsewhere and renamed when whole, so a folder of this name is always complete.
    let work = tempfile::Builder::new()
        .prefix(".resolving-")
        .tempdir_in(cache)
        .doing(|| format!("cannot create a folder in {}", cache.display()))?;
    let pom = work.path().join("pom.xml");
    fs::write(&pom, POM.replace("KAFKA_VERSION", KAFKA_VERSION))
        .doing(|| format!("cannot write {}", pom.display()))?;
    let resolved = work.path().join("jars");
    let output = Command::new(&maven)
        .args(["-q", "-B", "-f"])
        .arg(&pom)
        .arg("org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies")
        .arg("-DincludeScope=runtime")
        .arg(format!("-DoutputDirectory={}", resolved.display()))
        .stdin(Stdio::null())
        .output()
        .doing(|| format!("cannot run {}", maven.display()))?;
    let core = resolved.join(format!("kafka_2.13-{KAFKA_VERSION}.jar"));
    if !output.status.success() || !core.is_file() {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Vec<&str> = said.lines().take(12).collect();
        return Err(KitError::new(format!(
            "Maven could not resolve Apache Kafka {KAFKA_VERSION} ({}). Check the network or \
             Maven's settings, or set ONCEGATE_BOOTSTRAP to a cluster that runs already. It said:\n{}",
            output.status,
            said.join("\n")
        )));
    }
    fs::rename(&resolved, jars).doing(|| format!("cannot rename to {}", jars.display()))
}
