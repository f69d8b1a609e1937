//! Runs a program that is wrong on this processor on the simulator, for its report. On the
//! processor, nothing stops a kernel that reads or writes out of bounds, has races, or uses
//! uninitialised memory.

use fusebox_compiler::{Dump, Options};
use fusebox_core::device::DeviceDescription;
use fusebox_lowering::{Runner, Target};
use fusebox_runtime as runtime;

use crate::case::{Case, executed};
use crate::reference::is_short;

/// Most additions of a module to simulate: some seconds.
const MOST_SIMULATED: f64 = 2e7;

/// Describes the fault of a kernel with emitter, element, thread and operation. `None` if the
/// simulator finds no fault or would take too long, or if the program was already compiled for the
/// simulator.
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
