//! A folder of entries that can be recreated. The total size of the entries is bounded, and several
//! processes may use the folder at once.

use std::fs::{self, DirBuilder, DirEntry};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use crate::key::{DIGEST, Key, file_name, is_name_of_entry};
use crate::{SizeLimit, StoreError, guard, read, replace};

/// Time without writes after which a draft counts as abandoned.
const LONGEST_WRITE: Duration = Duration::from_secs(600);

/// A folder of entries. An entry exists as a whole or not at all. Writes do not wait for the disk,
/// so a power cut may damage entries. Reading detects damage.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    limit: SizeLimit,
}

/// A file of the folder.
struct StoreEntry {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl Store {
    /// Opens a folder whose entries may have at most `limit` bytes together. If the folder does not
    /// exist, creates it with access for this user only.
    ///
    /// # Errors
    /// If the path is not a folder or cannot be created, or if users other than this user and root
    /// may write to the folder.
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

    /// Returns the content of an entry, if it exists and is undamaged, and marks the entry as used
    /// now.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = read(&path, SizeLimit::none()).ok()?;
        let stored = bytes.first_chunk::<DIGEST>()?;
        if *stored != digest(key, &bytes[DIGEST..]) {
            return None;
        }
        bytes.drain(..DIGEST);
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        // Another process may have removed the entry meanwhile, or the entry may belong to another
        // user.
        let _ = utimensat(CWD, &path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty());
        Some(bytes)
    }

    /// Writes entries, and replaces existing ones. Then removes the least recently used entries
    /// until the folder is within its limit.
    ///
    /// # Errors
    /// If a single entry exceeds the limit, or the system refuses.
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
        self.folder.join(file_name(key))
    }

    fn trim(&self) -> io::Result<()> {
        let Some(most) = self.limit.most() else { return Ok(()) };
        let mut entries: Vec<StoreEntry> = fs::read_dir(&self.folder)?.filter_map(|file| entry(&file.ok()?)).collect();
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
                // Another process has removed the entry.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome?,
            }
            bytes -= entry.bytes;
        }
        Ok(())
    }
}

/// Computes the digest of an entry's key and content. The digest detects damage, and content that
/// was stored under another key.
fn digest(key: &Key, content: &[u8]) -> [u8; DIGEST] {
    Sha256::new().chain_update(key.digest()).chain_update(content).finalize().into()
}

/// Returns a file if it is an entry, or an entry's draft that a killed process has left. Ignores
/// drafts that a process is writing.
fn entry(file: &DirEntry) -> Option<StoreEntry> {
    let name = file.file_name().into_string().ok()?;
    let draft = name.strip_prefix('.');
    let found = file.metadata().ok()?;
    let used = found.modified().ok()?;
    let is_entry = found.is_file() && is_name_of_entry(draft.unwrap_or(&name));
    let is_being_written = draft.is_some() && used.elapsed().is_ok_and(|age| age < LONGEST_WRITE);
    (is_entry && !is_being_written).then_some(StoreEntry { used, bytes: found.len(), path: file.path() })
}

#[cfg(test)]
mod tests;
