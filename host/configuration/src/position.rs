//! Positions in a configuration file.

use std::fmt;
use std::path::{Path, PathBuf};

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    /// Path of the file.
    pub file: PathBuf,
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the column in characters, from 1.
    pub column: usize,
}

impl FilePosition {
    /// Returns the position of the byte at offset `byte` of a file's text.
    pub fn at(file: &Path, text: &str, byte: usize) -> FilePosition {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before[line_start..].chars().count() + 1;
        FilePosition { file: file.into(), line: before.matches('\n').count() + 1, column }
    }

    /// Returns the text `FILE:LINE`.
    pub fn line(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}
