//! The simulator's report of a program that is wrong on this processor, where nothing stops a kernel that reads and writes out of
//! bounds, races, or uses memory that was never written.

use fusebox_compiler::{Dump, Options, Source};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Literal, Module};
use fusebox_lowering::Target;
use fusebox_runtime as runtime;

use crate::case::executed;
use crate::reference::is_short;

/// Most additions of a module that is simulated: some seconds.
const MOST_SIMULATED: f64 = 2e7;

/// The fault of a kernel, with the emitter, the element, the thread and the operation, in words. `None` if the simulator finds
/// none, the program is no fault of kernels there, or it takes long.
pub fn fault(
    module: &Module,
    source: &Source,
    inputs: &[Literal],
    options: &Options,
    run: &runtime::Options,
) -> Option<String> {
    if !is_short(module, MOST_SIMULATED) {
        return None;
    }
    let (target, device) = (Target::simt(), DeviceDescription::simt());
    let options = Options { target, device, dump: Dump::default(), stages: Vec::new(), ..options.clone() };
    let made = fusebox_compiler::compile(source, &options).ok()?;
    executed(made.executable, inputs, run).err().map(|error| error.to_string())
}
