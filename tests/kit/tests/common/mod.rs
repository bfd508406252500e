//! What the real-broker tests share: one broker a test binary, samples, and the check that the
//! logs and stores of a scene agree.
#![allow(dead_code, reason = "each test binary uses its part of it")]

pub mod secure;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oncegate::journal::{Assembler, ChainHead, Entry, OffsetMetadata};
use oncegate::store::{PartitionStore, RocksStores, StoreBudget, Stores};
use oncegate_testkit::broker::{Broker, BrokerOptions};
use oncegate_testkit::compare::Comparison;
use oncegate_testkit::generator::{Kind, Sample, SampleOptions, Sent};
use oncegate_testkit::open::OpenTransactions;
use oncegate_testkit::process::Process;
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::{committed_offset, read_topic};
use oncegate_testkit::scene::Scene;
use oncegate_testkit::wait::{wait_for, wait_until};

/// How long an orderly end may take.
pub const END_TIMEOUT: Duration = Duration::from_secs(40);
/// How long what is expected soon may take.
pub const SOON: Duration = Duration::from_secs(60);

/// The broker of this test binary.
pub fn broker() -> &'static Broker {
    static BROKER: OnceLock<Broker> = OnceLock::new();
    BROKER.get_or_init(|| Broker::start(BrokerOptions::default()).expect("a broker"))
}

/// A name in the cluster that no other run has used.
pub fn unique(name: &str) -> String {
    let nanos = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_nanos();
    format!("{name}-{}-{}", std::process::id(), nanos % 1_000_000)
}

/// A sample of one kind.
pub fn sample(seed: u64, kind: Kind, records: usize) -> Vec<Sent> {
    let options = SampleOptions { seed, records, kinds: vec![kind], ..SampleOptions::default() };
    Sample::new(options).expect("sound options").sent(kind)
}

/// How large a test is: what the environment says, for runs by hand, or what fits into every run.
pub fn size_of_test(variable: &str, default: usize) -> usize {
    match std::env::var(variable) {
        Ok(said) => said.parse().unwrap_or_else(|_| panic!("{variable} is no number")),
        Err(_) => default,
    }
}

/// Sends a sample bit by bit from a thread of its own, so that there is load while faults happen.
pub struct Feeder {
    thread: std::thread::JoinHandle<Vec<Sent>>,
    stop: Arc<AtomicBool>,
}

impl Feeder {
    /// Starts to send.
    pub fn start(scene: &Scene, sample: Vec<Sent>) -> Feeder {
        const AT_ONCE: usize = 2_000;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, bootstrap, raw) = (stop.clone(), scene.bootstrap.clone(), scene.raw());
        let thread = std::thread::spawn(move || {
            let mut sent = 0;
            for some in sample.chunks(AT_ONCE) {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                produce(&bootstrap, &raw, some, Timestamps::EventTime).expect("produced");
                sent += some.len();
            }
            sample[..sent].to_vec()
        });
        Feeder { thread, stop }
    }

    /// Stops, and gives what was sent.
    pub fn stop(self) -> Vec<Sent> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("all was produced")
    }
}

/// Ends a process in order.
pub fn end(process: &mut Process) {
    process.terminate().expect("it runs");
    let status = process.wait(END_TIMEOUT).expect("it ends in time");
    assert!(status.success(), "it ended with {status}: {}", process.end_of_log());
}

/// Waits until all is through and those of the processes that run are ready, or shows the logs. (A
/// partition that is being taken over has a store that is not level yet.)
pub fn rest(scene: &Scene, processes: &[&str]) {
    let ready = |process: &&str| {
        wait_for(SOON, "the process is ready, or has ended", || {
            match scene.get(process, "/readyz") {
                Ok((200, _)) | Err(_) => Ok(()),
                Ok((status, body)) => Err(format!("{status} {body}")),
            }
        })
    };
    let rested = scene.wait_until_through().and_then(|()| processes.iter().try_for_each(ready));
    if let Err(error) = rested {
        panic!("{error}\n{}", logs(scene, processes));
    }
}

/// The logs of some processes.
pub fn logs(scene: &Scene, processes: &[&str]) -> String {
    let logs = processes.iter().map(|name| format!("--- {name}\n{}", scene.log(name)));
    logs.collect::<Vec<_>>().join("\n")
}

/// Asserts that readers of the clean topic see each event once, in order, unchanged.
pub fn assert_exact(scene: &Scene, sent: &[Sent], processes: &[&str]) -> Comparison {
    let found = scene.compare(sent).expect("the clean topic");
    assert!(found.is_exact(), "{found}\n{}", logs(scene, processes));
    found
}

/// Every entry of a journal partition, its chain followed from the first.
pub fn entries(scene: &Scene, partition: usize) -> Vec<Entry> {
    let records = read_topic(&scene.bootstrap, &scene.journal()).expect("the journal");
    let (mut assembler, mut head) = (Assembler::default(), ChainHead::EMPTY);
    let mut entries = Vec::new();
    for record in &records[partition] {
        let value = record.payload.as_deref().expect("a value");
        if let Some(entry) = assembler.push(value).expect("a journal record") {
            head = head.follow(&entry).expect("an unbroken chain");
            entries.push(entry);
        }
    }
    assert!(!assembler.is_open(), "the last entry is whole");
    entries
}

