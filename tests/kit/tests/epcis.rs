//! Published EPCIS documents through the running gate, one event of each document at a time.
//! The documents are no part of this project: where they do not lie beside it, there is no test.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{broker, end, entries, rest, unique};
use oncegate::identity::{Deriver, EventKey, Recipe, shipped_recipe};
use oncegate_testkit::generator::{Broken, Kind, Sent, Truth};
use oncegate_testkit::produce::{Timestamps, produce};
use oncegate_testkit::reader::{Record, read_topic};
use oncegate_testkit::scene::{Scene, SceneOptions};

const FOLDERS: [&str; 4] =
    ["documents", "documents/openepcis_invalid", "hash-fixtures", "expected-equal"];

/// Every document of the published collection, XML included, in one order.
fn documents() -> Option<Vec<Vec<u8>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/epcis");
    let of = |folder: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(root.join(folder)).expect("a folder of documents");
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect()
    };
    if !root.is_dir() {
        return None;
    }
    let mut paths: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| of(folder)).collect();
    paths.retain(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("json" | "jsonld" | "xml"))
    });
    paths.sort();
    Some(paths.iter().map(|path| std::fs::read(path).expect("a document")).collect())
}

/// What the identity library says of all documents: keys, how often an event came, rejections.
#[derive(Default)]
struct Expected {
    keys: BTreeMap<EventKey, usize>,
    rejected: BTreeMap<&'static str, usize>,
}

fn expected(documents: &[Vec<u8>]) -> Expected {
    let text = shipped_recipe("epcis-document").expect("it is shipped");
    let recipe = Arc::new(Recipe::parse("epcis-document", text).expect("sound"));
    let mut deriver = Deriver::new(recipe);
    let mut expected = Expected::default();
    let mut digests = BTreeMap::new();
    for document in documents {
        match deriver.derive(document) {
            Err(rejection) => *expected.rejected.entry(rejection.reason.as_str()).or_default() += 1,
            Ok(events) => events.iter().for_each(|event| match event {
                Ok(event) => {
                    *expected.keys.entry(event.key).or_default() += 1;
                    let digest = *digests.entry(event.key).or_insert(event.digest);
                    assert_eq!(digest, event.digest, "the collection holds no conflict");
                }
                Err(rejection) => {
                    *expected.rejected.entry(rejection.reason.as_str()).or_default() += 1;
                }
            }),
        }
    }
    expected
}

fn send(scene: &Scene, documents: impl Iterator<Item = Vec<u8>>) {
    let sent: Vec<Sent> = documents
        .map(|document| Sent {
            kind: Kind::Epcis,
            partition: 0,
            key: b"sender".to_vec(),
            payload: Some(document),
            event_time_ms: 0,
            truth: Truth::Broken { why: Broken::NotJson },
        })
        .collect();
    produce(&scene.bootstrap, &scene.raw(), &sent, Timestamps::Now).expect("produced");
}

fn read(scene: &Scene, topic: &str) -> Vec<Record> {
    read_topic(&scene.bootstrap, topic).expect("a topic").into_iter().flatten().collect()
}

fn reasons(quarantine: &[Record]) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for record in quarantine {
        let reason = record.header("oncegate-reason").expect("a reason");
        *reasons.entry(reason.to_owned()).or_default() += 1;
    }
    reasons
}

#[test]
fn published_documents_pass_once_and_a_second_pass_is_absorbed_whole() {
    let Some(documents) = documents() else { return };
    let expected = expected(&documents);
    let events: usize = expected.keys.values().sum();
    // 91 events of the valid documents, and the one good event of an invalid document.
    assert_eq!((events, expected.keys.len()), (92, 83), "events and distinct ones");
    let rejected: usize = expected.rejected.values().sum();
    assert!(rejected >= 15 + 17, "invalid documents and XML: {:?}", expected.rejected);
    let options = SceneOptions {
        kind: Kind::Epcis,
        partitions: 1,
        recipe: Some("epcis-document".to_owned()),
        batch_records: 7,
        ..SceneOptions::default()
    };
    let scene = Scene::new(broker(), &unique("epcis"), options).expect("a scene");
    let mut one = scene.start("one").expect("started");

    send(&scene, documents.iter().cloned());
    rest(&scene, &["one"]);
    let clean = read(&scene, &scene.clean());
    let keys: BTreeSet<&str> =
        clean.iter().map(|record| record.header("oncegate-key").expect("a key")).collect();
    let due: BTreeSet<String> = expected.keys.keys().map(ToString::to_string).collect();
    assert_eq!(clean.len(), keys.len(), "no key twice");
    assert!(keys.iter().copied().eq(due.iter().map(String::as_str)), "each key once");
    let quarantine = read(&scene, &scene.quarantine());
    let found = reasons(&quarantine);
    assert!(found.iter().map(|(r, n)| (r.as_str(), *n)).eq(expected.rejected.clone()), "{found:?}");
    let xml = |record: &Record| record.payload.as_deref().is_some_and(|p| p.starts_with(b"<"));
    for record in quarantine.iter().filter(|record| xml(record)) {
        let detail = record.header("oncegate-detail").expect("a detail");
        assert!(detail.contains("XML"), "XML is refused clearly: {detail}");
    }
    assert_eq!(read(&scene, &scene.audit()).len(), events - clean.len());

    send(&scene, documents.iter().rev().cloned());
    rest(&scene, &["one"]);
    assert_eq!(read(&scene, &scene.clean()), clean, "the second pass adds nothing");
    let found = reasons(&read(&scene, &scene.quarantine()));
    assert!(found.values().sum::<usize>() == 2 * rejected, "{found:?}");
    let audit = read(&scene, &scene.audit());
    assert_eq!(audit.len(), events - clean.len() + events, "each event of the second is absorbed");
    for record in audit {
        let text = String::from_utf8(record.payload.expect("a value")).expect("UTF-8");
        assert!(text.contains(r#""verdict":"duplicate""#), "{text}");
    }
    end(&mut one);
    let totals = entries(&scene, 0).pop().expect("an entry").header.total_counts.expect("totals");
    assert_eq!(totals.records as usize, 2 * documents.len());
    assert_eq!((totals.first as usize, totals.duplicate as usize), (83, 2 * events - 83));
    assert_eq!(totals.quarantined.values().sum::<u64>() as usize, 2 * rejected);
    reduced_documents_derive_the_same_keys(&clean);
}

/// A clean record is a document of its own: its one event has the key in the header.
fn reduced_documents_derive_the_same_keys(clean: &[Record]) {
    let text = shipped_recipe("epcis-document").expect("it is shipped");
    let mut deriver = Deriver::new(Arc::new(Recipe::parse("epcis-document", text).expect("sound")));
    for record in clean {
        let events = deriver.derive(record.payload.as_deref().expect("a value")).expect("sound");
        assert_eq!(events.len(), 1);
        let event = events.iter().next().expect("one").expect("keyed");
        assert_eq!(Some(event.key_text().as_str()), record.header("oncegate-key"));
        assert_eq!(Some(event.digest.to_string().as_str()), record.header("oncegate-digest"));
    }
}
