//! What the ways of making products in blocks of many threads have in common as emitters.

use std::marker::PhantomData;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Bid, Blocks, Candidate, Configuration, Decline, EmitError, Fusion, Kernel, Plan, Strategy, Task,
};
use fusebox_core::hlo::Opcode;

use crate::bid;
use crate::problem::{Problem, Sizes};

/// More products than any machine makes; below it, no count overflows.
const MOST_PRODUCTS: i64 = 1 << 48;
/// As many blocks as there may be, each of which has a result at least.
const MOST_RESULTS: i64 = (1 << 31) - 1;
/// Products in all below which a kernel takes as long as its launch.
const LEAST_PRODUCTS: i64 = 1 << 11;
/// Products of an element below which a loop over the results reads no more than tiles.
const LEAST_STEPS: i64 = 4;

/// A way, with everything that it chooses.
pub trait Way: Sized {
    /// # Errors
    /// Why it is none for such a product, or for the device.
    fn suits(problem: &Problem, device: &DeviceDescription) -> Result<(), Decline>;

    /// Chooses what the configuration leaves open.
    ///
    /// # Errors
    /// If a knob has an impossible value, or what is chosen does not fit the device.
    fn new(problem: &Problem, device: &DeviceDescription, knobs: &Configuration) -> Result<Self, EmitError>;

    fn plan(&self, problem: &Problem, device: &DeviceDescription) -> Plan;

    /// # Errors
    /// If the kernel cannot be written.
    fn emit(&self, fusion: &Fusion, problem: &Problem) -> Result<Kernel, EmitError>;
}

/// The emitter of a way.
pub struct By<W>(PhantomData<fn() -> W>);

impl<W> By<W> {
    pub const fn new() -> Self {
        By(PhantomData)
    }
}

impl<W: Way> Strategy for By<W> {
    type Problem = Problem;

    fn blocks(&self) -> Blocks {
        Blocks::OfManyThreads
    }

    fn anchors(&self) -> Vec<Opcode> {
        vec![Opcode::Dot]
    }

    fn bid(&self, candidate: &Candidate, _: &DeviceDescription) -> Bid {
        bid::around(candidate).map_or_else(Bid::Decline, |instructions| Bid::Take { instructions })
    }

    fn check(&self, task: &Task<Problem>) -> Result<(), Decline> {
        check(task.problem)?;
        W::suits(task.problem, task.device)?;
        let chosen = W::new(task.problem, task.device, &Configuration::default());
        chosen.map(drop).map_err(|error| Decline::new(error.message))
    }

    fn plan(&self, task: &Task<Problem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        Ok(W::new(task.problem, task.device, configuration)?.plan(task.problem, task.device))
    }

    fn emit(&self, task: &Task<Problem>, plan: &Plan) -> Result<Kernel, EmitError> {
        W::new(task.problem, task.device, &plan.configuration)?.emit(task.fusion, task.problem)
    }
}

/// # Errors
/// If a loop does as well, or there is too much to be counted.
pub fn check(problem: &Problem) -> Result<(), Decline> {
    let Sizes { batch, rows, columns, steps } = problem.sizes;
    let results = [batch, rows, columns].iter().fold(1i64, |n, &size| n.saturating_mul(size));
    let products = results.saturating_mul(steps);
    match () {
        _ if products > MOST_PRODUCTS || results > MOST_RESULTS => {
            Err(Decline::new("there are more products than any machine computes"))
        }
        _ if products < LEAST_PRODUCTS => Err(Decline::new(format!(
            "a loop over the results computes fewer than {LEAST_PRODUCTS} products as fast, and is less code"
        ))),
        _ if steps < LEAST_STEPS => {
            Err(Decline::new(format!("an element is a sum of {steps} products: tiles pay from {LEAST_STEPS} on")))
        }
        _ if problem.operands.iter().any(|operand| operand.runs.is_some()) => {
            Err(Decline::new("elements under a convolution's window are left to a loop"))
        }
        _ if problem.sum.is_complex() => Err(Decline::new("products of complex numbers are left to a loop")),
        _ => Ok(()),
    }
}
