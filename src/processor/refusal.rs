//! Why a partition is not served: what happened, and what a person can do.
//! Must not be in here: how it was found out.

use crate::named::named;

/// A partition or route that oncegate can no longer answer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// From the closed list below.
    pub cause: RefusalCause,
    /// What happened, to which topic, partition and offsets, and what to do.
    pub message: String,
}

named! {
    /// The closed list of causes.
    pub enum RefusalCause {
        /// The raw topic was deleted and created anew.
        RawRecreated = "raw-recreated",
        /// The journal topic is another than the one its entries name.
        JournalRecreated = "journal-recreated",
        /// The journal lacks entries that were written.
        JournalCut = "journal-cut",
        /// The journal's chain is broken or holds what oncegate did not write.
        ChainBroken = "chain-broken",
        /// The raw topic's number of partitions changed.
        PartitionsChanged = "partitions-changed",
        /// The journal was written under another recipe.
        OtherRecipe = "other-recipe",
        /// The journal was written by another group or route.
        OtherRoute = "other-route",
        /// The group's offset lies beyond the journal's last entry.
        OffsetAhead = "offset-ahead",
        /// Records of the raw topic were deleted before they were read.
        RawHeadDeleted = "raw-head-deleted",
        /// The raw topic lost records that were read.
        RawTailLost = "raw-tail-lost",
        /// The clean topic holds records, the journal none.
        CleanNotEmpty = "clean-not-empty",
        /// The clean topic lost records that were written and committed.
        CleanTailLost = "clean-tail-lost",
        /// The quarantine topic lost records that were written and committed.
        QuarantineTailLost = "quarantine-tail-lost",
        /// Another group or route writes to the same topic.
        TwoDeployments = "two-deployments",
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.cause.as_str(), self.message)
    }
}
