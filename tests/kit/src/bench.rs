//! The bench of the gate: its rate beside that of a bare exactly-once pipe, on one raw topic and
//! one broker, in turns. Judges no design: it says what was measured and how.
//!
//! What is measured, the same for both, from outside: an observer asks the broker for the group's
//! committed offsets every few milliseconds. The clock starts when the first committed
//! transaction shows and ends when every raw record is committed; the rate is the records
//! committed in between over that time. So start-up, joining the group and the takeover count
//! for neither. Client CPU is that of the process between the same two moments.

pub mod bare;
pub mod load;
pub mod report;
pub mod round;
pub mod standing;
pub mod watch;

/// The contenders, in the order of the first round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    /// Consume, produce unchanged, send offsets, commit: no gate.
    Bare,
    /// `oncegate run` with one worker.
    Oncegate,
}

impl Contender {
    /// Its name in tables and topics.
    pub fn name(self) -> &'static str {
        match self {
            Contender::Bare => "bare",
            Contender::Oncegate => "oncegate",
        }
    }
}
