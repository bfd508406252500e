//! The bench of the gate: its rate beside that of a bare exactly-once pipe and of a Kafka Streams
//! application, on one raw topic and one broker, in turns. Judges no design: it says what was
//! measured and how.
//!
//! What is measured, the same for all, from outside: an observer asks the broker for the group's
//! committed offsets every few milliseconds. The clock starts when every raw partition shows a
//! committed transaction and ends when every raw record is committed; the rate is the records
//! committed in between over that time. So start-up, joining the group and the takeover count
//! for none. CPU of the client and of the broker is that of their processes between the same two
//! moments; peak memory is that of the client since its start. Duplicates count as records.

pub mod bare;
pub mod cases;
pub mod latency;
pub mod load;
pub mod picture;
pub mod report;
pub mod round;
pub mod series;
pub mod standing;
pub mod streams;
pub mod watch;

/// The contenders, in the order of the first round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    /// Consume, produce unchanged, send offsets, commit: no gate.
    Bare,
    /// `oncegate run`.
    Oncegate,
    /// The Kafka Streams application in `benches/peers/streams`.
    Streams,
}

impl Contender {
    /// All of them.
    pub const ALL: [Contender; 3] = [Contender::Bare, Contender::Oncegate, Contender::Streams];

    /// Its name in tables and topics.
    pub fn name(self) -> &'static str {
        match self {
            Contender::Bare => "bare",
            Contender::Oncegate => "oncegate",
            Contender::Streams => "streams",
        }
    }

    /// Its name for readers who do not know the bench.
    pub fn title(self) -> &'static str {
        match self {
            Contender::Bare => "bare copy",
            Contender::Oncegate => "oncegate",
            Contender::Streams => "Kafka Streams",
        }
    }
}
