//! Dots and convolutions, element by element, as a loop that sums products.

use fusebox_core::builder::{FastMath, Type, Value};
use fusebox_core::hlo::{BinaryOp, ElementType, InstrId};

use super::binary::binary;
use super::convert::convert;
use super::state::accumulator;
use crate::EmissionError;
use crate::error::Result;
use crate::writer::{FunctionWriter, LoopForm, SiteOperands};

/// Writes a `dot` or `convolution`. The operands are the left and the right side of the dot, or the
/// input and the kernel of the convolution. In a convolution, the recipe's branch guards the reads
/// of elements that may be out of bounds. `reads` has no operands if there are no elements to
/// contract, or if the convolution's kernel never overlaps the input.
pub fn sum_of_products(writer: &mut FunctionWriter<'_, '_>, reads: &SiteOperands<'_>) -> Result<Vec<Value>> {
    let result = writer.partition.array(reads.id)?.element_type;
    let sum_type = accumulator(writer.partition, reads.id)?;
    let zero = writer.b.zero(&Type::of_element(sum_type));
    let sum = match reads.operands {
        [left, right] => {
            let (left, right) = (left[0], right[0]);
            let sums = writer.loop_over(reads.recipe.loops[0], LoopForm::Looped, &[zero], |writer, state| {
                writer.behind(reads.recipe.branches.first(), state, |writer| {
                    add_product(writer, reads.id, sum_type, state[0], [left, right])
                })
            })?;
            sums[0]
        }
        _ => zero,
    };
    Ok(vec![writer.b.formula(&[sum], |sum| Ok::<_, EmissionError>(convert(sum_type, result, sum[0])))?])
}

fn add_product(
    writer: &mut FunctionWriter<'_, '_>,
    id: InstrId,
    sum_type: ElementType,
    sum: Value,
    factors: [Value; 2],
) -> Result<Vec<Value>> {
    let types = [0, 1].map(|k| writer.partition.operand_array(id, k).map(|array| array.element_type));
    let [left_type, right_type] = types;
    let (left_type, right_type) = (left_type?, right_type?);
    let b = &mut writer.b;
    let product = b.formula(&factors, |factors| {
        let (left, right) = (convert(left_type, sum_type, factors[0]), convert(right_type, sum_type, factors[1]));
        binary(BinaryOp::Multiply, sum_type, left, right)
    });
    b.set_fastmath(FastMath::REASSOC);
    let sum = product
        .and_then(|product| b.formula(&[sum, product], |terms| binary(BinaryOp::Add, sum_type, terms[0], terms[1])));
    b.set_fastmath(FastMath::NONE);
    sum.map(|sum| vec![sum]).map_err(|message| writer.error(id, message))
}
