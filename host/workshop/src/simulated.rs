//! The simulator's report of a program that is wrong on this processor, where nothing stops a
//! kernel that reads and writes out of bounds, races, or uses memory that was never written.

use fusebox_compiler::{Dump, Options};
use fusebox_core::device::DeviceDescription;
use fusebox_lowering::{Runner, Target};
use fusebox_runtime as runtime;

use crate::case::{Case, executed};
use crate::reference::is_short;

/// Most additions of a module that is simulated: some seconds.
const MOST_SIMULATED: f64 = 2e7;

/// The fault of a kernel, with the emitter, the element, the thread and the operation, in words.
/// `None` if the simulator finds none or takes long, or the program was simulated in the first place.
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
