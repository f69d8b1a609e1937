//! The dictionary in a custom call's `backend_config`: `{uplo = 76 : ui8, largest = true}`.

/// The attributes of a custom call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes<'a> {
    entries: Vec<(&'a str, &'a str)>,
}

impl<'a> Attributes<'a> {
    /// Those of a `backend_config`; none if it holds no dictionary.
    pub fn new(text: &'a str) -> Attributes<'a> {
        let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
        let entry = |part: &'a str| {
            let (name, value) = part.split_once('=')?;
            let value = value.split_once(" : ").map_or(value, |(value, _)| value);
            Some((name.trim().trim_matches('"'), value.trim()))
        };
        Attributes { entries: inner.split(',').filter_map(entry).collect() }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.entries.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// An integer, of any width.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.parse().ok()
    }
}
