//! What a compilation goes by.

use std::path::Path;

use fusebox_compiler::Options;
use fusebox_lowering::Runner;
use procfs::{CpuInfo, Current};
use sha2::{Digest, Sha256};

use super::contenders::find;
use super::database::{DatabaseError, all, is_there};
use super::question::Question;

/// The device that is compiled for, in words that are the same in every run and differ where times may.
pub fn device(options: &Options) -> String {
    let device = &options.device;
    let digest: [u8; 32] = Sha256::digest(format!("{device:?}")).into();
    let digest: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = match options.target.runner() {
        // A program is planned for all processors, and takes as long as the threads let it that it has.
        Some(Runner::Cpu) => {
            let info = CpuInfo::current().ok();
            let model = info.as_ref().and_then(|info| info.model_name(0)).map(|name| format!(" {name},"));
            format!("{} {} threads", model.unwrap_or_default(), options.threads)
        }
        _ => format!(" {} cores", device.core_count),
    };
    format!("{}:{parts}, {digest}", options.target)
}

/// Lets a compilation go by what was chosen on its device, as far as the emitters are here; by nothing if there is no such file.
///
/// # Errors
/// If the file cannot be read.
pub fn load(path: &Path, options: &mut Options) -> Result<(), DatabaseError> {
    // Nothing is asked of the machine where nothing was tuned.
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
