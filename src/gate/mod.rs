//! Gate: verdicts.
