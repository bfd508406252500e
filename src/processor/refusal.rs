//! Why a partition is not served: what happened, and what a person can do.
//! Must not be in here: how it was found out.

/// A partition or route that oncegate can no longer answer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// From the closed list below.
    pub cause: RefusalCause,
    /// What happened, to which topic, partition and offsets, and what to do.
    pub message: String,
}

/// The closed list of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCause {
    /// The raw topic was deleted and created anew.
    RawRecreated,
    /// The journal topic is another than the one its entries name.
    JournalRecreated,
    /// The journal lacks entries that were written.
    JournalCut,
    /// The journal's chain is broken or holds what oncegate did not write.
    ChainBroken,
    /// The raw topic's number of partitions changed.
    PartitionsChanged,
    /// The journal was written under another recipe.
    OtherRecipe,
    /// The journal was written by another group or route.
    OtherRoute,
    /// The group's offset lies beyond the journal's last entry.
    OffsetAhead,
    /// Records of the raw topic were deleted before they were read.
    RawHeadDeleted,
    /// The raw topic lost records that were read.
    RawTailLost,
    /// The clean topic holds records, the journal none.
    CleanNotEmpty,
}

impl RefusalCause {
    /// The name used in logs, status and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            RefusalCause::RawRecreated => "raw-recreated",
            RefusalCause::JournalRecreated => "journal-recreated",
            RefusalCause::JournalCut => "journal-cut",
            RefusalCause::ChainBroken => "chain-broken",
            RefusalCause::PartitionsChanged => "partitions-changed",
            RefusalCause::OtherRecipe => "other-recipe",
            RefusalCause::OtherRoute => "other-route",
            RefusalCause::OffsetAhead => "offset-ahead",
            RefusalCause::RawHeadDeleted => "raw-head-deleted",
            RefusalCause::RawTailLost => "raw-tail-lost",
            RefusalCause::CleanNotEmpty => "clean-not-empty",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.cause.as_str(), self.message)
    }
}
