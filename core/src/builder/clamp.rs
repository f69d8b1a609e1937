//! Indices that come from data.

use super::{FunctionBuilder, Scalar, Value};
use crate::hlo::ElementType;

impl FunctionBuilder {
    /// An integer of an HLO type as an index, clamped to `0..=limit`: in its own type, so that nothing is lost on the
    /// way.
    #[track_caller]
    pub fn clamped_index(&mut self, value: Value, ty: ElementType, limit: i64) -> Value {
        let (scalar, signed) = (Scalar::of_element(ty), ty.is_signed_integer());
        let bits = ty.bits() - u32::from(signed);
        let mut value = value;
        if signed {
            let zero = self.int(0, scalar);
            value = self.maxsi(value, zero);
        }
        // A limit that the type cannot reach needs no test.
        if bits >= 63 || limit < (1 << bits) - 1 {
            let limit = self.int(limit, scalar);
            value = if signed { self.minsi(value, limit) } else { self.minui(value, limit) };
        }
        self.index_castui(value, Scalar::Index)
    }
}
