//! The values of a computation under construction.

use std::collections::HashMap;

use fusebox_core::hlo::InstrId;

use crate::program::ValueId;

/// The instructions that compute the values of a computation.
#[derive(Default)]
pub(super) struct Body {
    values: HashMap<ValueId, InstrId>,
}

impl Body {
    pub(super) fn set(&mut self, value: ValueId, instruction: InstrId) {
        self.values.insert(value, instruction);
    }

    pub(super) fn get(&self, value: ValueId) -> Option<InstrId> {
        self.values.get(&value).copied()
    }
}
