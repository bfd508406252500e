//! Sorts rows of one width that need not fit into memory: sorted runs in files, merged at the end.
//! Must not be in here: what a row means.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for rows that wait to be sorted.
const MEMORY_BYTES: usize = 64 << 20;
/// Files that are open at a time: more runs than this are merged into one.
const RUNS_MAX: usize = 64;
const BUFFER_BYTES: usize = 256 << 10;

/// Rows could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("rows cannot be sorted in {}: {source}; name a folder with room with --temp-dir", dir.display())]
pub struct SortError {
    dir: PathBuf,
    source: std::io::Error,
}

/// Takes rows of `N` bytes in any order and gives them sorted by their bytes.
pub struct Sorter<const N: usize> {
    dir: PathBuf,
    rows: Vec<[u8; N]>,
    rows_max: usize,
    runs: Vec<File>,
}

impl<const N: usize> Sorter<N> {
    /// Writes its files to `dir`. They have no names once they are open, so nothing is left
    /// behind, however the process ends.
    pub fn new(dir: &Path) -> Sorter<N> {
        Sorter::with_rows_max(dir, MEMORY_BYTES / N)
    }

    fn with_rows_max(dir: &Path, rows_max: usize) -> Sorter<N> {
        Sorter { dir: dir.to_owned(), rows: Vec::new(), rows_max, runs: Vec::new() }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// [`SortError`].
    pub fn push(&mut self, row: [u8; N]) -> Result<(), SortError> {
        self.rows.push(row);
        if self.rows.len() >= self.rows_max {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), SortError> {
        self.rows.sort_unstable();
        let rows = std::mem::take(&mut self.rows);
        let run = self.write_run(rows.iter().map(|row| Ok(*row)))?;
        self.rows = rows;
        self.rows.clear();
        self.runs.push(run);
        if self.runs.len() >= RUNS_MAX {
            let runs = std::mem::take(&mut self.runs);
            let merged = Merge::of(&self.dir, runs, Vec::new())?;
            let run = self.write_run(merged)?;
            self.runs.push(run);
        }
        Ok(())
    }

    fn write_run(
        &self,
        rows: impl Iterator<Item = Result<[u8; N], SortError>>,
    ) -> Result<File, SortError> {
        let failed = |source| SortError { dir: self.dir.clone(), source };
        let file = nameless(&self.dir).map_err(failed)?;
        let mut writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        for row in rows {
            writer.write_all(&row?).map_err(failed)?;
        }
        let mut file = writer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        Ok(file)
    }

    /// The rows in order.
    ///
    /// # Errors
    /// [`SortError`].
    pub fn finish(mut self) -> Result<Merge<N>, SortError> {
        self.rows.sort_unstable();
        Merge::of(&self.dir, self.runs, self.rows)
    }
}

/// A new file without a name.
fn nameless(dir: &Path) -> std::io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = dir.join(format!("oncegate-sort-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Sorted rows, merged from runs as they are asked for.
pub struct Merge<const N: usize> {
    dir: PathBuf,
    runs: Vec<BufReader<File>>,
    rows: std::vec::IntoIter<[u8; N]>,
    heads: BinaryHeap<Reverse<([u8; N], usize)>>,
}

impl<const N: usize> Merge<N> {
    fn of(dir: &Path, runs: Vec<File>, rows: Vec<[u8; N]>) -> Result<Merge<N>, SortError> {
        let buffered = |run| BufReader::with_capacity(BUFFER_BYTES, run);
        let runs: Vec<_> = runs.into_iter().map(buffered).collect();
        let count = runs.len();
        let (dir, rows, heads) = (dir.to_owned(), rows.into_iter(), BinaryHeap::new());
        let mut merge = Merge { dir, runs, rows, heads };
        (0..=count).try_for_each(|run| merge.refill(run))?;
        Ok(merge)
    }

    /// Takes the next row of a run; the rows in memory are the last run.
    fn refill(&mut self, run: usize) -> Result<(), SortError> {
        let row = match self.runs.get_mut(run) {
            None => self.rows.next(),
            Some(file) => {
                let mut row = [0; N];
                match file.read_exact(&mut row) {
                    Ok(()) => Some(row),
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
                    Err(source) => return Err(SortError { dir: self.dir.clone(), source }),
                }
            }
        };
        self.heads.extend(row.map(|row| Reverse((row, run))));
        Ok(())
    }
}

impl<const N: usize> Iterator for Merge<N> {
    type Item = Result<[u8; N], SortError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((row, run)) = self.heads.pop()?;
        Some(self.refill(run).map(|()| row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_sorted_through_any_number_of_runs_and_no_file_is_left() {
        let dir = tempfile::tempdir().unwrap();
        for (count, rows_max) in [(0, 10), (7, 10), (10, 10), (1_000, 10), (5_000, 7)] {
            let mut sorter = Sorter::<4>::with_rows_max(dir.path(), rows_max);
            for nth in 0..count as u32 {
                sorter.push(nth.wrapping_mul(2_654_435_761).to_be_bytes()).unwrap();
            }
            let sorted: Vec<[u8; 4]> = sorter.finish().unwrap().map(Result::unwrap).collect();
            assert_eq!(sorted.len(), count);
            assert!(sorted.is_sorted());
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let mut sorter = Sorter::<4>::with_rows_max(Path::new("/no/such/folder"), 1);
        let error = sorter.push([0; 4]).unwrap_err().to_string();
        assert!(error.contains("/no/such/folder") && error.contains("--temp-dir"), "{error}");
    }
}
