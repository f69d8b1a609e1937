//! Describes the GPU for emitters.

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use fusebox_core::device::DeviceDescription;

use super::gpu::Gpu;
use super::{load_error, product};
use crate::LoadError;

/// Returns the compute capability of the first GPU (90 for 9.0), and the description of this GPU
/// that emitters use.
///
/// # Errors
/// Fails if there is no driver or no GPU.
pub fn describe_gpu() -> Result<(u32, DeviceDescription), LoadError> {
    let device = Gpu::open()?;
    Ok((device.capability()?, describe(&device)?))
}

fn describe(device: &Gpu) -> Result<DeviceDescription, LoadError> {
    let capability = device.capability()?;
    let clock_khz = f64::from(attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?);
    let bus_bits = f64::from(attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?);
    let like = DeviceDescription::sm(capability);
    // The memory makes two transfers per clock cycle. Newer drivers report a clock rate of zero, so
    // the bandwidth is then unknown.
    let bandwidth = 2.0 * clock_khz * 1e3 * bus_bits / 8.0;
    Ok(DeviceDescription {
        core_count: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_threads_per_core: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        max_threads_per_block: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        shared_bytes_per_block: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        memory_bandwidth: if bandwidth > 0.0 { bandwidth } else { like.memory_bandwidth },
        has_product_library: product::is_present(),
        ..like
    })
}

fn attribute(device: &Gpu, attribute: Attribute) -> Result<u32, LoadError> {
    let value = device.context.attribute(attribute).map_err(|e| load_error("reading a device attribute", e))?;
    Ok(value.unsigned_abs())
}
