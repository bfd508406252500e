//! What may go wrong with a store, named by what the caller must do.
//! Must not be in here: a value or key of a row. Messages name paths, never contents.

use super::FORMAT;
use rocksdb::ErrorKind;
use std::path::{Path, PathBuf};

/// An error of a store. It says what happened, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Wait, or stop the other process.
    #[error(
        "the store {} is open already: close the other handle, or stop the other process on this \
         state directory",
        path.display()
    )]
    InUse {
        /// The store.
        path: PathBuf,
    },
    /// Restore from the journal before going on.
    #[error(
        "the store {} stands at entry {stored} and cannot take entry {offered} ({why}): bring it \
         level from the journal first",
        path.display()
    )]
    OutOfStep {
        /// The store.
        path: PathBuf,
        /// Number of the last entry that it holds; 0 for none.
        stored: u64,
        /// Number of the entry that was offered.
        offered: u64,
        /// In what they do not fit.
        why: Mismatch,
    },
    /// Set the store aside and build it anew from the journal.
    #[error(
        "the store {} is damaged: {detail}; set it aside and build it anew from the journal",
        path.display()
    )]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// Wait for a person: the version that wrote it can go on with it, or it is built anew.
    #[error(
        "the store {} has format {found}, this version of oncegate reads format {FORMAT}: run the \
         version that wrote it, or move the directory away to build the store anew",
        path.display()
    )]
    UnknownFormat {
        /// The store.
        path: PathBuf,
        /// The format found.
        found: u32,
    },
    /// Stop before the next transaction; open the store again when there is room.
    #[error(
        "no space left on the disk of {} ({detail}): make room; the store is then opened again",
        path.display()
    )]
    NoSpace {
        /// The store.
        path: PathBuf,
        /// Where it was noticed.
        detail: String,
    },
    /// Stop; the process needs more file handles.
    #[error("too few file handles for the store {}: {detail}", path.display())]
    NoFileHandles {
        /// The store.
        path: PathBuf,
        /// How many there are and how many are needed, where that is known.
        detail: String,
    },
    /// Close the store and open it again; look at the disk if that does not help.
    #[error("the store {} cannot be read or written: {detail}", path.display())]
    Io {
        /// The store.
        path: PathBuf,
        /// What the operating system or RocksDB said.
        detail: String,
    },
    /// None of the above: a fault of configuration or of oncegate itself.
    #[error("the store {} failed: {detail}", path.display())]
    Other {
        /// The store.
        path: PathBuf,
        /// What was said.
        detail: String,
    },
}

/// In what an entry does not follow a store's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Its number is not the next.
    #[error("its number is not the next")]
    Number,
    /// Its hash of the entry before is not that of the store's entry.
    #[error("it continues another chain")]
    Chain,
    /// It stands in the journal before the end of the store's entry.
    #[error("it stands earlier in the journal")]
    Offset,
    /// The receipt is that of another entry.
    #[error("the receipt is that of another entry")]
    Receipt,
}

impl StoreError {
    /// Classifies what RocksDB said.
    pub(super) fn of_rocksdb(path: &Path, error: &rocksdb::Error) -> StoreError {
        classify(path, error.as_ref(), error.kind())
    }

    /// Classifies what RocksDB wrote into its log of an error of reading or writing.
    pub(super) fn of_text(path: &Path, text: &str) -> StoreError {
        classify(path, text, ErrorKind::IOError)
    }

    /// Classifies what the file system said.
    pub(super) fn of_io(path: &Path, doing: &str, error: &std::io::Error) -> StoreError {
        let detail = format!("{doing}: {error}");
        let path = path.to_owned();
        match (error.kind(), error.raw_os_error()) {
            (std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded, _) => {
                StoreError::NoSpace { path, detail }
            }
            (_, Some(ENFILE | EMFILE)) => StoreError::NoFileHandles { path, detail },
            _ => StoreError::Io { path, detail },
        }
    }

    pub(super) fn damaged(path: &Path, detail: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: path.to_owned(), detail: detail.into() }
    }
}

/// "Too many open files in system" and "Too many open files"; the standard library has no stable
/// names for them.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// RocksDB wraps one error into another (`Result incomplete: IO error: ...`), and its kinds have
/// no word for a full disk, so the text decides before the kind.
fn classify(path: &Path, text: &str, kind: ErrorKind) -> StoreError {
    let said = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let (path, detail) = (path.to_owned(), text.to_owned());
    if said(&["No space left on device", "Disk quota exceeded", "Space limit reached"]) {
        return StoreError::NoSpace { path, detail };
    }
    if said(&["Too many open files"]) {
        return StoreError::NoFileHandles { path, detail };
    }
    if said(&["lock hold by current process", "While lock file"]) {
        return StoreError::InUse { path };
    }
    let file_missing = said(&["No such file or directory"]) && said(&[".sst", "MANIFEST"]);
    if said(&["Corruption:"]) || file_missing {
        return StoreError::Damaged { path, detail };
    }
    match kind {
        ErrorKind::Corruption => StoreError::Damaged { path, detail },
        ErrorKind::IOError => StoreError::Io { path, detail },
        _ => StoreError::Other { path, detail },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, kind: ErrorKind) -> StoreError {
        classify(Path::new("/s"), text, kind)
    }

    #[test]
    fn a_full_disk_is_known_by_its_text_whatever_wraps_it() {
        for (text, kind) in [
            ("IO error: No space left on device: While appending to file", ErrorKind::IOError),
            ("Result incomplete: IO error: No space left on device", ErrorKind::Incomplete),
            ("Corruption: IO error: No space left on device", ErrorKind::Corruption),
        ] {
            assert!(matches!(of(text, kind), StoreError::NoSpace { .. }), "{text}");
        }
    }

    #[test]
    fn other_texts_find_their_class() {
        let handles = of("IO error: While open a file: Too many open files", ErrorKind::IOError);
        assert!(matches!(handles, StoreError::NoFileHandles { .. }));
        let locked =
            of("IO error: While lock file: /s/LOCK: Resource temporarily", ErrorKind::IOError);
        assert!(matches!(locked, StoreError::InUse { .. }));
        let torn = of("Corruption: block checksum mismatch", ErrorKind::Corruption);
        assert!(matches!(torn, StoreError::Damaged { .. }));
        let gone = of("IO error: No such file or directory: /s/000012.sst", ErrorKind::IOError);
        assert!(matches!(gone, StoreError::Damaged { .. }));
        let io = of("IO error: While fsync: Input/output error", ErrorKind::IOError);
        assert!(matches!(io, StoreError::Io { .. }));
        let other = of("Invalid argument: comparator", ErrorKind::InvalidArgument);
        assert!(matches!(other, StoreError::Other { .. }));
    }

    #[test]
    fn errors_of_the_file_system_find_their_class() {
        let of =
            |os| StoreError::of_io(Path::new("/s"), "x", &std::io::Error::from_raw_os_error(os));
        assert!(matches!(of(28), StoreError::NoSpace { .. }));
        assert!(matches!(of(EMFILE), StoreError::NoFileHandles { .. }));
        assert!(matches!(of(13), StoreError::Io { .. }));
    }
}
