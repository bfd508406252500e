//! `oncegate status`: what a running process says of itself, in a terminal.
//! Must not be in here: what the status is made of.

use super::load;
use crate::cli::{Outcome, StatusArgs};
use crate::evidence::Table;
use crate::ops::fetch::{Address, get};
use crate::ops::status::{PartitionStatus, RouteStatus, Status, Totals};
use crate::settings::Overrides;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// Where a process listens that was told nothing else.
const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// Asks and prints; fine where the process is ready.
pub fn status(args: &StatusArgs) -> Outcome {
    let address = match (&args.url, &args.config) {
        (Some(url), _) => url.clone(),
        (None, Some(config)) => match configured(config) {
            Ok(listen) => reach(listen),
            Err(outcome) => return outcome,
        },
        (None, None) => reach(DEFAULT),
    };
    let (status, body) = match ask(&address, args) {
        Ok(told) => told,
        Err(why) => {
            eprintln!("status: {address} cannot be reached: {why}");
            return Outcome::Wrong;
        }
    };
    match args.json {
        true => println!("{}", body.trim_end()),
        false => print!("{}", text(&status)),
    }
    if status.ready { Outcome::Fine } else { Outcome::Wrong }
}

fn ask(address: &Address, args: &StatusArgs) -> Result<(Status, String), String> {
    let answer = get(address, "/status", args.timeout)?;
    if answer.status != 200 {
        return Err(format!("it answers with HTTP status {}", answer.status));
    }
    let status = serde_json::from_str(&answer.body)
        .map_err(|error| format!("it does not answer as oncegate of this version: {error}"))?;
    Ok((status, answer.body))
}

fn configured(config: &Path) -> Result<SocketAddr, Outcome> {
    Ok(load(&[config.to_owned()], &Overrides::default())?.http_listen)
}

/// A process that listens everywhere is reached here.
fn reach(listen: SocketAddr) -> Address {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Address::from(SocketAddr::new(ip, listen.port()))
}

/// The whole status for a person.
fn text(status: &Status) -> String {
    let mut text = String::from(if status.ready { "ready" } else { "not ready" });
    text.push_str(&format!(
        "    instance {}, group {}, version {}, up {}\n",
        status.instance,
        status.group,
        status.version,
        humantime::format_duration(std::time::Duration::from_secs(status.uptime_seconds))
    ));
    for wait in &status.waits_for {
        text.push_str(&format!("  waits for: {wait}\n"));
    }
    for route in &status.routes {
        text.push_str(&route_text(route));
    }
    // What a broker said may be in a message; a terminal must not obey it.
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn route_text(route: &RouteStatus) -> String {
    let rate = route.history.last().map(|sample| sample.records_per_second);
    let rate = rate.map_or(String::new(), |rate| format!(", {rate:.1} records/s"));
    let mut text = format!("\n{}: {} -> {}{rate}\n", route.name, route.raw, route.clean);
    if route.partitions.is_empty() {
        text.push_str("no partition is assigned to this process\n");
        return text;
    }
    let mut table = Table::new(&[
        "partition",
        "state",
        "committed",
        "end",
        "lag",
        "lag s",
        "records",
        "through",
        "absorbed",
        "quarantined",
    ]);
    for partition in &route.partitions {
        let of = |count: fn(&Totals) -> u64| shown(partition.totals.as_ref().map(count));
        table.row(&[
            &partition.partition,
            &state(partition),
            &shown(partition.committed_offset),
            &shown(partition.raw_end_offset),
            &shown(partition.lag_records),
            &partition.lag_seconds.map_or(NONE.to_owned(), |lag| format!("{lag:.1}")),
            &of(|totals| totals.records),
            &of(|totals| totals.first + totals.correction + totals.admitted),
            &of(|totals| totals.duplicate + totals.replayed + totals.conflict),
            &of(|totals| totals.quarantined.values().sum()),
        ]);
    }
    text.push_str(&table.to_string());
    text
}

const NONE: &str = "-";

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or(NONE.to_owned(), |value| value.to_string())
}

/// The state, with how far a restore has come.
fn state(partition: &PartitionStatus) -> String {
    match &partition.restore {
        Some(restore) => format!("{} {}/{}", partition.state, restore.next, restore.end),
        None => partition.state.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(ready: bool) -> Status {
        let waits_for: Vec<String> = (!ready)
            .then(|| "lab partition 3: refused (journal-cut: restore it\u{1b}[2J)".to_owned())
            .into_iter()
            .collect();
        serde_json::from_value(serde_json::json!({
            "version": "0.1.0", "instance": "gate-1", "group": "pharmacy", "ready": ready,
            "waits_for": waits_for, "uptime_seconds": 3661, "a field of a later version": 1,
            "routes": [{"name": "lab", "raw": "lab.raw", "clean": "lab.clean", "workers": [],
                "partitions": [{"partition": 3, "state": "running", "committed_offset": 90,
                    "raw_end_offset": 100, "lag_records": 10, "lag_seconds": 2.51,
                    "refusal": null, "waits_for": null, "restore": null, "clock": null,
                    "horizon": null, "store": null,
                    "totals": {"records": 90, "first": 80, "duplicate": 7, "replayed": 1,
                        "correction": 0, "conflict": 0, "admitted": 1,
                        "quarantined": {"late": 2, "future": 1}}},
                  {"partition": 4, "state": "restoring", "committed_offset": null,
                    "raw_end_offset": null, "lag_records": null, "lag_seconds": null,
                    "refusal": null, "waits_for": null, "restore": {"next": 7, "end": 9},
                    "clock": null, "horizon": null, "store": null, "totals": null}],
                "history": [{"at": 1, "records_per_second": 812.25, "lag_records": 10}]},
              {"name": "idle", "raw": "r", "clean": "c", "workers": [], "partitions": [],
                "history": []}],
        }))
        .unwrap()
    }

    #[test]
    fn a_person_sees_the_word_then_each_route() {
        let said = text(&status(true));
        let expected = "\
ready    instance gate-1, group pharmacy, version 0.1.0, up 1h 1m 1s

lab: lab.raw -> lab.clean, 812.2 records/s
partition          state  committed  end  lag  lag s  records  through  absorbed  quarantined
        3        running         90  100   10    2.5       90       81         8            3
        4  restoring 7/9          -    -    -      -        -        -         -            -

idle: r -> c
no partition is assigned to this process
";
        assert_eq!(said, expected);
    }

    #[test]
    fn what_it_waits_for_comes_second_and_obeys_no_escape() {
        let said = text(&status(false));
        let mut lines = said.lines();
        assert!(lines.next().unwrap().starts_with("not ready"));
        let wait = "  waits for: lab partition 3: refused (journal-cut: restore it[2J)";
        assert_eq!(lines.next(), Some(wait));
    }

    #[test]
    fn a_process_that_listens_everywhere_is_asked_here() {
        for (listen, url) in [
            ("0.0.0.0:9464", "http://127.0.0.1:9464"),
            ("[::]:1", "http://[::1]:1"),
            ("10.0.0.7:2", "http://10.0.0.7:2"),
        ] {
            assert_eq!(reach(listen.parse().unwrap()).to_string(), url);
        }
    }
}
