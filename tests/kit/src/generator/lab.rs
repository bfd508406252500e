//! Results of a clinical laboratory. Of its members the recipe normalizes accession, analyte,
//! instrument and time; all others, value and unit among them, are never respelled.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::codes::{ANALYTES, respelled_text};
use super::json::Json;
use super::stream::Occasion;
use super::time;

/// Stands before the event's number in the accession.
pub(super) const PREFIX: &str = "A";

/// What comments are made of; ASCII, so that they can be cut anywhere.
const WORDS: [&str; 24] = [
    "specimen",
    "slightly",
    "haemolysed",
    "repeat",
    "confirmed",
    "on",
    "second",
    "analyser",
    "called",
    "to",
    "ward",
    "read",
    "back",
    "by",
    "nurse",
    "delta",
    "check",
    "reviewed",
    "dilution",
    "1:10",
    "within",
    "expected",
    "range",
    "see",
];

#[derive(Clone, Debug)]
pub(super) struct LabResult {
    accession: String,
    analyte: usize,
    instrument: String,
    pub(super) at_us: i64,
    tenths: u32,
    hundredths: bool,
    collector: u32,
    /// How many bytes to come near to.
    bytes: Option<usize>,
    event_id: u64,
}

/// What a result has at least, and with all of its members, in bytes.
const SHORT_BYTES: usize = 170;
const WHOLE_BYTES: usize = 390;

pub(super) fn key(source: u64) -> String {
    // Some names are not ASCII, so that escapes and composed characters matter.
    if source % 3 == 2 { format!("analyseur-é{source}") } else { format!("chem-{source}") }
}

impl LabResult {
    pub(super) fn new(
        occasion: Occasion,
        bytes: Option<usize>,
        rng: &mut Xoshiro256PlusPlus,
    ) -> LabResult {
        let analyte = rng.random_range(0..ANALYTES.len());
        LabResult {
            accession: format!("{PREFIX}{:09}", occasion.event_id),
            analyte,
            instrument: key(occasion.source),
            at_us: occasion.at_us,
            tenths: rng.random_range(ANALYTES[analyte].tenths.clone()),
            hundredths: rng.random_bool(0.3),
            collector: rng.random_range(1..400),
            bytes,
            event_id: occasion.event_id,
        }
    }

    pub(super) fn document(&self) -> Json {
        let loinc = ANALYTES[self.analyte].loinc;
        self.with(&self.accession, loinc, &self.instrument, &time::utc(self.at_us))
    }

    pub(super) fn respelled(&self, rng: &mut Xoshiro256PlusPlus) -> Json {
        let loinc = ANALYTES[self.analyte].loinc;
        let loinc = if rng.random_bool(0.3) { format!(" {loinc} ") } else { loinc.to_owned() };
        let accession = respelled_text(&self.accession, rng);
        let instrument = respelled_text(&self.instrument, rng);
        self.with(&accession, &loinc, &instrument, &time::respelled(self.at_us, rng))
    }

    fn with(&self, accession: &str, loinc: &str, instrument: &str, at: &str) -> Json {
        let analyte = &ANALYTES[self.analyte];
        let value = format!("{}.{}", self.tenths / 10, self.tenths % 10);
        let value = if self.hundredths { format!("{value}0") } else { value };
        let mut members = vec![
            ("accession", Json::text(accession)),
            ("analyte_loinc", Json::text(loinc)),
            ("instrument_id", Json::text(instrument)),
            ("resulted_at", Json::text(at)),
            ("value", Json::Bare(value)),
            ("unit", Json::text(analyte.unit)),
            ("status", Json::text("final")),
        ];
        if self.bytes.is_none_or(|bytes| bytes >= WHOLE_BYTES) {
            members.extend(self.circumstances());
        }
        if let Some(bytes) = self.bytes {
            let has = if bytes >= WHOLE_BYTES { WHOLE_BYTES } else { SHORT_BYTES };
            members.push(("comment", Json::text(self.comment(bytes.saturating_sub(has)))));
        }
        Json::Object(members)
    }

    /// The members that say how the result came about.
    fn circumstances(&self) -> [(&'static str, Json); 5] {
        let analyte = &ANALYTES[self.analyte];
        let bound = |tenths: u32| Json::Bare(format!("{}.{}", tenths / 10, tenths % 10));
        [
            (
                "reference_range",
                Json::Object(vec![
                    ("low", bound(analyte.tenths.start)),
                    ("high", bound(analyte.tenths.end)),
                ]),
            ),
            (
                "specimen",
                Json::Object(vec![
                    ("type", Json::text("serum")),
                    ("collected_by", Json::text(format!("phleb-{}", self.collector))),
                ]),
            ),
            ("method", Json::text("ion-selective electrode")),
            ("performing_lab", Json::text("Core laboratory / CLIA 05D0642827")),
            ("flags", Json::Array(vec![Json::text("N"), Json::text("autoverified")])),
        ]
    }

    /// Words in an order of this event's own, so that they compress as words do.
    fn comment(&self, bytes: usize) -> String {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.event_id);
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(WORDS[rng.random_range(0..WORDS.len())]);
            text.push(' ');
        }
        text.truncate(bytes);
        text
    }
}
