//! The ways to compute a module.

use fusebox_compiler::Source;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_lowering::Target;

use crate::compiled;

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Kernels for this machine.
    Cpu,
    /// Kernels for a GPU, simulated.
    Simt,
    /// The reference interpreter.
    Interpreter,
}

impl Engine {
    /// The leaves of a module's result.
    pub fn run(self, text: &str, inputs: &[ArrayLiteral]) -> Vec<ArrayLiteral> {
        let source = Source::text("case.hlo", text);
        let result = match self {
            Engine::Cpu => compiled::run(&source, Target::Cpu, DeviceDescription::cpu(1), inputs),
            Engine::Simt => compiled::run(&source, Target::Simt, DeviceDescription::simt(), inputs),
            Engine::Interpreter => {
                let module = source.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
                let literals: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
                fusebox_interpreter::evaluate(&module, &literals).map_err(|e| e.to_string())
            }
        };
        let result = result.unwrap_or_else(|e| panic!("{self:?}: {e}\n{text}"));
        result.leaves().into_iter().map(|leaf| leaf.as_array().unwrap().clone()).collect()
    }
}
