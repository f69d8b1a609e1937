//! Loads the choices that a compilation uses.

use std::path::Path;

use fusebox_compiler::Options;
use fusebox_lowering::Runner;
use procfs::{CpuInfo, Current};
use sha2::{Digest, Sha256};

use super::contenders::find;
use super::database::{DatabaseError, all, is_there};
use super::question::Question;

/// Names the target device. The name is the same in every run, and differs for devices on which
/// times may differ.
pub fn device(options: &Options) -> String {
    let device = &options.device;
    let digest: [u8; 32] = Sha256::digest(format!("{device:?}")).into();
    let digest: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = match options.target.runner() {
        // Programs are planned for all processors, but their time depends on the number of threads.
        Some(Runner::Cpu) => {
            let info = CpuInfo::current().ok();
            let model = info.as_ref().and_then(|info| info.model_name(0)).map(|name| format!(" {name},"));
            format!("{} {} threads", model.unwrap_or_default(), options.threads)
        }
        _ => format!(" {} cores", device.core_count),
    };
    format!("{}:{parts}, {digest}", options.target)
}

/// Adds the choices for the compilation's device to its options, if their emitters are present.
/// Adds nothing if there is no file.
///
/// # Errors
/// If the file cannot be read.
pub fn load(path: &Path, options: &mut Options) -> Result<(), DatabaseError> {
    // Without a file, the machine is not queried.
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
