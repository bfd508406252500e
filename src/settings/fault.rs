//! What is wrong with a file of settings, said in one sentence with its place.
//! Must not be in here: any text out of the file but names of keys.

use std::fmt;

/// One fault: where, what is wrong, and what was meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file, as it was named.
    pub file: String,
    /// Line, from 1; `None` where the file as a whole is meant.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What was meant, or what to do.
    pub meant: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        if !self.meant.is_empty() {
            write!(f, "; {}", self.meant)?;
        }
        Ok(())
    }
}

/// All faults that were found, in the order of files and lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsErrors(Vec<Fault>);

impl SettingsErrors {
    /// Sorts the faults and drops those said twice.
    pub fn new(mut faults: Vec<Fault>) -> SettingsErrors {
        faults.sort();
        faults.dedup();
        SettingsErrors(faults)
    }

    /// The faults.
    pub fn faults(&self) -> &[Fault] {
        &self.0
    }
}

impl fmt::Display for SettingsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, fault) in self.0.iter().enumerate() {
            if nth > 0 {
                writeln!(f)?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsErrors {}
