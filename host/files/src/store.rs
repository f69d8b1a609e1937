//! A folder of entries that can be made again: bounded in bytes, and used by several processes at once.

use std::fmt;
use std::fs::{self, DirBuilder, DirEntry};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::{SizeLimit, StoreError, guard, read, replace};

/// Bytes of an entry's digest, which stands before its content.
const DIGEST: usize = 32;
/// A draft that was not written to for longer is nobody's any more.
const LONGEST_WRITE: Duration = Duration::from_secs(600);
/// What files of entries end in; nothing else in the folder is touched.
const EXTENSION: &str = ".kept";

/// The folder. An entry is there as a whole or not at all, and nobody waits for the disk: after a power cut entries may be
/// damaged, which is found when they are read.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    limit: SizeLimit,
}

/// What an entry depends on, as a digest: it is found by this and by nothing else.
#[derive(Clone, Debug)]
pub struct Key(Sha256);

/// A file of the folder.
struct Entry {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl Key {
    /// A key of entries of one sort.
    pub fn of(sort: &str) -> Key {
        Key(Sha256::new()).and(sort)
    }

    /// The same with one thing more that entries depend on. The order counts.
    pub fn and(mut self, part: impl AsRef<[u8]>) -> Key {
        let part = part.as_ref();
        // With its length, so that no two lists of parts are the same bytes.
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    fn digest(&self) -> [u8; DIGEST] {
        self.0.clone().finalize().into()
    }
}

/// As the name of a file, in hexadecimal digits.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digest().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Store {
    /// Opens a folder for entries of so many bytes together. One that does not exist is made, for this user alone.
    ///
    /// # Errors
    /// If it is no folder or cannot be made, or if others than this user and the system decide what stands in it.
    pub fn open(folder: &Path, limit: SizeLimit) -> Result<Store, StoreError> {
        let path = || folder.to_path_buf();
        let failed = |source| StoreError::Folder { path: path(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let found = fs::metadata(folder).map_err(failed)?;
        match (found.uid(), found.mode() & 0o022) {
            (owner, _) if ![0, geteuid().as_raw()].contains(&owner) => Err(StoreError::Foreign { path: path() }),
            (_, 0) => {
                guard::is_store(&found);
                Ok(Store { folder: path(), limit })
            }
            _ => Err(StoreError::Shared { path: path() }),
        }
    }

    /// The content of an entry, if it is there and whole. It counts as used now.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = read(&path, SizeLimit::none()).ok()?;
        let stored = bytes.first_chunk::<DIGEST>()?;
        if *stored != digest(key, &bytes[DIGEST..]) {
            return None;
        }
        bytes.drain(..DIGEST);
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        // Another process may have removed it meanwhile, or it may be another user's.
        let _ = utimensat(CWD, &path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty());
        Some(bytes)
    }

    /// Keeps entries, also in place of those that are there; then removes what was not used for longest, until all that is
    /// kept is within the bound.
    ///
    /// # Errors
    /// If one alone is beyond the bound, or the system refuses.
    pub fn keep(&self, entries: &[(Key, Vec<u8>)]) -> Result<(), StoreError> {
        for (key, content) in entries {
            let bytes = (DIGEST + content.len()) as u64;
            if !self.limit.allows(bytes) {
                return Err(StoreError::TooLarge { path: self.folder.clone(), bytes, limit: self.limit });
            }
            replace::write_unsaved(&self.path(key), &[&digest(key, content), content])?;
        }
        self.trim().map_err(|source| StoreError::Folder { path: self.folder.clone(), source })
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}{EXTENSION}"))
    }

    fn trim(&self) -> io::Result<()> {
        let Some(most) = self.limit.most() else { return Ok(()) };
        let mut entries: Vec<Entry> = fs::read_dir(&self.folder)?.filter_map(|file| entry(&file.ok()?)).collect();
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if bytes <= most {
            return Ok(());
        }
        entries.sort_by_key(|entry| entry.used);
        for entry in entries {
            if bytes <= most {
                break;
            }
            match fs::remove_file(&entry.path) {
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome?,
            }
            bytes -= entry.bytes;
        }
        Ok(())
    }
}

/// The digest finds damage, and content that stands under another entry's name.
fn digest(key: &Key, content: &[u8]) -> [u8; DIGEST] {
    Sha256::new().chain_update(key.digest()).chain_update(content).finalize().into()
}

/// Whether files of entries, or with more behind it their drafts, are called so.
pub(crate) fn is_name_of_entry(name: &str) -> bool {
    let parts = name.split_at_checked(2 * DIGEST);
    parts.is_some_and(|(digits, rest)| rest.starts_with(EXTENSION) && digits.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// A file, if it is an entry, or a draft of one that a killed process has left: one that is being written is its process's alone.
fn entry(file: &DirEntry) -> Option<Entry> {
    let name = file.file_name().into_string().ok()?;
    let draft = name.strip_prefix('.');
    let found = file.metadata().ok()?;
    let used = found.modified().ok()?;
    let is_entry = found.is_file() && is_name_of_entry(draft.unwrap_or(&name));
    let is_being_written = draft.is_some() && used.elapsed().is_ok_and(|age| age < LONGEST_WRITE);
    (is_entry && !is_being_written).then_some(Entry { used, bytes: found.len(), path: file.path() })
}

#[cfg(test)]
mod tests;
