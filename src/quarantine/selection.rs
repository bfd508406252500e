//! Which held records a person means.
//! Must not be in here: what is done with them.

use super::held::{Held, HeldId};

/// A choice of held records; what is not said excludes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these records.
    pub ids: Vec<HeldId>,
    /// Only these reasons.
    pub reasons: Vec<String>,
    /// Only this partition.
    pub partition: Option<i32>,
    /// Only offsets of the quarantine topic from here on.
    pub from: Option<i64>,
    /// Only offsets of the quarantine topic below this.
    pub to: Option<i64>,
}

impl Selection {
    /// Whether nothing is said, so that everything is meant.
    pub fn is_everything(&self) -> bool {
        *self == Selection::default()
    }

    /// Whether a held record is meant.
    pub fn holds(&self, held: &Held) -> bool {
        self.reaches(held.id) && (self.reasons.is_empty() || self.reasons.contains(&held.reason))
    }

    /// Whether a record at this place could be meant, whatever it says.
    pub fn reaches(&self, id: HeldId) -> bool {
        (self.ids.is_empty() || self.ids.contains(&id))
            && self.partition.is_none_or(|partition| partition == id.partition)
            && self.from.is_none_or(|from| id.offset >= from)
            && self.to.is_none_or(|to| id.offset < to)
    }

    /// The part of a partition's offsets `[low, end)` that has to be read.
    pub fn range(&self, partition: i32, low: i64, end: i64) -> (i64, i64) {
        if self.partition.is_some_and(|only| only != partition) {
            return (end, end);
        }
        let mut range = (low.max(self.from.unwrap_or(low)), end.min(self.to.unwrap_or(end)));
        if !self.ids.is_empty() {
            let offsets = || self.ids.iter().filter(|id| id.partition == partition);
            let first = offsets().map(|id| id.offset).min().unwrap_or(end);
            let last = offsets().map(|id| id.offset).max().map_or(first, |last| last + 1);
            range = (range.0.max(first), range.1.min(last));
        }
        (range.0, range.1.max(range.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(partition: i32, offset: i64) -> HeldId {
        HeldId { partition, offset }
    }

    #[test]
    fn what_is_said_narrows_what_is_meant() {
        let all = Selection::default();
        assert!(all.is_everything() && all.reaches(id(0, 0)));
        assert_eq!(all.range(0, 3, 9), (3, 9));
        let some = Selection { partition: Some(1), from: Some(5), to: Some(8), ..all.clone() };
        assert!(some.reaches(id(1, 5)) && some.reaches(id(1, 7)));
        assert!(!some.reaches(id(1, 8)) && !some.reaches(id(1, 4)) && !some.reaches(id(0, 6)));
        assert_eq!((some.range(1, 0, 100), some.range(0, 0, 100)), ((5, 8), (100, 100)));
        let ids = Selection { ids: vec![id(0, 7), id(0, 4), id(2, 1)], ..all };
        assert_eq!((ids.range(0, 0, 100), ids.range(1, 0, 100)), ((4, 8), (100, 100)));
        assert_eq!(ids.range(2, 5, 100), (5, 5), "it is no longer retained");
        assert!(!ids.reaches(id(0, 5)));
    }
}
