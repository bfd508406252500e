//! From held records to the raw records that are appended again.
//! Must not be in here: appending, or whether the cause was mended; the gate decides as ever.

use super::held::{Held, HeldId};
use std::collections::BTreeSet;

/// The header that marks a raw record as redriven; its value is the record's place in the
/// quarantine topic. The gate keeps it as `oncegate-raw-redriven`.
pub const REDRIVEN: &str = "oncegate-redriven";

/// A record to be appended to the raw topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAppend {
    /// Partition: the one that the record was read from.
    pub partition: i32,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub payload: Option<Vec<u8>>,
    /// Its headers, and last the mark.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// A held record that cannot be appended as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Quarantine holds its hash and first bytes only.
    #[error("{id}: quarantine holds only the hash and the first bytes of {source_at}")]
    Cut {
        /// Which.
        id: HeldId,
        /// Its raw position.
        source_at: String,
    },
    /// It came from another topic or route.
    #[error("{id}: it was quarantined by {found}, this is {route}")]
    OtherRoute {
        /// Which.
        id: HeldId,
        /// Who quarantined it.
        found: String,
        /// This route.
        route: String,
    },
}

/// Turns held records into raw ones, each raw record once: a document of which several items are
/// held is one record, and its other events will be found to be duplicates.
pub struct Redriver {
    quarantine_topic: String,
    route: String,
    taken: BTreeSet<(i32, i64)>,
}

impl Redriver {
    /// For the records of a quarantine topic that `route` (`group/route`) wrote.
    pub fn new(quarantine_topic: &str, route: &str) -> Redriver {
        Redriver {
            quarantine_topic: quarantine_topic.to_owned(),
            route: route.to_owned(),
            taken: BTreeSet::new(),
        }
    }

    /// What to append for a held record; `None` where its raw record was given before.
    ///
    /// # Errors
    /// [`Refused`] where it cannot be appended as it was.
    pub fn redrive(&mut self, held: &Held) -> Result<Option<RawAppend>, Refused> {
        if held.route != self.route {
            let (id, found, route) = (held.id, held.route.clone(), self.route.clone());
            return Err(Refused::OtherRoute { id, found, route });
        }
        if held.is_cut {
            return Err(Refused::Cut { id: held.id, source_at: held.source() });
        }
        if !self.taken.insert((held.id.partition, held.offset)) {
            return Ok(None);
        }
        let mark = format!("{}/{}", self.quarantine_topic, held.id);
        let mut headers = held.headers.clone();
        // Of a record that is redriven again, the last mark tells where it was held last.
        headers.retain(|(name, _)| name != REDRIVEN.as_bytes());
        headers.push((REDRIVEN.as_bytes().to_vec(), Some(mark.into_bytes())));
        Ok(Some(RawAppend {
            partition: held.id.partition,
            key: held.key.clone(),
            payload: held.payload.clone(),
            headers,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quarantine::held::held_sample as held;

    #[test]
    fn a_record_goes_back_once_as_it_was_and_marked() {
        let two_items = [held(4, 9, Some(0)), held(5, 9, Some(3)), held(6, 10, None)];
        let mut redriver = Redriver::new("q", "g/r");
        let appends: Vec<RawAppend> =
            two_items.iter().filter_map(|held| redriver.redrive(held).unwrap()).collect();
        assert_eq!(appends.len(), 2);
        assert_eq!(
            (appends[0].key.clone(), appends[0].payload.as_deref()),
            (None, Some(&b"{}"[..]))
        );
        let mark = (REDRIVEN.as_bytes().to_vec(), Some(b"q/1/4".to_vec()));
        assert_eq!(appends[0].headers, [(b"a".to_vec(), None), mark]);
    }

    #[test]
    fn what_is_not_whole_or_not_ours_stays() {
        let cut = Held { is_cut: true, ..held(4, 9, None) };
        let other = Held { route: "x/y".into(), ..held(5, 10, None) };
        let mut redriver = Redriver::new("q", "g/r");
        assert!(matches!(redriver.redrive(&cut), Err(Refused::Cut { .. })));
        assert!(matches!(redriver.redrive(&other), Err(Refused::OtherRoute { .. })));
    }
}
