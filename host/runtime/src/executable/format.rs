//! The file format of executables.
//!
//! ```text
//! FUSEBOX\n   8 bytes   magic
//! version     4 bytes   little-endian, like all numbers
//! length      8 bytes   of the data
//! digest     32 bytes   SHA-256 of everything else: magic, version, length, data
//! data                  the executable, in postcard's encoding
//! ```
//!
//! The digest detects damage. The reader checks the digest before it uses the data. The digest does
//! not identify the author of a file, and the runtime does not check the machine code before it
//! runs the code. So run a file only if you would run any other program from the same source. A
//! signature file next to the executable can identify the author (see `fusebox run
//! --require-signature`).

use fusebox_thunks::nesting::too_deep;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::Executable;

const MAGIC: &[u8; 8] = b"FUSEBOX\n";
const VERSION: u32 = 11;
/// Size of magic, version and length in bytes.
const PREFIX: usize = 20;
const DIGEST: usize = 32;

/// The reason why bytes are not an executable that this version of fusebox can read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// The bytes do not start with the magic.
    #[error("not a fusebox executable: it does not begin with `FUSEBOX`")]
    Magic,
    /// The file has another format version.
    #[error("the executable has format {found}, but this fusebox reads format {VERSION}: compile the module again")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The length of the file differs from the length that its header states.
    #[error(
        "damaged executable: it should have {wanted} bytes and has {found}; copy the original again, or compile the module again"
    )]
    Length {
        /// Length of the file in bytes, according to the header.
        wanted: u64,
        /// Actual length of the file in bytes.
        found: u64,
    },
    /// The digest does not match the content, so the file has changed since it was written.
    #[error(
        "damaged executable: its digest does not match its content; copy the original again, or compile the module again"
    )]
    Digest,
    /// The digest matches the content, but the content is inconsistent, so the compiler did not
    /// write this file.
    #[error("invalid executable: {0}; compile the module again")]
    Invalid(String),
}

impl Executable {
    /// Whether `bytes` begin with the magic of an executable.
    pub fn is_executable(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Encodes the executable for storage.
    ///
    /// # Errors
    /// Never. The function returns a `Result` only because the encoder returns one.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.resize(PREFIX + DIGEST, 0);
        let mut bytes = postcard::to_extend(&self, bytes).map_err(|e| FormatError::Invalid(e.to_string()))?;
        let length = (bytes.len() - PREFIX - DIGEST) as u64;
        bytes[PREFIX - 8..PREFIX].copy_from_slice(&length.to_le_bytes());
        let digest = digest(&bytes[..PREFIX], &bytes[PREFIX + DIGEST..]);
        bytes[PREFIX..PREFIX + DIGEST].copy_from_slice(&digest);
        Ok(bytes)
    }

    /// Decodes an executable. Checks the digest first. Then checks every index, size and slice,
    /// because the runtime does not check them again when it uses them.
    ///
    /// # Errors
    /// If the bytes are not an executable, have another format version, are damaged or are
    /// inconsistent.
    pub fn from_bytes(bytes: &[u8]) -> Result<Executable, FormatError> {
        let data = intact_data(bytes)?;
        let invalid = |error: postcard::Error| match error {
            // The decoders of the data types report only one kind of error, too deep nesting.
            // Postcard drops the text of this error.
            postcard::Error::SerdeDeCustom => FormatError::Invalid(too_deep()),
            other => FormatError::Invalid(other.to_string()),
        };
        let (executable, rest): (Executable, _) = postcard::take_from_bytes(data).map_err(invalid)?;
        if !rest.is_empty() {
            return Err(FormatError::Invalid(format!("{} bytes follow its end", rest.len())));
        }
        executable.check().map_err(FormatError::Invalid)?;
        Ok(executable)
    }
}

/// Returns the data of a file. Fails if magic, version, length or digest is wrong.
fn intact_data(bytes: &[u8]) -> Result<&[u8], FormatError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(FormatError::Magic)?;
    let cut_off = FormatError::Length { wanted: (PREFIX + DIGEST) as u64, found: bytes.len() as u64 };
    let Some((version, rest)) = rest.split_first_chunk::<4>() else { return Err(cut_off) };
    let found = u32::from_le_bytes(*version);
    if found != VERSION {
        return Err(FormatError::Version { found });
    }
    let Some((length, rest)) = rest.split_first_chunk::<8>() else { return Err(cut_off) };
    let Some((stored, data)) = rest.split_first_chunk::<DIGEST>() else { return Err(cut_off) };
    let length = u64::from_le_bytes(*length);
    if length != data.len() as u64 {
        let wanted = length.saturating_add((PREFIX + DIGEST) as u64);
        return Err(FormatError::Length { wanted, found: bytes.len() as u64 });
    }
    if digest(&bytes[..PREFIX], data) == *stored { Ok(data) } else { Err(FormatError::Digest) }
}

fn digest(prefix: &[u8], data: &[u8]) -> [u8; DIGEST] {
    Sha256::new().chain_update(prefix).chain_update(data).finalize().into()
}
