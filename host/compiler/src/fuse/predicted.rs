//! What kernels of one computation are predicted to take: what is decided where limits alone do not tell.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Computation, Module};

use super::claims::Claims;
use crate::host_module::with_callees;

/// Seconds that a change must be predicted to save for each instruction that is compiled in more places than before, where equal
/// kernels are compiled once: an instruction takes about a thousand times as long to compile, and few programs run less often than that.
pub const GAIN_PER_COPY: f64 = 1e-7;

/// Predictions for kernels of one module.
pub struct Predicted<'m, 'c, 'a> {
    module: &'m Module,
    claims: &'c Claims<'a>,
}

impl<'m, 'c, 'a> Predicted<'m, 'c, 'a> {
    /// For kernels that call computations of this module.
    pub fn new(module: &'m Module, claims: &'c Claims<'a>) -> Self {
        Predicted { module, claims }
    }

    /// The device that predictions are about.
    pub fn device(&self) -> &'a DeviceDescription {
        self.claims.device()
    }

    /// The kernel as a module.
    pub fn alone(&self, kernel: Computation) -> Module {
        with_callees(self.module, kernel, "alone")
    }

    /// Predicted of a kernel, by the emitter that is best at it; `None` if none takes it.
    pub fn seconds(&self, kernel: Computation) -> Option<f64> {
        let fusion = Fusion::new("alone", self.alone(kernel))?;
        self.claims.seconds(&fusion).ok()
    }
}