/// Asserts that for each partition the journal's last entry, the committed offset with its
/// metadata, and the store of its last owner agree, that no store leads the journal, that each
/// entry goes on where the one before ended, and that the counts add up to what was sent and to
/// what stands in clean and quarantine. The processes must have ended.
pub fn assert_agreement(scene: &Scene, sent: &[Sent], processes: &[&str]) {
    let clean = read_topic(&scene.bootstrap, &scene.clean()).expect("the clean topic");
    let quarantine =
        read_topic(&scene.bootstrap, &scene.quarantine()).expect("the quarantine topic");
    for partition in 0..scene.options.partitions as usize {
        let entries = entries(scene, partition);
        let last = entries.last().expect("an entry");
        let number = partition as i32;
        let (offset, metadata) =
            committed_offset(&scene.bootstrap, &scene.group(), &scene.raw(), number)
                .expect("an answer")
                .expect("a committed offset");
        assert_eq!(last.header.to, offset, "partition {partition}");
        let metadata: OffsetMetadata = metadata.parse().expect("oncegate's metadata");
        let head = ChainHead { number: last.number, hash: last.hash };
        assert!(metadata.names(&head), "partition {partition}: {metadata} is not {head:?}");
        let end = clean[partition].last().map_or(-1, |record| record.offset);

        let totals = last.header.total_counts.as_ref().expect("totals");
        let replayed = last.header.total_replay_counts.as_ref().expect("totals");
        // Whoever moves a group's offsets wipes the metadata; what the log holds then, markers
        // included, is the base until the next clean record.
        let noted = &metadata.clean;
        let based_anew =
            noted.last_offset == -1 && noted.accounted_to > end && replayed.records > 0;
        assert!(
            noted.last_offset == end || based_anew,
            "partition {partition}: {metadata}, clean ends at {end}"
        );
        let of_partition = |one: &&Sent| one.partition == number;
        assert_eq!(totals.records as usize, sent.iter().filter(of_partition).count());
        let let_through = totals.first + totals.correction + totals.admitted;
        assert_eq!(let_through as usize, clean[partition].len(), "partition {partition}");
        assert_eq!(replayed.first, 0, "a replay lets nothing through");
        let quarantined: u64 =
            [totals, replayed].iter().flat_map(|counts| counts.quarantined.values()).sum();
        assert_eq!(quarantined as usize, quarantine[partition].len(), "partition {partition}");
        let parts = totals.first
            + totals.correction
            + totals.duplicate
            + totals.conflict
            + totals.replayed
            + totals.quarantined.values().sum::<u64>();
        assert_eq!(parts, totals.records, "every event is in exactly one count");
        for pair in entries.windows(2) {
            let (before, after) = (&pair[0].header, &pair[1].header);
            assert!(after.decided_to >= before.decided_to, "partition {partition}");
            assert!(after.from <= before.to, "partition {partition}: offsets were left out");
        }
        assert_stores(scene, &entries, number, processes);
    }
}

/// The stores of all processes: each holds an entry of the chain, one of them the last.
fn assert_stores(scene: &Scene, entries: &[Entry], partition: i32, processes: &[&str]) {
    let mut highest = 0;
    for process in processes {
        let stores = RocksStores::open(&scene.state_dir(process), StoreBudget::default())
            .expect("the stores of a process that has ended");
        let store = stores.open("route", partition).expect("the store");
        let Some(position) = store.position() else { continue };
        let entry = entries
            .get(position.number as usize - 1)
            .unwrap_or_else(|| panic!("the store of {process} leads the journal"));
        assert_eq!(entry.hash, position.hash, "partition {partition}, {process}");
        highest = highest.max(position.number);
    }
    assert_eq!(
        highest as usize,
        entries.len(),
        "partition {partition}: no store is level\n{}",
        logs(scene, processes)
    );
}

/// A broker of one's own, to do faults to.
pub fn own_broker() -> Broker {
    Broker::start(BrokerOptions { faults: true, ..BrokerOptions::default() })
        .expect("a broker of our own")
}

/// Waits until a transaction of the gate is open on the journal.
pub fn await_transaction(scene: &Scene, open: &OpenTransactions, processes: &[&str]) {
    wait_until(SOON, "a transaction is open", || open.any().unwrap_or(false))
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(scene, processes)));
}

/// Waits until a process has logged a text at least so often.
pub fn await_log(scene: &Scene, process: &str, text: &str, times: usize, timeout: Duration) {
    let what = format!("{process} has logged {text:?} {times} times");
    wait_for(timeout, &what, || {
        let seen = scene.log(process).matches(text).count();
        if seen >= times { Ok(()) } else { Err(format!("{seen} times")) }
    })
    .unwrap_or_else(|error| panic!("{error}\n{}", logs(scene, &[process])));
}

/// Waits until `/readyz` of a process has this status and says `word`; shows the log otherwise.
pub fn await_readyz(scene: &Scene, process: &str, status: u16, word: &str) -> String {
    scene
        .wait_readyz(process, status, word)
        .unwrap_or_else(|error| panic!("{error}\n{}", logs(scene, &[process])))
}

/// An act of a person on partition 0, as the member whose state directory is "one": whether it was
/// done, and what it said.
pub fn act(scene: &Scene, command: &str, more: &[&str]) -> (bool, String) {
    let state = scene.state_dir("one");
    let state = state.to_str().expect("UTF-8");
    let common = [command, "route", "--partition", "0", "--by", "J. Roe", "--because", "retention"];
    scene.command(&[&common[..], &["--state-dir", state], more].concat()).expect("it runs")
}
