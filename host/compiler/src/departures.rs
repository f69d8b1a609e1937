//! Deviations from the usual compilation. Deviations help to find the pass or stage that causes a
//! fault, and to measure the effect of a pass or stage.

use fusebox_lowering::{LoweringError, MlirPasses, Rewritten};

use crate::Planted;

/// Deviations from the usual compilation. By default a compilation has no deviations.
#[derive(Clone, Default)]
pub struct Departures {
    /// Whether to skip LLVM's passes.
    pub unoptimised: bool,
    /// Names of passes to skip. Only optional passes can be skipped.
    pub without_passes: Vec<&'static str>,
    /// MLIR passes to run on kernels. Passes that run after the same stage run in the order of this
    /// list.
    pub mlir_passes: Vec<MlirPasses>,
    /// Whether to check the module after every pass and after fusion.
    pub verify_each: bool,
    /// Faults that tests plant, with the feature `plant-faults`.
    #[doc(hidden)]
    pub planted: Planted,
}

impl Departures {
    /// Whether to check the module after each pass and after fusion. Debug builds always check the
    /// module.
    pub(crate) fn is_verified(&self) -> bool {
        self.verify_each || cfg!(debug_assertions)
    }

    /// Whether any deviation changes the machine code that a kernel is compiled to.
    pub(crate) fn change_code(&self) -> bool {
        self.unoptimised || !self.mlir_passes.is_empty() || self.planted.is_any()
    }

    /// Applies the planted changes and the MLIR passes to a kernel after a stage of lowering.
    pub(crate) fn in_kernel(&self, kernel: &mut Rewritten<'_>) -> Result<(), LoweringError> {
        self.planted.in_kernel(kernel.stage, kernel.functions);
        MlirPasses::run_all(&self.mlir_passes, kernel)
    }
}
