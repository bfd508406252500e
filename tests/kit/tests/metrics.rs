//! What `/metrics` says, held against what the topics hold: totals, lag, and who reports what while
//! partitions move. Must not be in here: names and documents of metrics (`ops::catalogue`).

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use common::{Feeder, assert_exact, await_transaction, broker, end, logs, rest, sample, unique};
use oncegate_testkit::exposition::{self, Sample};
use oncegate_testkit::generator::{Kind, Sent};
use oncegate_testkit::produce::{Timestamps, TransactionOptions, produce, produce_transactional};
use oncegate_testkit::reader::{committed_offset, watermarks};
use oncegate_testkit::scene::{Scene, SceneOptions};
use oncegate_testkit::topics::Admin;
use oncegate_testkit::wait::{wait_for, wait_until};

const SOON: Duration = Duration::from_secs(30);

fn scene(name: &str, options: SceneOptions) -> Scene {
    Scene::new(broker(), &unique(name), options).expect("a scene")
}

/// One scrape; lags must be numbers that can be.
fn scrape(scene: &Scene, process: &str) -> Result<Vec<Sample>, String> {
    let (status, text) = scene.get(process, "/metrics").map_err(|error| error.to_string())?;
    assert_eq!(status, 200, "{text}");
    let samples = exposition::parse(&text).expect("an exposition");
    for lag in samples.iter().filter(|sample| sample.name.starts_with("oncegate_lag_")) {
        assert!(lag.value >= 0.0 && lag.value.is_finite(), "{lag:?}");
    }
    Ok(samples)
}

/// The partitions that a process reports the lag of.
fn reported(samples: &[Sample]) -> BTreeSet<i32> {
    let lags = samples.iter().filter(|sample| sample.name == "oncegate_lag_records");
    lags.filter_map(Sample::partition).collect()
}

/// By partition and verdict, what the journal counts, decided first time.
fn journal_events(samples: &[Sample]) -> BTreeMap<(i32, String), u64> {
    let of_journal = |sample: &&Sample| {
        sample.name == "oncegate_journal_events_total" && sample.label("replay") == "false"
    };
    (samples.iter().filter(of_journal))
        .filter(|sample| sample.value > 0.0)
        .map(|of| ((of.partition().unwrap(), of.label("verdict").to_owned()), of.value as u64))
        .collect()
}

/// The same, as `reconcile` counts it from Kafka alone.
fn reconciled(scene: &Scene) -> BTreeMap<(i32, String), u64> {
    let (sound, said) = scene.command(&["reconcile", "route", "--json"]).expect("it ran");
    assert!(sound, "{said}");
    // What it logs comes behind.
    let mut said = serde_json::Deserializer::from_str(&said).into_iter::<serde_json::Value>();
    let report = said.next().expect("a report").expect("JSON");
    let mut counts = BTreeMap::new();
    for partition in report["partitions"].as_array().expect("partitions") {
        let number = partition["partition"].as_i64().expect("a number") as i32;
        let decided = &partition["decided"];
        let mut count = |verdict: &str, count: &serde_json::Value| {
            if let Some(count @ 1..) = count.as_u64() {
                counts.insert((number, verdict.to_owned()), count);
            }
        };
        for verdict in ["first", "duplicate", "replayed", "correction", "conflict", "admitted"] {
            count(verdict, &decided[verdict]);
        }
        for (reason, of_reason) in decided["quarantined"].as_object().expect("reasons") {
            count(reason, of_reason);
        }
    }
    counts
}

/// P44, and totals: each partition is reported by its owner alone, the sum of the lags comes to 0,
/// and the totals are the journal's, whoever was killed or took over meanwhile.
#[test]
fn totals_are_those_of_reconcile_after_a_kill_and_a_rebalance() {
    let scene = scene("totals", SceneOptions { batch_records: 2_000, ..SceneOptions::default() });
    let feeder = Feeder::start(&scene, sample(201, Kind::Lab, 400_000));
    let mut one = scene.start("one").expect("started");
    let mut two = scene.start("two").expect("started");
    let open = scene.open_transactions().expect("watchers");
    await_transaction(&scene, &open, &["one", "two"]);
    one.kill9().expect("killed");
    let mut one = scene.start("one").expect("started again");
    let sent = feeder.stop();
    rest(&scene, &["one", "two"]);
    let both = || -> Result<(Vec<Sample>, Vec<Sample>), String> {
        let (of_one, of_two) = (scrape(&scene, "one")?, scrape(&scene, "two")?);
        let (by_one, by_two) = (reported(&of_one), reported(&of_two));
        if !by_one.is_disjoint(&by_two) || by_one.len() + by_two.len() != 4 {
            return Err(format!("{by_one:?} and {by_two:?}"));
        }
        Ok((of_one, of_two))
    };
    let (of_one, of_two) = wait_for(SOON, "each partition is reported by its owner alone", both)
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", "two"])));
    let left: BTreeSet<i32> = reported(&of_one);
    assert!(!left.is_empty() && !reported(&of_two).is_empty(), "both have a share");
    end(&mut one);
    let all = wait_for(Duration::from_secs(60), "the other reports all", || {
        let samples = scrape(&scene, "two")?;
        let lag: f64 = (samples.iter().filter(|of| of.name == "oncegate_lag_records"))
            .map(|of| of.value)
            .sum();
        // What is measured comes once a second, after a takeover a moment later than the lag.
        let totals = samples.iter().filter(|of| of.name == "oncegate_journal_records_total");
        let totals = totals.filter(|of| of.label("replay") == "false").count();
        match (reported(&samples).len(), totals) {
            (4, 4) if lag == 0.0 => Ok(samples),
            counts => Err(format!("{counts:?} partitions, lag {lag}")),
        }
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["two"])));
    end(&mut two);
    assert_exact(&scene, &sent, &["one", "two"]);
    assert_eq!(journal_events(&all), reconciled(&scene));
    let replays = all.iter().filter(|of| of.name == "oncegate_journal_records_total");
    let records: f64 = replays.filter(|of| of.label("replay") == "false").map(|of| of.value).sum();
    assert_eq!(records as usize, sent.len());
}

