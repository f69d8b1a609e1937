//! The option `--lowering`, which chooses the code that turns kernels into LLVM IR.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fusebox_lowering::Lowering;

/// Returns a parser for the values of the option.
pub fn parser() -> impl TypedValueParser<Value = Lowering> {
    let names = Lowering::ALL.map(|lowering| PossibleValue::new(lowering.name()).help(about(lowering)));
    PossibleValuesParser::new(names).try_map(|name| Lowering::parse(&name))
}

fn about(lowering: Lowering) -> &'static str {
    match lowering {
        Lowering::Fusebox => "fusebox writes LLVM IR",
        Lowering::Mlir => "MLIR converts kernels to its dialect llvm, and translates this to LLVM IR",
    }
}
