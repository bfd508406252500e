//! Free ports that stay ours: also while a broker that was killed is down.
//!
//! They are taken from below the range that the kernel hands out to outgoing connections, so no
//! client can be given one in the meantime, and a lock file keeps other test processes off.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use crate::error::{Doing, KitError, Result};

const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port on the loopback that no other test process takes while this value lives.
pub struct Port {
    number: u16,
    // The lock ends with the file.
    _lock: File,
}

impl Port {
    /// Takes a free port; the lock files are kept in `folder`.
    pub fn take(folder: &Path) -> Result<Port> {
        std::fs::create_dir_all(folder).doing(|| format!("cannot create {}", folder.display()))?;
        // Processes begin at different places, so they seldom try the same port.
        let begin = std::process::id() as u16 % COUNT;
        for step in 0..COUNT {
            let number = FIRST + (begin.wrapping_mul(7) % COUNT + step) % COUNT;
            let path = folder.join(number.to_string());
            let lock = File::create(&path).doing(|| format!("cannot open {}", path.display()))?;
            if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Port { number, _lock: lock });
            }
        }
        Err(KitError::new(format!(
            "no free port from {FIRST} to {}: end brokers that are not needed any more",
            FIRST + COUNT - 1
        )))
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ports_differ_and_a_dropped_one_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let first = Port::take(folder.path()).unwrap();
        let second = Port::take(folder.path()).unwrap();
        assert_ne!(first.number(), second.number());
        let number = first.number();
        drop(first);
        // A test beside this one, with a folder of its own, may take it in between.
        let mut taken = (0..1000).map(|_| Port::take(folder.path()).unwrap().number());
        assert!(taken.any(|taken| taken == number), "{number} does not come back");
    }
}