/// A partition that was taken away no longer reports, whatever the metric.
#[test]
fn a_partition_that_left_reports_nothing() {
    let scene = scene("left", SceneOptions::default());
    let sent = sample(202, Kind::Lab, 4_000);
    produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime).expect("produced");
    let mut one = scene.start("one").expect("started");
    rest(&scene, &["one"]);
    wait_until(SOON, "all report", || {
        scrape(&scene, "one").is_ok_and(|samples| reported(&samples).len() == 4)
    })
    .expect("all four");
    let mut two = scene.start("two").expect("started");
    let (of_one, of_two) = wait_for(Duration::from_secs(60), "both have a share", || {
        let (one, two) = (scrape(&scene, "one")?, scrape(&scene, "two")?);
        let shares = (reported(&one).len(), reported(&two).len());
        if shares == (2, 2) { Ok((one, two)) } else { Err(format!("{shares:?}")) }
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", "two"])));
    let any = |samples: &[Sample]| -> BTreeSet<i32> {
        samples.iter().filter_map(Sample::partition).collect()
    };
    assert_eq!(any(&of_one), reported(&of_one), "nothing of those that left");
    assert_eq!(any(&of_two), reported(&of_two));
    end(&mut one);
    end(&mut two);
    assert_exact(&scene, &sent, &["one", "two"]);
}

/// P24: markers take offsets that no reader gets; the lag comes to 0 all the same.
#[test]
fn markers_are_no_lag() {
    let scene = scene("markers", SceneOptions::default());
    let sent = sample(203, Kind::Lab, 300);
    let options = TransactionOptions::new(unique("upstream"), 1);
    let mut one = scene.start("one").expect("started");
    produce_transactional(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime, &options)
        .expect("produced");
    rest(&scene, &["one"]);
    wait_for(SOON, "no lag", || {
        let samples = scrape(&scene, "one")?;
        let lags = samples.iter().filter(|of| of.name.starts_with("oncegate_lag_"));
        let lags: Vec<f64> = lags.map(|of| of.value).collect();
        if lags == [0.0; 8] { Ok(()) } else { Err(format!("{lags:?}")) }
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    let ends = watermarks(&scene.bootstrap, &scene.raw()).expect("ends");
    for (partition, (_, end)) in (0..).zip(&ends) {
        let committed = committed_offset(&scene.bootstrap, &scene.group(), &scene.raw(), partition);
        let committed = committed.expect("an answer").expect("an offset").0;
        assert_eq!(committed, *end, "what other tools take as lag");
    }
    end(&mut one);
    let records: u64 = reconciled(&scene).values().sum();
    assert_eq!(records as usize, sent.len(), "markers are no records");
}

/// P44: of a log that starts above 0 only what is there is lag.
#[test]
fn lag_counts_from_where_it_starts() {
    let scene = scene("starts", SceneOptions { partitions: 1, ..SceneOptions::default() });
    let admin = Admin::new(&scene.bootstrap).expect("an admin client");
    let sent: Vec<Sent> = one_partition(sample(204, Kind::Lab, 8_000));
    produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::EventTime).expect("produced");
    admin.delete_records(&scene.raw(), 0, 5_000).expect("cut");
    let mut one = scene.start("one").expect("started");
    let mut lag_max: f64 = 0.0;
    wait_for(Duration::from_secs(60), "no lag", || {
        let samples = scrape(&scene, "one")?;
        let lag = samples.iter().find(|of| of.name == "oncegate_lag_records");
        let lag = lag.ok_or("not told yet")?.value;
        lag_max = lag_max.max(lag);
        if lag == 0.0 { Ok(()) } else { Err(format!("{lag}")) }
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one"])));
    assert!(lag_max <= 3_000.0, "{lag_max}");
    end(&mut one);
    assert_eq!(reconciled(&scene).values().sum::<u64>(), 3_000);
}

fn one_partition(mut sent: Vec<Sent>) -> Vec<Sent> {
    sent.iter_mut().for_each(|one| one.partition = 0);
    sent
}

/// P09: not ready while the cluster cannot be reached, and before the group was joined; a member
/// that has nothing to do is ready.
#[test]
fn a_member_without_partitions_is_ready() {
    let scene = scene("idle", SceneOptions { partitions: 2, ..SceneOptions::default() });
    let mut processes: Vec<_> =
        ["one", "two", "three"].map(|name| (name, scene.start(name).expect("started"))).into();
    for (name, _) in &processes {
        scene.wait_readyz(name, 200, "ready").expect("ready");
    }
    let shares = || -> Result<Vec<usize>, String> {
        let samples = processes.iter().map(|(name, _)| scrape(&scene, name));
        samples.map(|samples| Ok(reported(&samples?).len())).collect()
    };
    wait_for(Duration::from_secs(60), "one each, and one idles", || {
        let mut shares = shares()?;
        shares.sort_unstable();
        if shares == [0, 1, 1] { Ok(()) } else { Err(format!("{shares:?}")) }
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(&scene, &["one", "two", "three"])));
    for (name, process) in &mut processes {
        scene.wait_readyz(name, 200, "ready").expect("ready");
        end(process);
    }
}
