//! Where kernels are tried: a target with the device that emitters see.

use fusebox_core::device::DeviceDescription;
use fusebox_lowering::Target;

/// A target and its device.
#[derive(Clone, Debug)]
pub struct Machine {
    /// What code is made for.
    pub target: Target,
    /// What emitters see.
    pub device: DeviceDescription,
}

impl Machine {
    /// A processor of two cores.
    pub fn cpu() -> Machine {
        Machine::new(Target::cpu(), DeviceDescription::cpu(2))
    }

    /// The simulated GPU.
    pub fn simt() -> Machine {
        Machine::new(Target::simt(), DeviceDescription::simt())
    }

    /// A target with any device.
    pub fn new(target: Target, device: DeviceDescription) -> Machine {
        Machine { target, device }
    }
}
