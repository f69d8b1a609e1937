//! A checked plan and its kernel from one emitter.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Kernel, Plan, check_plan};

use crate::carrier::LoadedEmitter;
use crate::failure::{Failure, FailureKind, Stage};
use crate::kernel_check::check_kernel;

/// What an emitter made of a fusion.
#[derive(Clone, Debug, PartialEq)]
pub struct Produced {
    /// The plan, checked.
    pub plan: Plan,
    /// The kernel, its list of functions checked; its IR is verified by lowering.
    pub kernel: Kernel,
}

/// How far an emitter came before it failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{failure}")]
pub struct Unfinished {
    /// Why it has no kernel.
    pub failure: Failure,
    /// Its plan, if it made one: what is wrong may be the plan.
    pub plan: Option<Plan>,
    /// Its kernel, if that is what is wrong.
    pub kernel: Option<Kernel>,
}

/// Plans, checks the plan, emits, checks the kernel.
///
/// # Errors
/// If the emitter fails, or what it gives is wrong.
pub fn produce(
    emitter: &LoadedEmitter,
    fusion: &Fusion,
    device: &DeviceDescription,
    configuration: &Configuration,
) -> Result<Produced, Box<Unfinished>> {
    produce_planned(emitter, fusion, device, emitter.plan(fusion, device, configuration))
}

/// Checks the plan that an emitter has made, emits, checks the kernel.
///
/// # Errors
/// If the emitter has failed or fails, or what it gives is wrong.
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
