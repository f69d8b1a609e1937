//! `--passes`: which passes over HLO are left out.

use clap::builder::{PossibleValue, PossibleValuesParser};
use fusebox_compiler::{PASSES, Pass};

/// The passes that can be left out, with a minus in front.
pub fn parser() -> PossibleValuesParser {
    let optional = PASSES.iter().filter(|pass| pass.is_optional);
    PossibleValuesParser::new(optional.map(|pass| PossibleValue::new(written(pass)).help(pass.about)))
}

/// The names of passes that are written so.
pub fn left_out(given: &[String]) -> Vec<&'static str> {
    PASSES.iter().filter(|pass| given.contains(&written(pass))).map(|pass| pass.name).collect()
}

fn written(pass: &Pass) -> String {
    format!("-{}", pass.name)
}
