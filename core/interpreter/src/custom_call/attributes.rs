//! The dictionary in a custom call's `backend_config`: `{uplo = 76 : ui8, largest = true}`.

use fusebox_core::hlo::Instruction;

use crate::error::{Outcome, malformed};

pub(super) struct Attributes {
    entries: Vec<(String, String)>,
}

impl Attributes {
    /// Reads the attributes of an instruction. If the instruction has no dictionary, the list of
    /// attributes is empty.
    pub fn new(instruction: &Instruction) -> Self {
        let text = instruction.extra.as_ref().and_then(|extra| extra.backend_config.as_deref()).unwrap_or("");
        let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
        let entry = |part: &str| {
            let (name, value) = part.split_once('=')?;
            let value = value.split_once(" : ").map_or(value, |(value, _)| value);
            Some((name.trim().trim_matches('"').to_string(), value.trim().to_string()))
        };
        Attributes { entries: inner.split(',').filter_map(entry).collect() }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.entries.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.parse().ok()
    }

    pub fn integer(&self, name: &str) -> Outcome<i64> {
        match self.get(name).and_then(|value| value.parse().ok()) {
            Some(value) => Ok(value),
            None => malformed(format!("backend_config has no integer `{name}`")),
        }
    }

    /// Returns a letter, which the dictionary stores as a character code.
    pub fn letter(&self, name: &str) -> Outcome<char> {
        let code = self.integer(name)?;
        match u8::try_from(code) {
            Ok(code) => Ok(char::from(code).to_ascii_uppercase()),
            Err(_) => malformed(format!("`{name} = {code}` is no letter")),
        }
    }
}
