//! Writes pieces of text that several kinds of attributes contain: quoted strings and lists.

use std::fmt::{self, Write};

/// Returns a string in quotes, with C escapes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 || control as u32 == 0x7f => {
                out.push_str(&format!("\\{:03o}", control as u32));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Joins items with a separator.
pub fn joined<T: fmt::Display>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut out = String::new();
    for (position, item) in items.into_iter().enumerate() {
        let _ = write!(out, "{}{item}", if position > 0 { separator } else { "" });
    }
    out
}

/// Returns `{1,2,3}`.
pub(crate) fn braced(numbers: &[i64]) -> String {
    format!("{{{}}}", joined(numbers, ","))
}
