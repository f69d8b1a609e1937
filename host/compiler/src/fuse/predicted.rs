//! What kernels of one computation are predicted to take: what is decided where limits alone do not tell.

use std::collections::HashMap;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Computation, Module, canonical_text};

use super::claims::Claims;
use crate::host_module::with_callees;
use crate::select::planned;

/// Seconds that a change must be predicted to save for each instruction that is compiled in more places than before, where equal
/// kernels are compiled once: an instruction takes about a thousand times as long to compile, and few programs run less often than that.
pub const GAIN_PER_COPY: f64 = 1e-7;

/// Predictions, each asked for once.
pub struct Predicted<'m, 'c, 'a> {
    module: &'m Module,
    claims: &'c Claims<'a>,
    /// By form of the kernel.
    seconds: HashMap<String, Option<f64>>,
}

impl<'m, 'c, 'a> Predicted<'m, 'c, 'a> {
    /// For kernels that call computations of this module.
    pub fn new(module: &'m Module, claims: &'c Claims<'a>) -> Self {
        Predicted { module, claims, seconds: HashMap::new() }
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
    pub fn seconds(&mut self, kernel: Computation) -> Option<f64> {
        let alone = self.alone(kernel);
        let form = canonical_text(&alone);
        if let Some(&known) = self.seconds.get(&form) {
            return known;
        }
        let fusion = Fusion::new("alone", alone);
        let planned = fusion.map(|fusion| planned(&fusion, self.claims.device(), self.claims.emitters(), None));
        let seconds = planned.and_then(Result::ok).map(|prediction| prediction.seconds);
        self.seconds.insert(form, seconds);
        seconds
    }
}
