//! Where a delivery stands in the raw topic, as headers say it.
//! Must not be in here: anything of its content.

use super::collected::Collected;
use std::fmt::Write;

/// Which event of which collected record; an item where the record is a list of events.
pub(super) struct At {
    pub record: usize,
    pub item: Option<u32>,
}

impl At {
    pub fn place(&self, collected: &Collected) -> Place {
        Place { offset: collected.offset(self.record), item: self.item }
    }

    /// Another delivery of the event. All of a route's records have one granularity.
    pub fn other(&self, offset: i64, item: u32) -> Place {
        Place { offset, item: self.item.map(|_| item) }
    }
}

/// A place in the raw partition.
pub(super) struct Place {
    offset: i64,
    item: Option<u32>,
}

impl Place {
    /// Appends `topic/partition/offset`, and `/item` where the record is a list of events;
    /// `topic_partition` is that with a slash behind each.
    pub fn push(&self, topic_partition: &str, text: &mut String) {
        text.push_str(topic_partition);
        // Writing to a `String` does not fail.
        let _ = write!(text, "{}", self.offset);
        if let Some(item) = self.item {
            let _ = write!(text, "/{item}");
        }
    }
}
