//! Loads stored choices into the options of a compilation.

use std::path::Path;

use fusebox_compiler::Options;
use fusebox_lowering::Runner;
use procfs::{CpuInfo, Current};
use sha2::{Digest, Sha256};

use super::contenders::find;
use super::database::{DatabaseError, all, is_there};
use super::question::Question;

/// Returns a name of the target device. The name is equal in every run. Two devices on which times
/// may differ have different names.
pub fn device(options: &Options) -> String {
    let device = &options.device;
    let digest: [u8; 32] = Sha256::digest(format!("{device:?}")).into();
    let digest: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = match options.target.runner() {
        // Plans do not depend on the number of threads, but the time of a program does.
        Some(Runner::Cpu) => {
            let info = CpuInfo::current().ok();
            let model = info.as_ref().and_then(|info| info.model_name(0)).map(|name| format!(" {name},"));
            format!("{} {} threads", model.unwrap_or_default(), options.threads)
        }
        _ => format!(" {} cores", device.core_count),
    };
    format!("{}:{parts}, {digest}", options.target)
}

/// Adds the stored choices for the device of a compilation to its options. Omits a choice if its
/// emitter is not loaded. If there is no file, adds nothing.
///
/// # Errors
/// If the file cannot be read.
pub fn load(path: &Path, options: &mut Options) -> Result<(), DatabaseError> {
    // If there is no file, the machine need not be queried.
    if !is_there(path) {
        return Ok(());
    }
    for (question, chosen) in all(path, &device(options))? {
        let emitters = &mut options.emitters;
        match question {
            Question::Emitter(fusion) => {
                emitters.tuned.extend(find(&chosen.spec, &emitters.registry).map(|tuned| (fusion, tuned)));
            }
            Question::Cut(region) => drop(emitters.cuts.insert(region, chosen.spec)),
        }
    }
    Ok(())
}
