//! The ways to compute a module.

use fusebox_conformance::{Compiler, Machine, Target, interpreted};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::ArrayLiteral;
use fusebox_runtime::ThreadOrder;

/// An implementation of HLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Kernels for this machine.
    Cpu,
    /// Kernels for a GPU, run by the simulator.
    Simt,
    /// The reference interpreter.
    Interpreter,
}

impl Engine {
    /// Evaluates a module, and returns the leaves of its result.
    pub fn run(self, text: &str, inputs: &[ArrayLiteral]) -> Vec<ArrayLiteral> {
        let compiled = |machine: Machine| {
            let made = Compiler::new(Vec::new())?.run_in_orders(text, &machine, inputs, &[ThreadOrder::Forward]);
            made.map(|made| made.result)
        };
        let result = match self {
            Engine::Cpu => compiled(Machine::new(Target::cpu(), DeviceDescription::cpu(1))),
            Engine::Simt => compiled(Machine::simt()),
            Engine::Interpreter => interpreted(text, inputs),
        };
        let result = result.unwrap_or_else(|e| panic!("{self:?}: {e}"));
        result.leaves().into_iter().map(|leaf| leaf.as_array().unwrap().clone()).collect()
    }
}
