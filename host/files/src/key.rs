//! Keys of the entries of a store, and the file names of the entries.

use std::fmt;

use sha2::{Digest, Sha256};

/// Number of bytes of an entry's digest. In the entry's file, the digest precedes the content.
pub(crate) const DIGEST: usize = 32;
/// File name extension of entries. The store does not touch files of its folder that have another
/// extension.
const EXTENSION: &str = ".kept";

/// Key of an entry: a digest of everything that the entry depends on.
#[derive(Clone, Debug)]
pub struct Key(Sha256);

impl Key {
    /// Creates a key for an entry. `sort` names the class of entries to which the entry belongs.
    pub fn of(sort: &str) -> Key {
        Key(Sha256::new()).and(sort)
    }

    /// Adds a part of the data on which the entry depends. Two keys differ if their parts are equal
    /// but were added in different orders.
    pub fn and(mut self, part: impl AsRef<[u8]>) -> Key {
        let part = part.as_ref();
        // The length precedes each part, so that different lists of parts never have the same
        // bytes.
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// Returns the digest of all parts of the key.
    pub(crate) fn digest(&self) -> [u8; DIGEST] {
        self.0.clone().finalize().into()
    }
}

/// Prints the key in hexadecimal digits, as in the file names of entries.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digest().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Returns the file name of the entry with this key.
pub(crate) fn file_name(key: &Key) -> String {
    format!("{key}{EXTENSION}")
}

/// Whether a file name is the name of an entry, or the name of an entry's draft without the draft's
/// leading dot. The name of a draft has a longer suffix than the name of its entry.
pub(crate) fn is_name_of_entry(name: &str) -> bool {
    let parts = name.split_at_checked(2 * DIGEST);
    parts.is_some_and(|(digits, rest)| rest.starts_with(EXTENSION) && digits.bytes().all(|it| it.is_ascii_hexdigit()))
}
