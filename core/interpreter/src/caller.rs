//! The interface through which operations run the computations that they apply to elements. The
//! evaluator implements the interface, so that no operation depends on the evaluator.

use fusebox_core::hlo::{ComputationId, Module};

use crate::devices::Device;
use crate::error::Outcome;
use crate::random::Generator;
use crate::value::Value;

/// Runs computations for operations.
pub(crate) trait Caller {
    /// Returns the module that contains the operations.
    fn module(&self) -> &Module;

    /// Returns the random number generator of the evaluation.
    fn generator(&mut self) -> &mut Generator;

    /// Returns the device that this evaluation simulates, if the program is for several devices.
    fn device(&self) -> Option<&Device<'_>>;

    /// Runs the body of a manual computation on this device's parts of the arrays.
    fn call_on_device(&mut self, id: ComputationId, arguments: Vec<Value>) -> Outcome<Value>;

    /// Runs a computation for an operation that calls it.
    fn call(&mut self, id: ComputationId, arguments: Vec<Value>) -> Outcome<Value>;
}
