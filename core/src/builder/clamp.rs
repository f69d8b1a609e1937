//! Indices computed from data.

use super::{FunctionBuilder, Scalar, Value};
use crate::hlo::ElementType;

impl FunctionBuilder {
    /// Clamps an integer of an HLO type to `0..=limit` and converts it to an index. Clamping first,
    /// in the integer's own type, avoids overflow in the conversion.
    #[track_caller]
    pub fn clamped_index(&mut self, value: Value, ty: ElementType, limit: i64) -> Value {
        let (scalar, signed) = (Scalar::of_element(ty), ty.is_signed_integer());
        let bits = ty.bits() - u32::from(signed);
        let mut value = value;
        if signed {
            let zero = self.int(0, scalar);
            value = self.maxsi(value, zero);
        }
        // A limit that the type cannot exceed needs no comparison.
        if bits >= 63 || limit < (1 << bits) - 1 {
            let limit = self.int(limit, scalar);
            value = if signed { self.minsi(value, limit) } else { self.minui(value, limit) };
        }
        self.index_castui(value, Scalar::Index)
    }
}
