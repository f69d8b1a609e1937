//! The interface through which operations run the computations that they apply to elements. The
//! evaluator implements it, and no operation depends on the evaluator.

use fusebox_core::hlo::{ComputationId, Module};

use crate::error::Outcome;
use crate::random::Generator;
use crate::value::Value;

/// Runs computations for operations.
pub(crate) trait Caller {
    /// Returns the module that contains the operations.
    fn module(&self) -> &Module;

    /// Returns the random number generator of the evaluation.
    fn generator(&mut self) -> &mut Generator;

    /// Runs a computation for an operation that calls it.
    fn call(&mut self, id: ComputationId, arguments: Vec<Value>) -> Outcome<Value>;
}
