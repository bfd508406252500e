//! What may be said to `quarantine`.
//! Must not be in here: what a command does.

use super::{ActArgs, ConfigArgs};
use crate::quarantine::{HeldId, Selection};
use clap::{Args, Subcommand};

/// What to do with quarantined records.
#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List what waits: id, reason, source, detail.
    List(QuarantineListArgs),
    /// Show one held record whole; for a conflict, the members in which it differs.
    Show(QuarantineShowArgs),
    /// Append held records to their raw partitions again, once the cause is mended.
    Redrive(QuarantineRedriveArgs),
    /// Let a late event through that a person declares new, once the whole journal proves that it
    /// never was.
    Admit(QuarantineAdmitArgs),
}

/// Which route, and where its topics are.
#[derive(Args, Clone, Debug)]
pub struct QuarantineArgs {
    /// Name of the route.
    #[arg(value_name = "ROUTE")]
    pub route: String,
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How long to wait for an answer, or for a log to move on.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = humantime::parse_duration)]
    pub timeout: std::time::Duration,
}

/// Which held records.
#[derive(Args, Clone, Debug)]
pub struct SelectionArgs {
    /// Only this record, PARTITION/OFFSET of the quarantine topic; may be said several times.
    #[arg(long = "id", value_name = "ID")]
    pub ids: Vec<HeldId>,
    /// Only records with this reason; may be said several times.
    #[arg(long = "reason", value_name = "REASON")]
    pub reasons: Vec<String>,
    /// Only this partition.
    #[arg(long, value_name = "N")]
    pub partition: Option<i32>,
    /// Only offsets of the quarantine topic from here on.
    #[arg(long, value_name = "OFFSET")]
    pub from: Option<i64>,
    /// Only offsets of the quarantine topic below this.
    #[arg(long, value_name = "OFFSET")]
    pub to: Option<i64>,
}

impl SelectionArgs {
    /// The selection that was said.
    pub fn selection(&self) -> Selection {
        Selection {
            ids: self.ids.clone(),
            reasons: self.reasons.clone(),
            partition: self.partition,
            from: self.from,
            to: self.to,
        }
    }
}

/// Arguments of `quarantine list`.
#[derive(Args, Clone, Debug)]
pub struct QuarantineListArgs {
    /// Which route.
    #[command(flatten)]
    pub route: QuarantineArgs,
    /// Which records.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Also what waits no more, marked: superseded by a copy that was redriven, or admitted.
    #[arg(long)]
    pub superseded: bool,
    /// One JSON line for each record.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `quarantine show`.
#[derive(Args, Clone, Debug)]
pub struct QuarantineShowArgs {
    /// Which route.
    #[command(flatten)]
    pub route: QuarantineArgs,
    /// Which record: PARTITION/OFFSET of the quarantine topic.
    #[arg(value_name = "ID")]
    pub id: HeldId,
    /// As one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `quarantine redrive`.
#[derive(Args, Clone, Debug)]
pub struct QuarantineRedriveArgs {
    /// Which route.
    #[command(flatten)]
    pub route: QuarantineArgs,
    /// Which records.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Everything that waits.
    #[arg(long)]
    pub all: bool,
    /// Say how many records are meant, and append nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `quarantine admit`.
#[derive(Args, Clone, Debug)]
pub struct QuarantineAdmitArgs {
    /// Which route.
    #[command(flatten)]
    pub route: QuarantineArgs,
    /// Which record: PARTITION/OFFSET of the quarantine topic.
    #[arg(value_name = "ID")]
    pub id: HeldId,
    /// Who and why.
    #[command(flatten)]
    pub act: ActArgs,
}
