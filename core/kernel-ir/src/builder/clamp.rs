//! Conversion of data values to indices that are in bounds.

use super::{FunctionBuilder, Scalar, Value};
use fusebox_hlo::ElementType;

impl FunctionBuilder {
    /// Clamps an integer of an HLO type to `0..=limit` and converts it to an index. The clamp is
    /// computed in the integer's own type, before the conversion, so that the conversion cannot
    /// overflow.
    #[track_caller]
    pub fn clamped_index(&mut self, value: Value, ty: ElementType, limit: i64) -> Value {
        let (scalar, signed) = (Scalar::of_element(ty), ty.is_signed_integer());
        let bits = ty.bits() - u32::from(signed);
        let mut value = value;
        if signed {
            let zero = self.int(0, scalar);
            value = self.maxsi(value, zero);
        }
        // No comparison is needed if the type has no value above the limit.
        if bits >= 63 || limit < (1 << bits) - 1 {
            let limit = self.int(limit, scalar);
            value = if signed { self.minsi(value, limit) } else { self.minui(value, limit) };
        }
        self.index_castui(value, Scalar::Index)
    }
}
