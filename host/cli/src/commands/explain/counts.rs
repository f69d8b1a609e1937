//! `fusebox explain --counts`: what each kernel executes on the software driver.

use fusebox_choices::THIS_GPU;
use fusebox_compiler::{Phase, Source};
use fusebox_run::terminal;
use fusebox_runtime::Target;
use fusebox_workshop::counts::{self, CountRow};
use fusebox_workshop::{page, roofline};
use serde_json::json;

use crate::arguments::{CommonArguments, Explain};
use crate::exit::Failure;
use crate::module;

/// The kind of device that `cuda` means if `SOFTWARE_CUDA_DEVICE` does not name one. The software
/// driver has the same default device.
const USUAL_DEVICE: &str = "sm_90";

/// Runs the program once on the software driver, and prints the counts of each kernel.
pub fn print(source: &Source, arguments: &Explain) -> Result<(), Failure> {
    let target = target(&arguments.common.compiling.target)?;
    let driver = arguments.driver.find()?;
    let mut common: CommonArguments = arguments.common.clone();
    common.compiling.target = target;
    let options = module::options(&common, None, Phase::Run, Vec::new())?;
    let mut made = module::compile_with(source, &options)?;
    let executable = made.executable.take().ok_or_else(|| Failure::Bug("the compiler made no executable".into()))?;
    let Target::Cuda(_) = executable.target else { return Err(no_gpu(&common.compiling.target)) };
    let counted = driver.run(&executable, &arguments.inputs, None)?;
    let (rows, missing) = counts::rows(&made, &executable, &counted, &options.device)?;
    if let Some(missing) = missing {
        terminal::complain(&format!("remark: registers, spills and occupancy are not known: {missing}"));
    }
    if let Some(path) = &arguments.html {
        let roofs = roofline::rows(&made.kernels, &options.device, None);
        let page = page::of_program(&made, &options, &common.compiling.target, &roofs, &rows);
        return Ok(fusebox_files::write(path, page.as_bytes())?);
    }
    let is_meant = |row: &CountRow| arguments.fusion.as_ref().is_none_or(|pattern| pattern.matches(&row.fusion));
    let rows: Vec<CountRow> = rows.into_iter().filter(is_meant).collect();
    Ok(terminal::print(
        |out| {
            if arguments.json { writeln!(out, "{}", json!(rows)) } else { counts::write(out, &rows) }
        },
    )?)
}

/// Returns the target whose code runs on the software driver. This process does not use the
/// software driver, so it cannot ask the driver which device `cuda` means.
fn target(asked: &str) -> Result<String, Failure> {
    match asked {
        THIS_GPU => {
            let device = std::env::var("SOFTWARE_CUDA_DEVICE").ok().filter(|device| !device.is_empty());
            Ok(device.unwrap_or_else(|| USUAL_DEVICE.into()))
        }
        _ if asked.starts_with("sm_") => Ok(asked.to_owned()),
        _ => Err(no_gpu(asked)),
    }
}

fn no_gpu(target: &str) -> Failure {
    Failure::usage(format!("--counts needs a target for NVIDIA GPUs: --target {THIS_GPU} or sm_NN, not {target}"))
}
