//! Who a process is: the state directory is the member.
//!
//! On first use it gets an instance id, kept in a file there and held by a lock, so that a restart
//! on the same directory is the same member and two processes on one directory cannot be.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// An instance id, held for as long as this lives.
#[derive(Debug)]
pub struct Instance {
    id: String,
    /// The lock is the open file's.
    _file: File,
}

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another process holds it.
    #[error(
        "state directory {} is in use by another process; each process needs one of its own",
        .0.display()
    )]
    InUse(PathBuf),
    /// It belongs to another instance.
    #[error(
        "state directory {} belongs to instance {found}, the configuration names {wanted}; use that instance's own directory",
        .path.display()
    )]
    Other {
        /// The directory.
        path: PathBuf,
        /// The id in it.
        found: String,
        /// The id asked for.
        wanted: String,
    },
    /// The system refused.
    #[error("state directory {}: {error}", .path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's words.
        error: std::io::Error,
    },
}

impl Instance {
    /// Takes the directory, which is made where it is missing; `wanted` is the configured id.
    ///
    /// # Errors
    /// [`InstanceError`].
    pub fn take(state_dir: &Path, wanted: Option<&str>) -> Result<Instance, InstanceError> {
        let io = |error| InstanceError::Io { path: state_dir.to_owned(), error };
        fs::create_dir_all(state_dir).map_err(io)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(state_dir.join("instance"))
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(InstanceError::InUse(state_dir.to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut found = String::new();
        file.read_to_string(&mut found).map_err(io)?;
        let found = found.trim();
        match (found.is_empty(), wanted) {
            (false, Some(wanted)) if wanted != found => Err(InstanceError::Other {
                path: state_dir.to_owned(),
                found: found.to_owned(),
                wanted: wanted.to_owned(),
            }),
            (false, _) => Ok(Instance { id: found.to_owned(), _file: file }),
            (true, wanted) => {
                let id = wanted.map_or_else(random_id, str::to_owned);
                file.rewind().map_err(io)?;
                writeln!(file, "{id}").map_err(io)?;
                file.sync_all().map_err(io)?;
                Ok(Instance { id, _file: file })
            }
        }
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Twelve hexadecimal digits from the system's randomness, by way of the standard hasher's seed.
fn random_id() -> String {
    let bits = RandomState::new().build_hasher().finish();
    format!("{:012x}", bits >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_keeps_its_id_and_serves_one_process() {
        let dir = tempfile::tempdir().unwrap();
        let first = Instance::take(dir.path(), None).unwrap();
        assert!(matches!(Instance::take(dir.path(), None), Err(InstanceError::InUse(_))));
        let id = first.id().to_owned();
        drop(first);
        assert_eq!(Instance::take(dir.path(), None).unwrap().id(), id);
        let other = Instance::take(dir.path(), Some("another"));
        assert!(matches!(other, Err(InstanceError::Other { .. })));
    }

    #[test]
    fn a_given_id_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Instance::take(dir.path(), Some("pod-0")).unwrap().id(), "pod-0");
        assert_eq!(Instance::take(dir.path(), None).unwrap().id(), "pod-0");
    }
}
