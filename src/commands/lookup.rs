//! `oncegate lookup`: what became of one event.
//! Must not be in here: a proof.

use super::evidence::of_route;
use crate::cli::{LookupArgs, Outcome};
use crate::evidence::clean::split_key;
use crate::evidence::lookup::{LookupReport, lookup as prove};
use crate::evidence::{EvidenceError, RouteUnderProof};
use crate::identity::{Deriver, EventKey};
use std::io::Read;
use std::path::Path;

/// Looks up and prints.
pub fn lookup(args: &LookupArgs) -> Outcome {
    let asked = match (&args.key, &args.document) {
        (Some(key), _) => match split_key(key) {
            Some((_, key)) => Asked::Key(key),
            None => return faulty("a key is 64 hex digits, with or without its recipe's prefix"),
        },
        (None, Some(file)) => match read(file) {
            Ok(bytes) => Asked::Document(bytes),
            Err(error) => return faulty(&format!("{}: {error}", file.display())),
        },
        // clap lets neither through.
        (None, None) => return faulty("name a key or a document"),
    };
    of_route(
        "lookup",
        &args.route,
        |source, route| prove(source, route, &asked.keys(route)?),
        |report: &LookupReport| report.findings.is_empty(),
    )
}

fn faulty(what: &str) -> Outcome {
    eprintln!("lookup: {what}");
    Outcome::Faulty
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

enum Asked {
    Key(EventKey),
    Document(Vec<u8>),
}

impl Asked {
    fn keys(&self, route: &RouteUnderProof) -> Result<Vec<EventKey>, EvidenceError> {
        let document = match self {
            Asked::Key(key) => return Ok(vec![*key]),
            Asked::Document(document) => document,
        };
        let mut deriver = Deriver::new(route.recipe.clone());
        let rejected = |rejection: &crate::identity::Rejection| {
            let recipe = route.recipe.name();
            EvidenceError::Unfit(format!("the document has no key by recipe {recipe}: {rejection}"))
        };
        let events = deriver.derive(document).map_err(|rejection| rejected(&rejection))?;
        events.iter().map(|event| event.map(|event| event.key).map_err(rejected)).collect()
    }
}
