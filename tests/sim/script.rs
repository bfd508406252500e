//! Short scripts of what clients do to a cluster, and what each act must give. They run on the
//! model (here) and on a real broker (`tests/kit/tests/model.rs`, which takes this very file): what
//! readers see must agree. Must not be in here: either of the two.

/// A producer. `First` and `Heir` have one transactional id, `Other` another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    First,
    Heir,
    Other,
}

/// A member of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    One,
    Two,
}

#[derive(Clone, Copy, Debug)]
pub enum Act {
    Init(Who),
    Begin(Who),
    /// Sends, and waits for the delivery.
    Send(Who, &'static str),
    /// A record outside of transactions.
    Plain(&'static str),
    /// Offset and metadata of partition 0, under a member's metadata as it was at its join.
    Offsets(Who, Member, i64, &'static str),
    Commit(Who),
    Abort(Who),
    /// Joins, and waits until the group is at rest.
    Join(Member),
    /// What a reader of committed records sees: values, and whether it comes to the log's end.
    Read,
    /// The group's stable offset.
    Committed,
}

/// A script: its name, and each act with its outcome.
pub struct Script {
    pub name: &'static str,
    pub acts: &'static [(Act, &'static str)],
}

/// Where scripts are played.
pub trait Stage {
    /// The outcome in a word: `ok`, `fenced`, `membership`, what was read or committed.
    fn act(&mut self, act: Act) -> String;
}

/// Plays a script.
///
/// # Errors
/// The first act whose outcome is another.
pub fn play(script: &Script, stage: &mut dyn Stage) -> Result<(), String> {
    for (nth, (act, expected)) in script.acts.iter().enumerate() {
        let found = stage.act(*act);
        if found != *expected {
            return Err(format!(
                "{}, act {nth}, {act:?}: expected {expected:?}, found {found:?}",
                script.name
            ));
        }
    }
    Ok(())
}

use Act::{Abort, Begin, Commit, Committed, Init, Join, Offsets, Plain, Read, Send};
use Member::{One, Two};
use Who::{First, Heir, Other};

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "a commit is seen",
        acts: &[
            (Init(First), "ok"),
            (Begin(First), "ok"),
            (Send(First, "a"), "ok"),
            (Read, "; held"),
            (Commit(First), "ok"),
            (Read, "a; end"),
        ],
    },
    Script {
        name: "an abort is not seen, and the reader's position passes markers",
        acts: &[
            (Init(First), "ok"),
            (Begin(First), "ok"),
            (Send(First, "a"), "ok"),
            (Abort(First), "ok"),
            (Read, "; end"),
            (Begin(First), "ok"),
            (Send(First, "b"), "ok"),
            (Commit(First), "ok"),
            (Read, "b; end"),
        ],
    },
    Script {
        name: "an open transaction holds everything behind it back",
        acts: &[
            (Init(First), "ok"),
            (Init(Other), "ok"),
            (Plain("a"), "ok"),
            (Begin(First), "ok"),
            (Send(First, "b"), "ok"),
            (Plain("c"), "ok"),
            (Begin(Other), "ok"),
            (Send(Other, "d"), "ok"),
            (Commit(Other), "ok"),
            (Read, "a; held"),
            (Abort(First), "ok"),
            (Read, "a c d; end"),
        ],
    },
    Script {
        name: "an heir ends the transaction that was left, and fences its predecessor",
        acts: &[
            (Init(First), "ok"),
            (Begin(First), "ok"),
            (Send(First, "a"), "ok"),
            (Read, "; held"),
            (Init(Heir), "ok"),
            (Read, "; end"),
            (Commit(First), "fenced"),
            (Begin(Heir), "ok"),
            (Send(Heir, "b"), "ok"),
            (Commit(Heir), "ok"),
            (Read, "b; end"),
        ],
    },
    Script {
        name: "offsets come with the commit, their metadata too",
        acts: &[
            (Init(First), "ok"),
            (Join(One), "ok"),
            (Committed, "none"),
            (Begin(First), "ok"),
            (Send(First, "a"), "ok"),
            (Offsets(First, One, 7, "note"), "ok"),
            (Committed, "unstable"),
            (Commit(First), "ok"),
            (Committed, "7 note"),
            (Begin(First), "ok"),
            (Send(First, "b"), "ok"),
            (Offsets(First, One, 9, "other"), "ok"),
            (Abort(First), "ok"),
            (Committed, "7 note"),
            (Read, "a; end"),
        ],
    },
    Script {
        name: "offsets under an old generation are refused",
        acts: &[
            (Init(First), "ok"),
            (Join(One), "ok"),
            (Begin(First), "ok"),
            (Send(First, "a"), "ok"),
            (Join(Two), "ok"),
            (Offsets(First, One, 7, "note"), "membership"),
            (Abort(First), "ok"),
            (Committed, "none"),
            (Read, "; end"),
        ],
    },
    Script {
        name: "the broker fences members, not owners: a member commits what it does not read",
        acts: &[
            (Init(First), "ok"),
            (Init(Other), "ok"),
            (Join(One), "ok"),
            (Begin(First), "ok"),
            (Send(First, "a"), "ok"),
            (Offsets(First, One, 7, "first"), "ok"),
            (Commit(First), "ok"),
            (Begin(Other), "ok"),
            (Send(Other, "b"), "ok"),
            (Offsets(Other, One, 3, "back"), "ok"),
            (Commit(Other), "ok"),
            (Committed, "3 back"),
            (Read, "a b; end"),
        ],
    },
];
