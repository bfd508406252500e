//! Starts a Kafka cluster for development, waits until it answers, and says where it is and how
//! to stop it. All of the starting is in the kit's `broker` module.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;
use oncegate_testkit::broker::{BOOTSTRAP_VARIABLE, Broker, BrokerOptions};
use oncegate_testkit::error::Doing;
use oncegate_testkit::signals::wait_for_signal;
use oncegate_testkit::wait::wait_for;
use oncegate_testkit::{KitError, Result};

/// Maven may have to resolve the jars, or an image be pulled.
const START_TIMEOUT: Duration = Duration::from_secs(600);

/// Starts a Kafka cluster for development and tests, and waits until it answers.
#[derive(Parser)]
#[command(name = "broker")]
struct Arguments {
    /// How many brokers: 1, or 3 for replication 3
    #[arg(long, default_value_t = 1)]
    brokers: usize,
    /// A broker property, as in server.properties; may be repeated
    #[arg(long = "property", value_name = "NAME=VALUE", value_parser = name_and_value)]
    properties: Vec<(String, String)>,
    /// A local JVM cluster, also where a Docker engine runs or a cluster is given
    #[arg(long)]
    local: bool,
    /// Leave it running in the background
    #[arg(long)]
    detach: bool,
    /// Where a cluster in the background says that it is ready
    #[arg(long, hide = true)]
    announce: Option<PathBuf>,
}

fn name_and_value(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = if arguments.detach { detach(&arguments) } else { stay(&arguments) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("broker: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the cluster until a signal comes.
fn stay(arguments: &Arguments) -> Result<()> {
    let options = BrokerOptions {
        brokers: arguments.brokers,
        properties: arguments.properties.clone(),
        faults: arguments.local,
        ..BrokerOptions::default()
    };
    // A signal that comes while the cluster starts ends this process, and the kit's guard then
    // ends what was started.
    let broker = Broker::start(options)?;
    let said = format!(
        "Kafka answers at {address} ({what})\n\
         To use it:  export {BOOTSTRAP_VARIABLE}={address}",
        address = broker.bootstrap(),
        what = broker.describe(),
    );
    if broker.is_given() {
        println!("{said}\nIt was not started here, so it is stopped where it was started.");
        return Ok(());
    }
    match &arguments.announce {
        Some(file) => announce(file, &said)?,
        None => println!("{said}\nTo stop it:  Ctrl-C, or: kill {}", std::process::id()),
    }
    wait_for_signal()?;
    drop(broker);
    if let Some(folder) = arguments.announce.as_deref().and_then(Path::parent) {
        // Made by `detach` for this cluster alone.
        let _ = std::fs::remove_dir_all(folder);
    }
    Ok(())
}

/// Starts this program once more, in a session of its own, and returns when it is ready.
fn detach(arguments: &Arguments) -> Result<()> {
    let own =
        std::env::current_exe().doing(|| "cannot tell the path of this program".to_owned())?;
    let folder = std::env::temp_dir().join(format!("oncegate-broker-{}", std::process::id()));
    std::fs::create_dir_all(&folder).doing(|| format!("cannot create {}", folder.display()))?;
    let (announced, log) = (folder.join("ready"), folder.join("log"));
    let file = File::create(&log).doing(|| format!("cannot create {}", log.display()))?;
    let errors = file.try_clone().doing(|| format!("cannot open {}", log.display()))?;
    let mut command = Command::new("setsid");
    command.arg(own).arg("--brokers").arg(arguments.brokers.to_string());
    for (name, value) in &arguments.properties {
        command.arg("--property").arg(format!("{name}={value}"));
    }
    if arguments.local {
        command.arg("--local");
    }
    command.arg("--announce").arg(&announced);
    command.stdin(Stdio::null()).stdout(file).stderr(errors);
    let mut child = command.spawn().doing(|| "cannot start the broker".to_owned())?;
    let ended = wait_for(START_TIMEOUT, "the broker in the background is ready", || {
        match child.try_wait() {
            Ok(Some(status)) => Ok(Some(status)),
            _ if announced.is_file() => Ok(None),
            _ => Err("still starting".to_owned()),
        }
    })?;
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    match ended {
        None => println!("{}\nTo stop it:  kill {}", text(&announced), child.id()),
        // A cluster that was given needs nobody to stay.
        Some(status) if status.success() => {
            print!("{}", text(&log));
            let _ = std::fs::remove_dir_all(&folder);
        }
        Some(status) => {
            return Err(KitError::new(format!("it did not start ({status}):\n{}", text(&log))));
        }
    }
    Ok(())
}

/// Written beside and renamed, so that whoever waits sees all of it or nothing.
fn announce(file: &Path, said: &str) -> Result<()> {
    let beside = file.with_extension("part");
    std::fs::write(&beside, said)
        .and_then(|()| std::fs::rename(&beside, file))
        .doing(|| format!("cannot write {}", file.display()))
}
