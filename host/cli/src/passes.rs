//! The option `--passes`, which skips HLO passes.

use clap::builder::{PossibleValue, PossibleValuesParser};
use fusebox_compiler::{PASSES, Pass};

/// Returns a parser for the values of the option. The parser accepts the names of optional passes,
/// each with a leading minus.
pub fn parser() -> PossibleValuesParser {
    let optional = PASSES.iter().filter(|pass| pass.is_optional);
    PossibleValuesParser::new(optional.map(|pass| PossibleValue::new(written(pass)).help(pass.about)))
}

/// Returns the names of the passes that the values `given` skip.
pub fn left_out(given: &[String]) -> Vec<&'static str> {
    PASSES.iter().filter(|pass| given.contains(&written(pass))).map(|pass| pass.name).collect()
}

fn written(pass: &Pass) -> String {
    format!("-{}", pass.name)
}
