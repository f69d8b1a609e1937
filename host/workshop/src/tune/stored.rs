//! Loads stored choices into the options of a compilation.

use std::path::Path;

use fusebox_compiler::Options;
use fusebox_lowering::{Lowering, Runner};
use sha2::{Digest, Sha256};

use super::contenders::find;
use super::database::{DatabaseError, all, is_there};
use super::question::Question;

/// Returns a name of the target device. A device has the same name in every run. If times may
/// differ between two devices, the devices have different names. A device has a different name for
/// each lowering, because times may differ between lowerings.
pub fn device(options: &Options) -> String {
    let device = &options.device;
    let digest: [u8; 32] = Sha256::digest(format!("{device:?}")).into();
    let digest: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = match options.target.runner() {
        // Plans do not depend on the number of threads, but the time of a program does.
        Some(Runner::Cpu) => {
            let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            let model = model_name(&known).map(|name| format!(" {name},"));
            format!("{} {} threads", model.unwrap_or_default(), options.threads)
        }
        _ => format!(" {} cores", device.core_count),
    };
    let lowering = match options.target.lowering() {
        Lowering::Fusebox => "",
        Lowering::Mlir => ", lowering mlir",
    };
    format!("{}:{parts}, {digest}{lowering}", options.target)
}

/// Returns the model of the first processor in the text of `/proc/cpuinfo`.
fn model_name(text: &str) -> Option<&str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.trim() == "model name").map(|(_, name)| name.trim())
}

/// Adds the choices that are stored for the target device to the options of a compilation. Omits a
/// choice if its emitter is not loaded. Adds nothing if the file does not exist.
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

#[cfg(test)]
mod tests {
    use super::model_name;

    #[test]
    fn a_device_has_the_name_of_its_first_processor() {
        let text = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9B14\n\nmodel name\t: Other\n";
        assert_eq!(model_name(text), Some("AMD EPYC 9B14"));
        assert_eq!(model_name("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
    }
}
