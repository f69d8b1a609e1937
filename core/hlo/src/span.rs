//! Source locations and the diagnostics that contain them.

use std::fmt;

/// A location in the text that a module was read from. Line and column start at 1. Line 0 means
/// that there is no text, because a pass built the item or because the module was read from a
/// protobuf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A fault in a module, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the file, as the user writes it; empty if there is no file.
    pub file: String,
    /// The location in the file.
    pub span: Span,
    /// Name of the instruction or computation concerned, if known.
    pub subject: Option<String>,
    /// The fault in one sentence, and how to correct it if that is not obvious.
    pub message: String,
    /// The source line concerned, for the caret display; empty if unknown.
    pub source_line: String,
}

/// Returns the part of a source line that a diagnostic shows. The function cuts off the end of long
/// lines. The result is empty if `column` is in the part that the function cuts off.
pub(crate) fn shown_line(line: &str, column: u32) -> String {
    const LONGEST: usize = 300;
    if line.len() <= LONGEST {
        return line.to_owned();
    }
    if column as usize > LONGEST {
        return String::new();
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = if self.file.is_empty() { "<module>" } else { &self.file };
        if self.span.line > 0 {
            write!(f, "{file}:{}:{}: error: {}", self.span.line, self.span.column, self.message)?;
        } else {
            write!(f, "{file}: error: {}", self.message)?;
        }
        if let Some(subject) = &self.subject {
            write!(f, " [in {subject}]")?;
        }
        if self.span.line > 0 && !self.source_line.is_empty() {
            let column = self.span.column.saturating_sub(1) as usize;
            write!(f, "\n    {}\n    {:column$}^", self.source_line, "")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
