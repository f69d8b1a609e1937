//! The common part of the emitters of products. Each emitter implements [`ProductStrategy`]. A
//! strategy chooses its sizes from a problem, a device and knobs. The sizes determine the plan and
//! the kernel.

use std::marker::PhantomData;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Analysis, Bid, Blocks, Candidate, Configuration, Decline, EmitError, Fusion, Kernel, Plan, Strategy, Task,
};
use fusebox_core::hlo::Opcode;

use crate::bid;

/// A strategy for computing products. An instance contains all sizes that the strategy has chosen.
pub trait ProductStrategy: Sized + 'static {
    type Problem: Analysis;
    const BLOCKS: Blocks;
    /// Operations for which the emitter bids.
    const ANCHORS: &'static [Opcode];

    /// Checks that the strategy supports the problem and the device.
    ///
    /// # Errors
    /// Returns the reason if the strategy does not support the problem or the device.
    fn suits(problem: &Self::Problem, device: &DeviceDescription) -> Result<(), Decline>;

    /// Chooses the sizes. Does not change knobs that the configuration sets.
    ///
    /// # Errors
    /// If a knob has an impossible value, or the chosen sizes do not fit the device.
    fn new(problem: &Self::Problem, device: &DeviceDescription, knobs: &Configuration) -> Result<Self, EmitError>;

    fn plan(&self, problem: &Self::Problem, device: &DeviceDescription) -> Plan;

    /// # Errors
    /// If the kernel cannot be built.
    fn emit(&self, fusion: &Fusion, problem: &Self::Problem) -> Result<Kernel, EmitError>;
}

/// The emitter for a [`ProductStrategy`].
pub struct ProductEmitter<W>(PhantomData<fn() -> W>);

impl<W> ProductEmitter<W> {
    pub const fn new() -> Self {
        ProductEmitter(PhantomData)
    }
}

impl<W: ProductStrategy> Strategy for ProductEmitter<W> {
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
