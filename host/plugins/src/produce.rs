//! Gets a checked plan and kernel from one emitter.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Kernel, Plan, check_plan};

use crate::failure::{Failure, FailureKind, Stage};
use crate::kernel_check::check_kernel;
use crate::loaded_emitter::LoadedEmitter;

/// An emitter's plan and kernel for a fusion.
#[derive(Clone, Debug, PartialEq)]
pub struct Produced {
    /// The checked plan.
    pub plan: Plan,
    /// The kernel with a checked list of functions. Lowering verifies the IR of the kernel.
    pub kernel: Kernel,
}

/// A failure, with the results that the emitter returned before the failure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{failure}")]
pub struct Unfinished {
    /// The failure.
    pub failure: Failure,
    /// The plan, if the emitter returned a plan. The plan may be the cause of the failure.
    pub plan: Option<Plan>,
    /// The kernel, if it is the cause of the failure.
    pub kernel: Option<Kernel>,
}

/// Asks an emitter for a plan and checks the plan, then asks for the kernel and checks the kernel.
///
/// # Errors
/// If the emitter fails, or its plan or kernel is wrong.
pub fn produce(
    emitter: &LoadedEmitter,
    fusion: &Fusion,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Produced, Box<Unfinished>> {
    produce_planned(emitter, fusion, device, emitter.plan(fusion, device, configuration))
}

/// Checks an emitter's plan, asks for the kernel, and checks the kernel.
///
/// # Errors
/// If `plan` is a failure, the emitter fails, or its plan or kernel is wrong.
pub fn produce_planned(
    emitter: &LoadedEmitter,
    fusion: &Fusion,
    device: &DeviceDescription,
    plan: Result<Plan, Failure>,
) -> Result<Produced, Box<Unfinished>> {
    let without = |failure| Box::new(Unfinished { failure, plan: None, kernel: None });
    let plan = plan.map_err(without)?;
    let checked = check_plan(&plan, fusion, device)
        .map_err(|fault| emitter.failure(Stage::Plan, fusion, FailureKind::Plan(Box::new(fault))));
    let kernel = match checked.and_then(|()| emitter.emit(fusion, device, &plan)) {
        Ok(kernel) => kernel,
        Err(failure) => return Err(Box::new(Unfinished { plan: Some(plan), ..*without(failure) })),
    };
    match check_kernel(&kernel, fusion) {
        Ok(()) => Ok(Produced { plan, kernel }),
        Err(fault) => {
            let failure = emitter.failure(Stage::Emit, fusion, FailureKind::Kernel(fault));
            Err(Box::new(Unfinished { failure, plan: Some(plan), kernel: Some(kernel) }))
        }
    }
}
