//! Holds the text that the parser reads. Converts byte offsets to lines, columns and diagnostics.

use crate::span::shown_line;
use crate::{Diagnostic, Span};

/// A fault at a byte offset, without file and line.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Byte offset of the fault.
    pub at: usize,
    /// Description of the fault.
    pub message: String,
    /// The undefined name, if the fault is that a name is not defined.
    pub undefined: Option<String>,
}

impl Fault {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Fault { at, message: message.into(), undefined: None }
    }
}

/// Returns a fault at an offset from the surrounding function, if a condition is false.
macro_rules! ensure_at {
    ($condition:expr, $at:expr, $($message:tt)*) => {
        if !$condition {
            return Err($crate::text::source::Fault::new($at, format!($($message)*)));
        }
    };
}
pub(crate) use ensure_at;

pub(crate) type Parse<T> = Result<T, Fault>;

/// A text, with the offsets at which its lines start.
pub(crate) struct Source<'t> {
    pub text: &'t str,
    pub file: &'t str,
    line_starts: Vec<u32>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str, file: &'t str) -> Self {
        let starts = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at as u32 + 1);
        Source { text, file, line_starts: std::iter::once(0).chain(starts).collect() }
    }

    fn line_index(&self, at: usize) -> usize {
        self.line_starts.partition_point(|&start| start as usize <= at).saturating_sub(1)
    }

    /// Returns the line with this index, counted from 0. Leaves out the line end.
    pub(crate) fn line(&self, index: usize) -> &'t str {
        let Some(&start) = self.line_starts.get(index) else { return "" };
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |&next| next as usize);
        self.text[start as usize..end].trim_end_matches(['\n', '\r'])
    }

    pub(crate) fn span(&self, at: usize) -> Span {
        let line = self.line_index(at);
        let start = self.line_starts[line] as usize;
        let before = &self.text.as_bytes()[start..at.min(self.text.len())];
        // Counts characters, not bytes: skips continuation bytes of UTF-8.
        let column = before.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() + 1;
        Span { line: line as u32 + 1, column: column as u32 }
    }

    pub(crate) fn diagnostic(&self, fault: Fault, subject: Option<String>) -> Diagnostic {
        let span = self.span(fault.at);
        Diagnostic {
            file: self.file.to_owned(),
            span,
            subject,
            message: fault.message,
            source_line: shown_line(self.line(span.line as usize - 1), span.column),
        }
    }
}
