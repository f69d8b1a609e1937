//! What the ways of making products have in common as emitters: each chooses its sizes from a problem, a device and knobs, and plan and
//! kernel follow from them.

use std::marker::PhantomData;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Analysis, Bid, Blocks, Candidate, Configuration, Decline, EmitError, Fusion, Kernel, Plan, Strategy, Task,
};
use fusebox_core::hlo::Opcode;

use crate::bid;

/// A way, with everything that it chooses.
pub trait Way: Sized + 'static {
    type Problem: Analysis;
    const BLOCKS: Blocks;
    /// What it computes.
    const ANCHORS: &'static [Opcode];

    /// # Errors
    /// Why it is none for such a problem, or for the device.
    fn suits(problem: &Self::Problem, device: &DeviceDescription) -> Result<(), Decline>;

    /// Chooses what the configuration leaves open.
    ///
    /// # Errors
    /// If a knob has an impossible value, or what is chosen does not fit the device.
    fn new(problem: &Self::Problem, device: &DeviceDescription, knobs: &Configuration) -> Result<Self, EmitError>;

    fn plan(&self, problem: &Self::Problem, device: &DeviceDescription) -> Plan;

    /// # Errors
    /// If the kernel cannot be written.
    fn emit(&self, fusion: &Fusion, problem: &Self::Problem) -> Result<Kernel, EmitError>;
}

/// The emitter of a way.
pub struct By<W>(PhantomData<fn() -> W>);

impl<W> By<W> {
    pub const fn new() -> Self {
        By(PhantomData)
    }
}

impl<W: Way> Strategy for By<W> {
    type Problem = W::Problem;

    fn blocks(&self) -> Blocks {
        W::BLOCKS
    }

    fn anchors(&self) -> Vec<Opcode> {
        W::ANCHORS.to_vec()
    }

    fn bid(&self, candidate: &Candidate, _: &DeviceDescription) -> Bid {
        bid::around(candidate).map_or_else(Bid::Decline, |instructions| Bid::Take { instructions })
    }

    fn check(&self, task: &Task<W::Problem>) -> Result<(), Decline> {
        W::suits(task.problem, task.device)?;
        let chosen = W::new(task.problem, task.device, &Configuration::default());
        chosen.map(drop).map_err(|EmitError { message, instruction }| Decline { reason: message, instruction })
    }

    fn plan(&self, task: &Task<W::Problem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        Ok(W::new(task.problem, task.device, configuration)?.plan(task.problem, task.device))
    }

    fn emit(&self, task: &Task<W::Problem>, plan: &Plan) -> Result<Kernel, EmitError> {
        W::new(task.problem, task.device, &plan.configuration)?.emit(task.fusion, task.problem)
    }
}
