//! Java and Maven: finds them, installs them through apt-get where this process may, otherwise
//! names the exact command. Downloads nothing itself.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::{KitError, Result};

/// Kafka 4 needs at least this.
const JAVA_VERSION_MIN: u32 = 17;

/// The `java` to start brokers with, version 17 or later.
pub fn java() -> Result<PathBuf> {
    let in_home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin/java"));
    if let Some(java) = in_home.filter(|java| java.is_file()) {
        return checked(java);
    }
    checked(find_or_install("java", "openjdk-17-jre-headless", "default-jre-headless")?)
}

/// The `mvn` to resolve the broker's jars with.
pub fn maven() -> Result<PathBuf> {
    find_or_install("mvn", "maven", "maven")
}

/// The `javac` that Java sources are compiled with; a runtime alone has none.
pub fn java_compiler() -> Result<PathBuf> {
    let in_home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin/javac"));
    match in_home.filter(|compiler| compiler.is_file()) {
        Some(compiler) => Ok(compiler),
        None => find_or_install("javac", "openjdk-17-jdk-headless", "default-jdk-headless"),
    }
}

/// A program of this name in `PATH`.
pub fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn find_or_install(program: &str, package: &str, fallback: &str) -> Result<PathBuf> {
    if let Some(found) = in_path(program) {
        return Ok(found);
    }
    if in_path("apt-get").is_none() {
        return Err(KitError::new(format!(
            "`{program}` is needed for a local Kafka broker and not in PATH: install Java \
             {JAVA_VERSION_MIN} (or later) and Maven, or set ONCEGATE_BOOTSTRAP to a cluster \
             that runs already"
        )));
    }
    // SAFETY: geteuid has no preconditions and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if root {
        eprintln!("testkit: `{program}` is missing, installing it through apt-get");
        // Package lists may be empty or stale; an update that fails still leaves the old ones.
        let _ = apt(&["update", "-qq"]);
        let installed = [package, fallback]
            .iter()
            .any(|name| apt(&["install", "-y", "-qq", "--no-install-recommends", name]));
        if let (true, Some(found)) = (installed, in_path(program)) {
            return Ok(found);
        }
    }
    Err(KitError::new(format!(
        "`{program}` is needed for a local Kafka broker and not in PATH; run:\n    \
         sudo apt-get update && sudo apt-get install -y {fallback}\n\
         or set ONCEGATE_BOOTSTRAP to a cluster that runs already"
    )))
}

fn apt(arguments: &[&str]) -> bool {
    Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn checked(java: PathBuf) -> Result<PathBuf> {
    let said = Command::new(&java)
        .arg("-version")
        .output()
        .map_err(|error| KitError::new(format!("cannot run {}: {error}", java.display())))?;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    match major_version(&said) {
        Some(version) if version >= JAVA_VERSION_MIN => Ok(java),
        _ => Err(KitError::new(format!(
            "{} is too old for Kafka 4, which needs Java {JAVA_VERSION_MIN} (it says: {}); run:\n    \
             sudo apt-get install -y openjdk-17-jre-headless\nor set JAVA_HOME to a newer one",
            java.display(),
            said.lines().next().unwrap_or("nothing")
        ))),
    }
}

/// `openjdk version "17.0.15" 2025-04-15` gives 17; `"1.8.0_292"` gives 8.
fn major_version(said: &str) -> Option<u32> {
    let version = said.split('"').nth(1)?;
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let first: u32 = parts.next()?.parse().ok()?;
    if first == 1 { parts.next()?.parse().ok() } else { Some(first) }
}

#[cfg(test)]
mod tests {
    use super::major_version;

    #[test]
    fn reads_java_versions_old_and_new() {
        assert_eq!(major_version("openjdk version \"17.0.15\" 2025-04-15"), Some(17));
        assert_eq!(major_version("openjdk version \"21\" 2023-09-19"), Some(21));
        assert_eq!(major_version("java version \"1.8.0_292\""), Some(8));
        assert_eq!(major_version("command not found"), None);
    }
}
