//! What the system tells: memory of this process, room on the disk, and what RocksDB wrote into its
//! files beside the rows.
//! Must not be in here: a store that is being measured.

use super::Done;
use rocksdb::{DB, Options};
use std::fs;
use std::path::Path;

/// Files that RocksDB holds open to tell of all.
const OPEN_FILES: i32 = 64;

/// Memory of this process in RAM.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Now.
    pub resident_mib: f64,
    /// The most since [`forget_peak`].
    pub peak_mib: f64,
}

/// Reads it.
pub fn memory() -> Done<Memory> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| format!("/proc/self/status tells no {name}"))
    };
    Ok(Memory { resident_mib: mib("VmRSS:")?, peak_mib: mib("VmHWM:")? })
}

/// From now on the peak is that of what comes. Where the kernel refuses, the old one stays and counts.
pub fn forget_peak() {
    if let Err(error) = fs::write("/proc/self/clear_refs", "5") {
        eprintln!("scale: the peak of memory holds the small stores too: {error}");
    }
}

/// Memory of the machine, in GiB: the system holds files in what nobody uses.
pub fn machine_gib() -> Option<f64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / (1 << 20) as f64)
}

/// Refuses where a folder's disk has no room for so many bytes.
pub fn check_room(folder: &Path, bytes: u64) -> Done<()> {
    let disk = rustix::fs::statvfs(folder)?;
    let free = disk.f_bavail * disk.f_frsize;
    if free < bytes {
        return Err(format!(
            "{} has {:.1} GiB left, this needs {:.1}; --folder names another disk, --millions fewer keys",
            folder.display(),
            free as f64 / super::GIB,
            bytes as f64 / super::GIB
        )
        .into());
    }
    Ok(())
}

/// Bytes of files that are no rows. All of them go through the budget's cache.
#[derive(Clone, Copy, Debug)]
pub struct Besides {
    /// Filters.
    pub filter_bytes: u64,
    /// Indexes.
    pub index_bytes: u64,
}

/// Asks RocksDB beside the open store, which has nothing to write just now.
pub fn besides(database: &Path) -> Done<Besides> {
    let mut options = Options::default();
    options.set_max_open_files(OPEN_FILES);
    let db = DB::open_for_read_only(&options, database, false)?;
    let told = db.property_value(rocksdb::properties::AGGREGATED_TABLE_PROPERTIES)?;
    let told = told.ok_or("RocksDB does not tell of its files")?;
    // `name=value; ` each; the index's name goes on with details in parentheses.
    let bytes = |name: &str| {
        let field = told.split("; ").find(|field| field.trim_start().starts_with(name));
        let value = field.and_then(|field| field.rsplit_once('=')?.1.trim().parse().ok());
        value.ok_or_else(|| format!("RocksDB tells no {name}: {told}"))
    };
    Ok(Besides {
        filter_bytes: bytes("filter block size")?,
        index_bytes: bytes("index block size")?,
    })
}
