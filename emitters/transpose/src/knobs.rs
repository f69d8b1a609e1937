//! Knobs: what a configuration may set.

use fusebox_core::emitter::Configuration;

/// The values with which a schedule was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knobs(Vec<(&'static str, i64)>);

impl Knobs {
    /// Names and values.
    pub fn new(values: &[(&'static str, i64)]) -> Self {
        Knobs(values.to_vec())
    }

    /// As a configuration.
    pub fn configuration(&self) -> Configuration {
        self.0.iter().copied().collect()
    }

    /// The same with one value replaced.
    pub fn with(&self, name: &'static str, value: i64) -> Self {
        Knobs(self.0.iter().map(|&(known, old)| (known, if known == name { value } else { old })).collect())
    }

    /// The configurations that `others` makes of these, without these themselves and without repetition.
    pub fn alternatives(&self, others: impl IntoIterator<Item = Knobs>) -> Vec<Configuration> {
        let mut all: Vec<Configuration> = Vec::new();
        for other in others {
            let configuration = other.configuration();
            if other != *self && !all.contains(&configuration) {
                all.push(configuration);
            }
        }
        all
    }

    /// The value of a knob.
    pub fn get(&self, name: &str) -> i64 {
        self.0.iter().find(|(known, _)| *known == name).map_or(0, |&(_, value)| value)
    }
}
