//! The GS1 Core Business Vocabulary 2.0: business steps, dispositions and three more.
//!
//! Bare word, URN, web URI and CURIE of one value are one, printed as the URN (the namespace
//! `ns.gs1.org` stands in drafts of the standard and in documents of that time). The vocabulary is
//! closed and its case matters; what stands in a namespace of GS1 (its URNs, the prefixes of its
//! contexts, any address below `gs1.org`) and is unknown is a mistake.
//! A URI of the user's own vocabulary is kept as it is.

use super::text::Text;
use super::uri::{host, is_uri, without_scheme};
use super::{Answer, Input, Output};
use crate::identity::reject::{Reason, fault};

/// Which vocabulary a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    /// Section 7.1.
    BizStep,
    /// Section 7.2.
    Disposition,
    /// Section 7.3.
    BizTransactionType,
    /// Section 7.4.
    SourceDestinationType,
    /// Section 7.5.
    ErrorReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cbv {
    /// A value is read as a text first, by these rules.
    pub text: Text,
    pub vocabulary: Vocabulary,
    /// Keep what stands in a namespace of GS1 and is no word; a bare text never is.
    pub open: bool,
}

const RULE: &str = "a word of the CBV or a URI of one's own is due";

impl Vocabulary {
    /// The beginning of the URN, that of the local part of web URI and CURIE, and the words.
    fn spellings(self) -> (&'static [u8], &'static [u8], &'static [&'static str]) {
        match self {
            Vocabulary::BizStep => (b"urn:epcglobal:cbv:bizstep:", b"BizStep-", BIZ_STEPS),
            Vocabulary::Disposition => (b"urn:epcglobal:cbv:disp:", b"Disp-", DISPOSITIONS),
            Vocabulary::BizTransactionType => {
                (b"urn:epcglobal:cbv:btt:", b"BTT-", BIZ_TRANSACTION_TYPES)
            }
            Vocabulary::SourceDestinationType => {
                (b"urn:epcglobal:cbv:sdt:", b"SDT-", SOURCE_DESTINATION_TYPES)
            }
            Vocabulary::ErrorReason => (b"urn:epcglobal:cbv:er:", b"ER-", ERROR_REASONS),
        }
    }
}

impl Vocabulary {
    /// Whether the last part of a URI is a word, with or without what a web URI has before it.
    fn ends_in_word(self, text: &[u8]) -> bool {
        let (_, local, words) = self.spellings();
        let last = text.rsplit(|b| matches!(b, b':' | b'/' | b'#')).next().unwrap_or(text);
        let begins = last.get(..local.len()).is_some_and(|head| head.eq_ignore_ascii_case(local));
        let word = if begins { &last[local.len()..] } else { last };
        words.iter().any(|known| known.as_bytes() == word)
    }
}

impl Cbv {
    pub fn apply(&self, input: Input<'_>, out: &mut Output) -> Answer {
        let start = out.bytes.len();
        self.text.apply(input, out)?;
        let text = &out.bytes[start..];
        let (urn, local, words) = self.vocabulary.spellings();
        let beginnings =
            [b"cbv:".as_slice(), b"https://ref.gs1.org/cbv/", b"https://ns.gs1.org/cbv/"];
        let web = || beginnings.iter().find_map(|p| text.strip_prefix(*p)?.strip_prefix(local));
        let word = text.strip_prefix(urn).or_else(web).unwrap_or(text);
        if let Some(known) = words.iter().find(|known| known.as_bytes() == word) {
            out.bytes.truncate(start);
            out.bytes.extend_from_slice(urn);
            out.bytes.extend_from_slice(known.as_bytes());
            out.plain = true;
            return Ok(());
        }
        // A known word in another namespace of GS1 is a slip, and would be a second text for it.
        let kept = || !in_gs1_namespace(text) || (self.open && !self.vocabulary.ends_in_word(text));
        match is_uri(text) && kept() {
            true => Ok(()),
            false => Err(fault!(Reason::Cbv, RULE)),
        }
    }
}

fn in_gs1_namespace(text: &[u8]) -> bool {
    // URNs of GS1, and the prefixes that the standard's own contexts bind.
    const BEGINNINGS: [&[u8]; 6] =
        [b"urn:epcglobal:", b"urn:epc:", b"cbv:", b"cbvmda:", b"epcis:", b"gs1:"];
    let begins =
        |with: &&[u8]| text.get(..with.len()).is_some_and(|t| t.eq_ignore_ascii_case(with));
    BEGINNINGS.iter().any(begins) || without_scheme(text).is_some_and(is_gs1_org)
}

/// Whether an address, from behind `//` on, is one of `gs1.org` or of a domain below it.
fn is_gs1_org(address: &[u8]) -> bool {
    let host = host(address);
    let host = host.strip_suffix(b".").unwrap_or(host);
    let Some(at) = host.len().checked_sub(b"gs1.org".len()) else {
        return false;
    };
    host[at..].eq_ignore_ascii_case(b"gs1.org") && (at == 0 || host[at - 1] == b'.')
}

const BIZ_STEPS: &[&str] = &[
    "accepting",
    "arriving",
    "assembling",
    "collecting",
    "commissioning",
    "consigning",
    "creating_class_instance",
    "cycle_counting",
    "decommissioning",
    "departing",
    "destroying",
    "disassembling",
    "dispensing",
    "encoding",
    "entering_exiting",
    "holding",
    "inspecting",
    "installing",
    "killing",
    "loading",
    "other",
    "packing",
    "picking",
    "receiving",
    "removing",
    "repackaging",
    "repairing",
    "replacing",
    "reserving",
    "retail_selling",
    "sampling",
    "sensor_reporting",
    "shipping",
    "staging_outbound",
    "stock_taking",
    "stocking",
    "storing",
    "transporting",
    "unloading",
    "unpacking",
    "void_shipping",
];

const DISPOSITIONS: &[&str] = &[
    "active",
    "available",
    "completeness_inferred",
    "completeness_verified",
    "conformant",
    "container_closed",
    "container_open",
    "damaged",
    "destroyed",
    "dispensed",
    "disposed",
    "encoded",
    "expired",
    "in_progress",
    "in_transit",
    "inactive",
    "mismatch_class",
    "mismatch_instance",
    "mismatch_quantity",
    "needs_replacement",
    "no_pedigree_match",
    "non_conformant",
    "non_sellable_other",
    "partially_dispensed",
    "recalled",
    "reserved",
    "retail_sold",
    "returned",
    "sellable_accessible",
    "sellable_not_accessible",
    "stolen",
    "unavailable",
    "unknown",
];

const BIZ_TRANSACTION_TYPES: &[&str] = &[
    "bol",
    "cert",
    "desadv",
    "inv",
    "pedigree",
    "po",
    "poc",
    "prodorder",
    "recadv",
    "rma",
    "testprd",
    "testres",
    "upevt",
];

const SOURCE_DESTINATION_TYPES: &[&str] = &["location", "owning_party", "possessing_party"];

const ERROR_REASONS: &[&str] = &["did_not_occur", "incorrect_data"];
