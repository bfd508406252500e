//! The one error of the test kit: a sentence that says what happened and what to do.
//! No error codes to match on: a test that wants to tell outcomes apart gets a value instead.

use std::fmt;

/// What happened and what to do, as text for a person.
#[derive(Clone, PartialEq, Eq)]
pub struct KitError(String);

/// The result of everything in the kit that can fail.
pub type Result<T> = std::result::Result<T, KitError>;

impl KitError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> KitError {
        KitError(text.into())
    }
}

impl fmt::Display for KitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// A test that unwraps sees the sentence, not a tuple struct with escaped line breaks.
impl fmt::Debug for KitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KitError {}

/// Adds to a foreign error what was being done when it came.
pub trait Doing<T> {
    /// `Err(e)` becomes "`what`: `e`".
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| KitError(format!("{}: {error}", what())))
    }
}
