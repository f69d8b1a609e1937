//! The machines on which kernels are tested. A machine consists of a target and the description of
//! the device for which emitters plan.

use fusebox_core::device::DeviceDescription;
use fusebox_lowering::Target;

/// A target, and the device for which emitters plan.
#[derive(Clone, Debug)]
pub struct Machine {
    pub target: Target,
    pub device: DeviceDescription,
}

impl Machine {
    /// Returns a processor with two cores.
    pub fn cpu() -> Machine {
        Machine::new(Target::cpu(), DeviceDescription::cpu(2))
    }

    pub fn simt() -> Machine {
        Machine::new(Target::simt(), DeviceDescription::simt())
    }

    pub fn new(target: Target, device: DeviceDescription) -> Machine {
        Machine { target, device }
    }
}
