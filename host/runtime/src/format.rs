//! An executable as bytes: magic, version, target, then the data.

use thiserror::Error;

use crate::Executable;

const MAGIC: &[u8; 8] = b"FUSEBOX\n";
const VERSION: u32 = 2;

/// Why bytes are not an executable of this version.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// The magic is missing.
    #[error("not a fusebox executable: it does not begin with `FUSEBOX`")]
    Magic,
    /// Made by another version.
    #[error("executable of format {found}, this fusebox reads format {VERSION}: compile the module again")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// Truncated or altered.
    #[error("damaged executable: {0}")]
    Damaged(String),
}

impl Executable {
    /// Whether `bytes` claim to be an executable.
    pub fn is_executable(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// As bytes, to be stored.
    ///
    /// # Errors
    /// Never for an executable in memory; kept as an error because the encoder has one.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        postcard::to_extend(&self, bytes).map_err(|e| FormatError::Damaged(e.to_string()))
    }

    /// From bytes, with all indices checked.
    ///
    /// # Errors
    /// If the bytes are no executable, of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Executable, FormatError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(FormatError::Magic)?;
        let (version, data) = rest.split_first_chunk::<4>().ok_or(FormatError::Damaged("it ends early".into()))?;
        let found = u32::from_le_bytes(*version);
        if found != VERSION {
            return Err(FormatError::Version { found });
        }
        let executable: Executable = postcard::from_bytes(data).map_err(|e| FormatError::Damaged(e.to_string()))?;
        executable.check().map_err(FormatError::Damaged)?;
        Ok(executable)
    }
}
