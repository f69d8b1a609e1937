//! Values of the configuration.

use fusebox_core::emitter::Configuration;

/// A configuration of these knobs.
pub fn configuration(knobs: &[(&str, i64)]) -> Configuration {
    Configuration(knobs.iter().map(|&(name, value)| (name.to_owned(), value)).collect())
}
