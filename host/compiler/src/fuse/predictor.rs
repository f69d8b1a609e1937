//! Predicts times of kernels, for fusion decisions that fixed limits alone cannot make.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Computation, Module};
use fusebox_edit::with_callees;

use super::claims::Claims;

/// Seconds that a change must be predicted to save for each additional instruction that is
/// compiled. Equal kernels are compiled once. Compiling an instruction takes about a thousand times
/// these seconds, and most programs run at least a thousand times.
pub const GAIN_PER_COPY: f64 = 1e-7;

/// Predictions for kernels of one module.
pub struct KernelPredictor<'m, 'c, 'a> {
    module: &'m Module,
    claims: &'c Claims<'a>,
}

impl<'m, 'c, 'a> KernelPredictor<'m, 'c, 'a> {
    /// Creates predictions for kernels that call computations of this module.
    pub fn new(module: &'m Module, claims: &'c Claims<'a>) -> Self {
        KernelPredictor { module, claims }
    }

    /// Returns the device for which kernels are predicted.
    pub fn device(&self) -> &'a DeviceDescription {
        self.claims.device()
    }

    /// Returns the kernel as a separate module.
    pub fn alone(&self, kernel: Computation) -> Module {
        with_callees(self.module, kernel, "alone")
    }

    /// Predicts the seconds of a kernel with its best emitter. `None` if no emitter plans the
    /// kernel.
    pub fn seconds(&self, kernel: Computation) -> Option<f64> {
        let fusion = Fusion::new("alone", self.alone(kernel))?;
        self.claims.seconds(fusion).ok()
    }
}
