//! The option `--cubins`, which says when `ptxas` makes machine code for GPUs.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fusebox_choices::Cubins;

/// Returns a parser for the values of the option.
pub fn parser() -> impl TypedValueParser<Value = Cubins> {
    let names = Cubins::ALL.map(|choice| PossibleValue::new(choice.name()).help(about(choice)));
    PossibleValuesParser::new(names).try_map(|name| Cubins::parse(&name).ok_or("no such choice"))
}

fn about(choice: Cubins) -> &'static str {
    match choice {
        Cubins::Auto => "If ptxas is installed, and the executable is written to a file or to the cache",
        Cubins::Never => "The driver assembles the PTX when it loads the program",
        Cubins::Always => "For every program; it is an error if ptxas is not installed",
    }
}
