//! The systemd unit: what it runs, and the promises that its time-outs and hardening keep.

use super::{read, run_args, seconds, shipped_settings, shutdown_s};
use std::collections::BTreeMap;

/// The settings of a section; a setting that comes again adds a value.
fn section(unit: &str, wanted: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut inside = false;
    for line in unit.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == format!("[{wanted}]");
        } else if let Some((name, value)) = line.split_once('=')
            && inside
            && !line.starts_with('#')
        {
            found.entry(name.to_owned()).or_default().push(value.to_owned());
        }
    }
    found
}

#[test]
fn the_unit_runs_what_the_command_line_takes() {
    let unit = read("deploy/systemd/oncegate.service");
    let service = section(&unit, "Service");
    let one = |name: &str| service.get(name).map_or("", |values| values[0].as_str());
    let start = one("ExecStart").replace("${STATE_DIRECTORY}", "/var/lib/oncegate");
    let words: Vec<String> = start.split(' ').map(str::to_owned).collect();
    assert_eq!(words[0], "/usr/bin/oncegate");
    let args = run_args(&words[1..]);
    assert_eq!(args.config.config, [std::path::Path::new("/etc/oncegate/oncegate.toml")]);
    // The port is that of the configuration: this machine's alone unless told otherwise.
    assert_eq!(args.listen, None);
    assert_eq!(one("StateDirectory"), "oncegate");

    assert!(seconds(one("TimeoutStopSec")) > shutdown_s(&shipped_settings()));
    assert_eq!(one("Restart"), "on-failure");
    assert_eq!(one("RestartPreventExitStatus"), "2", "a faulty configuration stays faulty");
    assert!(one("LimitNOFILE").parse::<u32>().unwrap() >= 65_536);
    for (name, value) in [
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("CapabilityBoundingSet", ""),
        ("MemoryDenyWriteExecute", "yes"),
    ] {
        assert_eq!(service.get(name), Some(&vec![value.to_owned()]), "{name}");
    }
    let user = one("User");
    assert!(read("deploy/systemd/oncegate.sysusers").contains(&format!("u {user} ")));
}
