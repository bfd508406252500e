//! The generator's truth and oncegate's identity are made apart from each other; here they must
//! agree: one event, one key and one digest, however it is spelled; two events, two keys; a
//! broken record, no event. The only place of the kit that asks for a key.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use oncegate::identity::{ContentDigest, Deriver, EventKey, Recipe};
use oncegate_testkit::generator::{Kind, Sample, SampleOptions, Truth};

const SEEDS: [u64; 3] = [1, 2, 20_260_701];

fn deriver(kind: Kind) -> Deriver {
    let name = format!("{}.toml", kind.recipe());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/recipes").join(&name);
    let text = std::fs::read_to_string(&path).unwrap();
    Deriver::new(Arc::new(Recipe::parse(&name, &text).unwrap()))
}

#[test]
fn one_event_has_one_key_and_digest_and_two_have_two() {
    for (seed, kind) in SEEDS.into_iter().flat_map(|seed| Kind::ALL.map(|kind| (seed, kind))) {
        let options =
            SampleOptions { seed, records: 30_000, broken_share: 0.01, ..Default::default() };
        let mut deriver = deriver(kind);
        let mut by_event: HashMap<u64, (EventKey, ContentDigest)> = HashMap::new();
        let mut by_key: HashMap<EventKey, u64> = HashMap::new();
        for one in Sample::new(options).unwrap().stream(kind) {
            let Some(payload) = &one.payload else { continue };
            let text = || String::from_utf8_lossy(payload).into_owned();
            let derived = deriver.derive(payload);
            match one.truth {
                Truth::Broken { why } => {
                    assert!(derived.is_err(), "seed {seed}, {kind}, {why:?}: {}", text());
                }
                Truth::Event { event_id, .. } => {
                    let events = derived.unwrap_or_else(|rejection| {
                        panic!("seed {seed}, {kind} event {event_id}: {rejection:?}: {}", text())
                    });
                    assert_eq!(events.len(), 1);
                    let event = events.iter().next().unwrap().unwrap();
                    let known = *by_event.entry(event_id).or_insert((event.key, event.digest));
                    assert_eq!(
                        known,
                        (event.key, event.digest),
                        "seed {seed}, {kind} event {event_id}: {}",
                        text()
                    );
                    let owner = *by_key.entry(event.key).or_insert(event_id);
                    assert_eq!(owner, event_id, "seed {seed}, {kind}: two events, one key");
                }
            }
        }
        assert!(by_event.len() > 8_000, "seed {seed}, {kind}: {}", by_event.len());
    }
}
