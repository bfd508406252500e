//! Support for the identity tests: a random source with a seed, JSON that keeps number texts, and
//! other spellings of the same meaning.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod json;
pub mod spell;

use oncegate::identity::{ContentDigest, Deriver, EventKey, Recipe, Rejection};
use std::path::Path;
use std::sync::Arc;

/// SplitMix64: small, and the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

pub const RECIPES: [&str; 10] = [
    "lab-result",
    "epcis-event",
    "inventory-batch",
    "inventory-item",
    "epcis-document",
    "fhir-observation",
    "reference/lab-result",
    "reference/epcis-event",
    "reference/inventory-batch",
    "reference/inventory-item",
];

pub fn recipe(name: &str) -> Arc<Recipe> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("config/recipes/{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap();
    Arc::new(Recipe::parse(&path.display().to_string(), &text).unwrap_or_else(|e| panic!("{e}")))
}

pub type Answer = Result<(EventKey, ContentDigest, Option<i64>, String), Rejection>;

/// All answers for a document; a rejection of the record is one answer.
pub fn answers(deriver: &mut Deriver, document: &[u8]) -> Vec<Answer> {
    match deriver.derive(document) {
        Err(rejection) => vec![Err(rejection)],
        Ok(events) => events
            .iter()
            .map(|event| match event {
                Ok(e) => Ok((e.key, e.digest, e.event_time_micros, e.prefix.to_owned())),
                Err(rejection) => Err(rejection.clone()),
            })
            .collect(),
    }
}
