//! `interpret MODULE IN.npz OUT.npz`: runs a module in the reference interpreter.

use std::error::Error;
use std::path::Path;

use fusebox_core::hlo::{Literal, Module, Shape, parse_module, verify};
use fusebox_runtime::npz;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, inputs, outputs] = arguments.as_slice() else {
        return Err("usage: interpret MODULE IN.npz OUT.npz".into());
    };
    let text = std::fs::read_to_string(module)?;
    let module = parse_module(&text, module).map_err(all)?;
    verify(&module).map_err(all)?;
    let inputs = npz::read_inputs(Path::new(inputs), &parameter_shapes(&module))?;
    let result: Literal = fusebox_interpreter::evaluate(&module, &inputs)?;
    npz::write_outputs(Path::new(outputs), &result)?;
    Ok(())
}

fn all(diagnostics: Vec<fusebox_core::hlo::Diagnostic>) -> String {
    diagnostics.iter().map(|d| format!("{d}\n")).collect()
}

fn parameter_shapes(module: &Module) -> Vec<Shape> {
    let Some(entry) = module.entry_computation() else {
        return Vec::new();
    };
    entry.parameters().into_iter().map(|p| entry.instruction(p).shape.clone()).collect()
}
