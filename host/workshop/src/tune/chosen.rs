//! What a compilation goes by.

use std::collections::HashMap;
use std::path::Path;

use fusebox_compiler::{Options, Tuned};
use fusebox_lowering::Runner;
use fusebox_plugins::Fingerprint;
use procfs::{CpuInfo, Current};
use sha2::{Digest, Sha256};

use super::contenders::find;
use super::database::{DatabaseError, all};

/// The device that is compiled for, in words that are the same in every run and differ where times may.
pub fn device(options: &Options) -> String {
    let device = &options.device;
    let digest: [u8; 32] = Sha256::digest(format!("{device:?}")).into();
    let digest: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let model = match options.target.runner() {
        Some(Runner::Cpu) => {
            CpuInfo::current().ok().and_then(|info| info.model_name(0).map(|name| format!(" {name},")))
        }
        _ => None,
    };
    format!("{}:{} {} cores, {digest}", options.target, model.unwrap_or_default(), device.core_count)
}

/// What was chosen for the fusions of this device, of emitters that are here; nothing if there is no such file.
///
/// # Errors
/// If the file cannot be read.
pub fn load(path: &Path, options: &Options) -> Result<HashMap<Fingerprint, Tuned>, DatabaseError> {
    // Nothing is asked of the machine where nothing was tuned.
    if !path.exists() {
        return Ok(HashMap::new());
    }
    let found = all(path, &device(options))?;
    let here = |(fingerprint, chosen): (_, super::Chosen)| {
        Some((fingerprint, find(&chosen.spec, &options.emitters.registry)?))
    };
    Ok(found.into_iter().filter_map(here).collect())
}
