//! The values of a computation under construction.

use std::collections::HashMap;

use fusebox_core::hlo::InstrId;

use super::known::Known;
use crate::program::ValueId;

/// The instructions that compute the values of a computation.
#[derive(Default)]
pub(super) struct Body {
    values: HashMap<ValueId, InstrId>,
    known: HashMap<ValueId, Known>,
}

impl Body {
    pub(super) fn set(&mut self, value: ValueId, instruction: InstrId) {
        self.values.insert(value, instruction);
    }

    /// Records the elements of a value that are known when the program is compiled.
    pub(super) fn set_known(&mut self, value: ValueId, known: Known) {
        self.known.insert(value, known);
    }

    pub(super) fn known(&self, value: ValueId) -> Option<&Known> {
        self.known.get(&value)
    }

    pub(super) fn get(&self, value: ValueId) -> Option<InstrId> {
        self.values.get(&value).copied()
    }
}
