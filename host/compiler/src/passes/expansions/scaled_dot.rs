//! `scaled-dot`: each scale applies to a block of elements, so the expansion broadcasts it over the
//! block.

use fusebox_core::hlo::{ArrayShape, DotDims, ElementType};

use super::{array, list, plain};

/// Returns the text of the expansion. It scales operands in `f32` or `f64`, in which products with
/// scales of narrow types are exact.
pub fn text(dims: &DotDims, operands: [&ArrayShape; 2], scales: [&ArrayShape; 2], result: &ArrayShape) -> String {
    let all = [operands[0], operands[1], scales[0], scales[1]];
    let is_double = all.iter().any(|array| array.element_type == ElementType::F64);
    let ty = if is_double { ElementType::F64 } else { ElementType::F32 };
    let mut text = String::from("ENTRY e {\n");
    for (number, shape) in all.iter().enumerate() {
        text += &format!("  p{number} = {} parameter({number})\n", plain(shape));
    }
    for (number, (operand, scale)) in operands.into_iter().zip(scales).enumerate() {
        let (sizes, shape) = (&operand.dims, array(ty, &operand.dims));
        text += &format!("  value{number} = {shape} convert(p{number})\n");
        text += &format!("  scale{number} = {} convert(p{})\n", array(ty, &scale.dims), number + 2);
        if scale.dims.is_empty() {
            text += &format!("  spread{number} = {shape} broadcast(scale{number}), dimensions={{}}\n");
        } else {
            // Splits each dimension in two: the block, and the position within it.
            let pairs: Vec<i64> =
                sizes.iter().zip(&scale.dims).flat_map(|(&size, &blocks)| [blocks, size / blocks]).collect();
            let blocks: Vec<i64> = (0..scale.rank() as i64).map(|dim| 2 * dim).collect();
            let (pairs, blocks) = (array(ty, &pairs), list(&blocks));
            text += &format!("  blocks{number} = {pairs} broadcast(scale{number}), dimensions={{{blocks}}}\n");
            text += &format!("  spread{number} = {shape} reshape(blocks{number})\n");
        }
        text += &format!("  scaled{number} = {shape} multiply(value{number}, spread{number})\n");
    }
    text + &format!("  ROOT r = {} dot(scaled0, scaled1), {}\n}}\n", plain(result), numbers(dims))
}

/// Returns the attributes of a dot as text.
pub fn numbers(dims: &DotDims) -> String {
    format!(
        "lhs_batch_dims={{{}}}, lhs_contracting_dims={{{}}}, rhs_batch_dims={{{}}}, rhs_contracting_dims={{{}}}",
        list(&dims.lhs_batch),
        list(&dims.lhs_contracting),
        list(&dims.rhs_batch),
        list(&dims.rhs_contracting)
    )
}
