//! A checked plan and its kernel from one emitter.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Kernel, Plan};

use crate::carrier::LoadedEmitter;
use crate::failure::{Failure, FailureKind, Stage};
use crate::kernel_check::check_kernel;
use crate::plan_check::check_plan;

/// What an emitter made of a fusion.
#[derive(Clone, Debug, PartialEq)]
pub struct Produced {
    /// The plan, checked.
    pub plan: Plan,
    /// The kernel, its list of functions checked; its IR is verified by lowering.
    pub kernel: Kernel,
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
) -> Result<Produced, Failure> {
    let plan = emitter.plan(fusion, device, configuration)?;
    check_plan(&plan, fusion, device)
        .map_err(|fault| emitter.failure(Stage::Plan, fusion, FailureKind::Plan(Box::new(fault))))?;
    let kernel = emitter.emit(fusion, device, &plan)?;
    check_kernel(&kernel, fusion).map_err(|fault| emitter.failure(Stage::Emit, fusion, FailureKind::Kernel(fault)))?;
    Ok(Produced { plan, kernel })
}
