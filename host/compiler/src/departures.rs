//! Deviations from the usual compilation. They help to find the pass or stage that causes a fault,
//! and to measure the effect of a pass or stage.

use std::sync::Arc;

use fusebox_core::hlo::Module;
use fusebox_core::ir::Function;
use fusebox_lowering::{LoweringError, MlirPasses, Rewritten, Stage};
use fusebox_runtime::Executable;

/// Deviations from the usual compilation. By default there are none.
#[derive(Clone, Default)]
pub struct Departures {
    /// Whether to skip LLVM's passes.
    pub unoptimised: bool,
    /// Names of passes to skip. All of them are optional.
    pub without_passes: Vec<&'static str>,
    /// MLIR passes to run on kernels. Passes that run after the same stage run in this order.
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
    /// Whether any of these deviations changes the generated code.
    pub(crate) fn change_code(&self) -> bool {
        self.unoptimised || !self.mlir_passes.is_empty() || self.planted.is_any()
    }

    /// Applies the planted changes and the MLIR passes to a kernel after a stage of lowering.
    pub(crate) fn in_kernel(&self, kernel: &mut Rewritten<'_>) -> Result<(), LoweringError> {
        self.planted.in_kernel(kernel.stage, kernel.functions);
        MlirPasses::run_all(&self.mlir_passes, kernel)
    }
}

impl Planted {
    /// Whether any fault is planted.
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
