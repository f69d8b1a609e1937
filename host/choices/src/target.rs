//! Parses the names of targets.

use fusebox_core::device::DeviceDescription;
use fusebox_lowering::{Runner, Target};

use crate::ChoiceError;

/// The name with which users request the GPU of this machine.
pub const THIS_GPU: &str = "cuda";

/// Returns the target with this name, and its device. For `cpu` and `cuda`, the device describes
/// this machine. The device does not depend on the number of threads that run the program: the
/// device determines how kernels split sums, and results must have the same bits for any number of
/// threads.
///
/// # Errors
/// If there is no target with this name, or no GPU.
pub fn target(name: &str, ptx_version: Option<u32>) -> Result<(Target, DeviceDescription), ChoiceError> {
    let (target, device) = match name {
        THIS_GPU => {
            let (capability, device) = fusebox_runtime::describe_gpu().map_err(ChoiceError::input)?;
            (Target::nvptx(capability), device)
        }
        _ => {
            let target = Target::named(name).ok_or_else(|| unknown(name))?;
            let device = match target.runner() {
                Some(Runner::Cpu) => target.described(fusebox_runtime::describe_cpu(threads(0))),
                _ => target.device().clone(),
            };
            (target, device)
        }
    };
    Ok((ptx_version.into_iter().fold(target, Target::with_ptx_version), device))
}

fn unknown(name: &str) -> ChoiceError {
    ChoiceError::usage(format!("unknown target `{name}`: {} or {THIS_GPU}", Target::names().join(", ")))
}

/// Returns the number of threads that a value of `--threads` requests.
pub fn threads(flag: usize) -> usize {
    match flag {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n.min(1024),
    }
}
