//! Departures from the usual compilation, for finding faults in steps and measuring the effect of a
//! step.

use std::sync::Arc;

use fusebox_core::hlo::Module;
use fusebox_core::ir::Function;
use fusebox_lowering::{LoweringError, MlirPasses, Rewritten, Stage};
use fusebox_runtime::Executable;

/// Departures from the usual compilation. By default there are none.
#[derive(Clone, Default)]
pub struct Departures {
    /// Whether to skip LLVM's passes.
    pub unoptimised: bool,
    /// Names of passes to skip. All of them are optional.
    pub without_passes: Vec<&'static str>,
    /// Passes of MLIR to run on kernels, in this order where several run after one stage.
    pub mlir_passes: Vec<MlirPasses>,
    /// Faults that tests plant. Only tests set this.
    #[doc(hidden)]
    pub planted: Planted,
}

/// A function that changes a module after the named pass, or after `fuse`.
type ModuleChange = Arc<dyn Fn(&str, &mut Module) + Send + Sync>;
/// A function that changes a kernel's functions after a stage of lowering.
type KernelChange = Arc<dyn Fn(Stage, &mut [Function]) + Send + Sync>;
/// A function that changes the finished executable.
type ExecutableChange = Arc<dyn Fn(&mut Executable) + Send + Sync>;

/// Faults that tests plant in order to check that fusebox finds them.
#[derive(Clone, Default)]
pub struct Planted {
    pub module: Option<ModuleChange>,
    pub kernel: Option<KernelChange>,
    pub executable: Option<ExecutableChange>,
}

impl Departures {
    /// Whether the code differs from the usual code of these options.
    pub(crate) fn change_code(&self) -> bool {
        self.unoptimised || !self.mlir_passes.is_empty() || self.planted.is_any()
    }

    /// Rewrites a kernel after a stage.
    pub(crate) fn in_kernel(&self, kernel: &mut Rewritten<'_>) -> Result<(), LoweringError> {
        self.planted.in_kernel(kernel.stage, kernel.functions);
        MlirPasses::run_all(&self.mlir_passes, kernel)
    }
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
