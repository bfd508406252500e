//! Normalizers: each turns the many spellings of one value into one text, or refuses it.
//!
//! A normalizer is data (its options) and one pure function. It checks its own grammar byte by
//! byte; no other parser sees a text before that. It must not guess: what has no certain meaning
//! is refused with a [`Fault`](super::reject::Fault) that names the rule and never the value.

mod calendar;
mod cbv;
mod codes;
mod decimal;
mod epc;
mod facts;
mod gs1;
mod gs1_ais;
mod gs1_keys;
mod gs1_link;
mod gs1_scan;
mod gs1_urn;
mod text;
mod timestamp;
pub(crate) mod try_out;
mod ucum;
mod ucum_symbols;
mod unit;
mod uri;
mod written_time;

pub(crate) use cbv::{Cbv, Vocabulary};
pub(crate) use codes::{Enumeration, Loinc, Ndc, Uuid};
pub(crate) use decimal::{Decimal, Excess, push_integer, push_number_by_value};
pub(crate) use epc::{Epc, EpcPart};
pub(crate) use facts::Fact;
pub(crate) use gs1::{Gtin, Serial};
pub(crate) use text::{Case, Text, Trim};
pub(crate) use timestamp::{Finer, Format, Precision, Style, Timestamp};
pub(crate) use ucum::Ucum;
pub(crate) use unit::{Entry, MAX_SPELLING, Unit, Unknown};
pub(crate) use written_time::zone_seconds;

use super::reject::Fault;

/// What stands in the document where a normalizer looks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// A string, its escapes undone: always valid UTF-8.
    Text(&'a [u8]),
    /// A number, as its own text.
    Number(&'a [u8]),
    /// Nothing, `null`, a truth value, an array or an object.
    Other,
}

/// Where a normalizer writes. One is used for all values of a document, so that nothing is
/// allocated once warm.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// The normalized values, one behind the other.
    pub bytes: Vec<u8>,
    /// The last value needs no escape in ASCII JSON.
    pub plain: bool,
    /// The last value as microseconds since 1970, where it is a time.
    pub micros: i64,
    /// What a person should know about the last value although it is accepted.
    pub flag: Option<&'static str>,
    /// Room for texts that have to be composed anew.
    pub scratch: String,
}

pub(crate) type Answer = Result<(), Fault>;

/// One normalizer with its options.
#[derive(Clone, Debug)]
pub(crate) enum Normalizer {
    Text(Text),
    Decimal(Decimal),
    Timestamp(Timestamp),
    Unit(Unit),
    Ucum(Ucum),
    Epc(Epc),
    Gtin(Gtin),
    Serial(Serial),
    Ndc(Ndc),
    Cbv(Cbv),
    Loinc(Loinc),
    Uuid(Uuid),
    Enum(Enumeration),
}

impl Normalizer {
    /// Appends the normalized value to `out.bytes`. After a fault, what was appended is undefined
    /// and the caller drops it.
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        out.plain = true;
        match self {
            Normalizer::Text(n) => n.apply(input, out),
            Normalizer::Decimal(n) => n.apply(input, out),
            Normalizer::Timestamp(n) => n.apply(input, out),
            Normalizer::Unit(n) => n.apply(input, out),
            Normalizer::Ucum(n) => n.apply(input, out),
            Normalizer::Epc(n) => n.apply(input, out),
            Normalizer::Gtin(n) => n.apply(input, out),
            Normalizer::Serial(n) => n.apply(input, out),
            Normalizer::Ndc(n) => n.apply(input, out),
            Normalizer::Cbv(n) => n.apply(input, out),
            Normalizer::Loinc(n) => n.apply(input, out),
            Normalizer::Uuid(n) => n.apply(input, out),
            Normalizer::Enum(n) => n.apply(input, out),
        }
    }
}

/// The text of an input that must be a string, or the fault of its kind.
fn text_or(input: Input<'_>, fault: Fault) -> Result<&[u8], Fault> {
    match input {
        Input::Text(text) => Ok(text),
        _ => Err(fault),
    }
}
