//! Masks that select the elements within the dynamic sizes of an array.

use fusebox_core::hlo::{BinaryOp, Comparison, ElementType, InstrId};
use fusebox_edit::Builder;

/// Returns a mask for an array of these bounds. The mask is true for elements that are within the
/// sizes of all dimensions in `sizes`.
pub fn within(edit: &mut Builder, dims: &[i64], sizes: &[(usize, InstrId)]) -> InstrId {
    let mut all: Option<InstrId> = None;
    for &(dimension, size) in sizes {
        let (at, size) = (edit.iota(ElementType::S32, dims, dimension), edit.spread(size, dims));
        let within = edit.compare(Comparison::Lt, at, size);
        all = Some(all.map_or(within, |all| edit.binary(BinaryOp::And, all, within)));
    }
    all.unwrap_or_else(|| edit.filled(ElementType::Pred, dims, 1.0))
}

/// Replaces the elements of an array beyond the given sizes by a scalar.
pub fn masked(edit: &mut Builder, value: InstrId, sizes: &[(usize, InstrId)], scalar: InstrId) -> InstrId {
    if sizes.is_empty() {
        return value;
    }
    let dims = edit.dims(value);
    let (within, scalar) = (within(edit, &dims, sizes), edit.spread(scalar, &dims));
    edit.select(within, value, scalar)
}
