//! Reductions on devices whose blocks are one thread.

use fusebox_core::analysis::ReductionFusion;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline, EmitError, Fusion, Kernel, Plan};

use crate::{Form, decline};

/// The score, or why not.
pub fn score(form: Form, _: &Fusion, _: &ReductionFusion, _: &DeviceDescription) -> Result<u32, Decline> {
    decline(format!("{} is for blocks of several threads", form.name()))
}

/// Launch, maps and knobs.
pub fn plan(
    form: Form,
    _: &Fusion,
    _: &ReductionFusion,
    _: &DeviceDescription,
    _: &Configuration,
) -> Result<Plan, EmitError> {
    Err(EmitError { message: format!("{} is for blocks of several threads", form.name()), instruction: None })
}

/// The kernel.
pub fn emit(form: Form, _: &Fusion, _: &ReductionFusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
    Err(EmitError { message: format!("{} is for blocks of several threads", form.name()), instruction: None })
}
