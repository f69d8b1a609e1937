//! Parses the dictionary in a custom call's `backend_config`: `{uplo = 76 : ui8, largest = true}`.

use std::str::FromStr;

use crate::Unsupported;

/// The attributes of a custom call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes<'a> {
    entries: Vec<(&'a str, &'a str)>,
}

impl<'a> Attributes<'a> {
    /// Parses the text of a `backend_config`. If the text is not a dictionary, the result has no
    /// attributes.
    pub fn new(text: &'a str) -> Attributes<'a> {
        let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
        let entry = |part: &'a str| {
            let (name, value) = part.split_once('=')?;
            let value = value.split_once(" : ").map_or(value, |(value, _)| value);
            Some((name.trim().trim_matches('"'), value.trim()))
        };
        Attributes { entries: inner.split(',').filter_map(entry).collect() }
    }

    /// Returns the value of the attribute `name`, or `None` if the attribute is missing. A value is
    /// an integer of any width, or a flag (`true` or `false`).
    ///
    /// # Errors
    /// If the value cannot be parsed as `T`.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<Option<T>, Unsupported> {
        let entry = self.entries.iter().find(|(known, _)| *known == name);
        let value = |(name, value): &(&str, &str)| {
            value.parse().map_err(|_| Unsupported::new(format!("`{name} = {value}` in backend_config")))
        };
        entry.map(value).transpose()
    }
}
