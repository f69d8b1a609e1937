//! Runs a program on the simulator, to find out why the program's result on this processor is
//! wrong. The simulator reports kernels that read or write out of bounds, have races, or use
//! uninitialised memory. The processor reports no error for kernels with races, accesses out of
//! bounds or uninitialised memory.

use fusebox_compiler::{Dump, Options};
use fusebox_core::device::DeviceDescription;
use fusebox_lowering::{Runner, Target};
use fusebox_runtime as runtime;

use crate::case::{Case, executed};
use crate::reference::is_short;

/// Largest work of a module that is simulated, as a number of additions. The simulator takes some
/// seconds for so much work.
const MOST_SIMULATED: f64 = 2e7;

/// Describes the fault that the simulator finds in a kernel, with emitter, element, thread and
/// operation. Returns `None` if the simulator finds no fault, or would take too long. Also returns
/// `None` if `options` already select the simulator as the target.
pub fn fault(case: &Case, options: &Options, run: &runtime::Options) -> Option<String> {
    let (target, device) = (Target::simt(), DeviceDescription::simt());
    let is_simulated = matches!(options.target.runner(), Some(Runner::Simulator));
    if is_simulated || !is_short(&case.module, MOST_SIMULATED) {
        return None;
    }
    let options = Options { target, device, dump: Dump::default(), stages: Vec::new(), ..options.clone() };
    let made = fusebox_compiler::compile(&case.source(), &options).ok()?;
    executed(made.executable, &case.inputs, run).err().map(|error| error.to_string())
}
