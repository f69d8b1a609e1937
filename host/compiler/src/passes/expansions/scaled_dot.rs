//! `scaled-dot`: each scale applies to a block of elements, so the expansion broadcasts the scale
//! over the block.

use fusebox_core::hlo::{BinaryOp, DotDims, ElementType, InstrId};
use fusebox_edit::Builder;

use super::product;

/// Adds the expansion. Scales operands in `f32` or `f64`. In `f32` and `f64`, the product of an
/// operand and a scale of narrow types is exact.
pub fn expand(
    edit: &mut Builder,
    dims: &DotDims,
    operands: [InstrId; 2],
    scales: [InstrId; 2],
    result: ElementType,
) -> InstrId {
    let is_double = |&id: &InstrId| edit.array(id).is_some_and(|array| array.element_type == ElementType::F64);
    let ty = if operands.iter().chain(&scales).any(is_double) { ElementType::F64 } else { ElementType::F32 };
    let scaled = [0, 1].map(|side| scaled(edit, operands[side], scales[side], ty));
    product(edit, dims, result, scaled)
}

fn scaled(edit: &mut Builder, operand: InstrId, scale: InstrId, ty: ElementType) -> InstrId {
    let (value, scale) = (edit.convert(operand, ty), edit.convert(scale, ty));
    let (sizes, counts) = (edit.dims(value), edit.dims(scale));
    let spread = if counts.is_empty() {
        edit.spread(scale, &sizes)
    } else {
        // Splits each dimension in two: the block, and the position within it.
        let pairs: Vec<i64> = sizes.iter().zip(&counts).flat_map(|(&size, &count)| [count, size / count]).collect();
        let blocks: Vec<i64> = (0..counts.len() as i64).map(|dim| 2 * dim).collect();
        let blocks = edit.broadcast(scale, &pairs, &blocks);
        edit.reshape(blocks, &sizes)
    };
    edit.binary(BinaryOp::Multiply, value, spread)
}
