//! The entry function.

use fusebox_core::builder::KernelBuilder;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{EmitError, Fusion, Kernel, Plan};

use crate::body::Body;
use crate::plan::Schedule;
use crate::problem::Problem;

/// Writes the kernel of a plan that [`crate::plan::plan`] made.
pub fn emit(fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
    let problem = Problem::accepted(fusion)?;
    let schedule = Schedule::new(&problem, device, &plan.configuration)?;
    let mut kernel = KernelBuilder::new(fusion);
    let body = Body::new(&mut kernel, &problem, device);
    let outputs = kernel.outputs().to_vec();
    let written = match &schedule {
        Schedule::Slabs(slabs) => slabs.emit(&mut kernel, &body, &outputs),
        Schedule::Updates(updates) => updates.emit(&mut kernel, &body, &outputs),
        Schedule::Runs(runs) => runs.emit(&mut kernel, &body, &outputs),
        Schedule::Gathered(gathered) => gathered.emit(&mut kernel, &body, &outputs),
        Schedule::Owned(owned) => owned.emit(&mut kernel, &body, &outputs),
    };
    kernel.finish(&written)
}
