//! Reads executables from files and checks their signatures and integrity.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use fusebox_files::{ReadError, SizeLimit};
use fusebox_runtime::{Executable, FormatError};
use minisign_verify::{PublicKey, Signature};

/// Maximum number of bytes of a key or signature. Usual keys and signatures have a few hundred
/// bytes.
const LONGEST_TEXT: u64 = 64 << 10;

/// The user's choice of the executables that may run.
#[derive(Clone, Debug, Default, Args)]
pub struct Trust {
    /// Only run an executable that this minisign public key has signed; FILE's signature is
    /// FILE.minisig
    #[arg(long, value_name = "KEYFILE")]
    pub require_signature: Option<PathBuf>,
}

/// Reason why an executable does not run.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The file is damaged, or is not an executable of this version.
    #[error("{}: {source}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// The fault of the file.
        source: FormatError,
    },
    /// The file of the key or of the signature cannot be read.
    #[error("{what}: {source}")]
    Unreadable {
        /// "public key" or "signature".
        what: &'static str,
        /// The error of reading the file.
        source: ReadError,
    },
    /// The file is not a key, or not a signature.
    #[error("{} is no minisign {what}: {reason}", path.display())]
    Meaningless {
        /// "public key" or "signature".
        what: &'static str,
        /// Path of the file of the key or signature.
        path: PathBuf,
        /// The fault of the file.
        reason: String,
    },
    /// The signature was made with another key, or for another file.
    #[error(
        "{} is not what the key in {} has signed: {reason}; get the file and its signature again, or sign it with \
         `minisign -Sm {}`",
        path.display(), key.display(), path.display()
    )]
    Signature {
        /// The executable.
        path: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The reason why verification failed.
        reason: String,
    },
    /// The executable comes from standard input, so there is no signature file.
    #[error("a signature is required, but an executable from standard input has none: pass the executable as a file")]
    NoFile,
}

/// Reads an executable from a file's bytes. If `trust` requires a signature, checks the signature
/// before parsing any of the bytes.
///
/// # Errors
/// If the signature is missing or wrong, or if the bytes are not a complete executable.
pub fn read(path: &Path, bytes: &[u8], trust: &Trust) -> Result<Executable, StoredError> {
    if let Some(key) = &trust.require_signature {
        check_signature(path, bytes, key)?;
    }
    Executable::from_bytes(bytes).map_err(|source| StoredError::Format { path: path.into(), source })
}

fn check_signature(path: &Path, bytes: &[u8], key_file: &Path) -> Result<(), StoredError> {
    if path.as_os_str() == "-" {
        return Err(StoredError::NoFile);
    }
    let key = PublicKey::decode(&text("public key", key_file)?);
    let key = key.map_err(|error| meaningless("public key", key_file, error.to_string()))?;
    let signature_file = beside(path);
    let signature = Signature::decode(&text("signature", &signature_file)?);
    let signature = signature.map_err(|error| meaningless("signature", &signature_file, error.to_string()))?;
    key.verify(bytes, &signature, false).map_err(|error| StoredError::Signature {
        path: path.into(),
        key: key_file.into(),
        reason: error.to_string(),
    })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".minisig");
    name.into()
}

fn text(what: &'static str, path: &Path) -> Result<String, StoredError> {
    let bytes = fusebox_files::read(path, SizeLimit::bytes(LONGEST_TEXT));
    let bytes = bytes.map_err(|source| StoredError::Unreadable { what, source })?;
    String::from_utf8(bytes).map_err(|_| meaningless(what, path, "it is not text".into()))
}

fn meaningless(what: &'static str, path: &Path, reason: String) -> StoredError {
    StoredError::Meaningless { what, path: path.into(), reason }
}
