//! Chooses the model of a device.

use fusebox_core::device::DeviceDescription;

use crate::cpu::Cpu;
use crate::gpu::Gpu;
use crate::machine::Machine;

/// Returns the model of a device.
pub fn machine(device: &DeviceDescription) -> Box<dyn Machine + '_> {
    if device.is_single_threaded_block() { Box::new(Cpu { device }) } else { Box::new(Gpu { device }) }
}
