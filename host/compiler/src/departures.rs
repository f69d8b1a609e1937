//! Departures from the usual way of compiling, for whoever looks for a fault in it or wants to know what a step is worth.

use std::sync::Arc;

use fusebox_core::hlo::Module;
use fusebox_core::ir::Function;
use fusebox_lowering::Stage;
use fusebox_runtime::Executable;

/// What is done otherwise than usual; by default nothing.
#[derive(Clone, Default)]
pub struct Departures {
    /// Whether LLVM's passes are left out.
    pub unoptimised: bool,
    /// Names of passes that are left out, none of which is needed.
    pub without_passes: Vec<&'static str>,
    /// Faults that tests plant. Nothing but tests sets this.
    #[doc(hidden)]
    pub planted: Planted,
}

/// Changes a module after the pass of that name, or after `fuse`.
type InModule = Arc<dyn Fn(&str, &mut Module) + Send + Sync>;
/// Changes a kernel's functions after a stage of lowering.
type InKernel = Arc<dyn Fn(Stage, &mut [Function]) + Send + Sync>;
/// Changes what is made in the end.
type InExecutable = Arc<dyn Fn(&mut Executable) + Send + Sync>;

/// Faults that tests plant, to see whether they are found.
#[derive(Clone, Default)]
pub struct Planted {
    pub module: Option<InModule>,
    pub kernel: Option<InKernel>,
    pub executable: Option<InExecutable>,
}

impl Planted {
    /// Whether there are any.
    pub(crate) fn is_any(&self) -> bool {
        self.module.is_some() || self.kernel.is_some() || self.executable.is_some()
    }

    pub(crate) fn in_module(&self, step: &str, module: &mut Module) {
        self.module.iter().for_each(|plant| plant(step, module));
    }

    pub(crate) fn in_kernel(&self, stage: Stage, functions: &mut [Function]) {
        self.kernel.iter().for_each(|plant| plant(stage, functions));
    }

    pub(crate) fn in_executable(&self, executable: &mut Executable) {
        self.executable.iter().for_each(|plant| plant(executable));
    }
}
