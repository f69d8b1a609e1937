//! Names of targets.

use fusebox_core::device::DeviceDescription;
use fusebox_lowering::Target;

use crate::exit::Failure;

/// The target of that name and the device it stands for.
pub fn parse(name: &str, threads: usize, ptx_version: Option<u32>) -> Result<(Target, DeviceDescription), Failure> {
    if let Some(digits) = name.strip_prefix("sm_") {
        let capability = digits.trim_end_matches(char::is_alphabetic).parse();
        let capability = capability.map_err(|_| unknown(name))?;
        return Ok((Target::Nvptx { capability, ptx_version }, DeviceDescription::sm(capability)));
    }
    if name.starts_with("gfx") {
        let device = DeviceDescription { name: name.into(), warp_size: 64, ..DeviceDescription::sm(90) };
        return Ok((Target::Amdgpu { processor: name.into() }, device));
    }
    match name {
        "cpu" => Ok((Target::Cpu, fusebox_runtime::describe_cpu(threads))),
        "simt" => Ok((Target::Simt, DeviceDescription::simt())),
        "cuda" => {
            let (capability, device) = fusebox_runtime::describe_gpu()?;
            Ok((Target::Nvptx { capability, ptx_version }, device))
        }
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Failure {
    Failure::usage(format!("unknown target `{name}`: cpu, simt, cuda, sm_NN or gfxNNN"))
}

/// The number of threads meant by the flag.
pub fn threads(flag: usize) -> usize {
    match flag {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n.min(1024),
    }
}
