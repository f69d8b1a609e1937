//! Names of targets.

use fusebox_core::device::DeviceDescription;
use fusebox_lowering::{Runner, Target};

use crate::exit::Failure;

/// The name of the GPU in this machine.
pub const THIS_GPU: &str = "cuda";

/// The target of that name and the device it stands for: this machine's own where it is meant. How many threads a program is run with
/// is not asked: it would decide how sums are cut, and results are to have the same bits for any number.
pub fn parse(name: &str, ptx_version: Option<u32>) -> Result<(Target, DeviceDescription), Failure> {
    let (target, device) = match name {
        THIS_GPU => {
            let (capability, device) = fusebox_runtime::describe_gpu()?;
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

fn unknown(name: &str) -> Failure {
    Failure::usage(format!("unknown target `{name}`: {} or {THIS_GPU}", Target::names().join(", ")))
}

/// The number of threads meant by the flag.
pub fn threads(flag: usize) -> usize {
    match flag {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n.min(1024),
    }
}
