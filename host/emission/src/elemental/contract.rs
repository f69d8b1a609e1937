//! Dots and convolutions, element by element: a loop that sums products.

use fusebox_core::builder::{FastMath, Value};
use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, accumulation_type};

use super::binary::binary;
use super::convert::convert;
use crate::EmissionError;
use crate::access::Recipe;
use crate::partition::Partition;
use crate::subgraph::Writer;

/// The type in which the products of an instruction are summed.
pub fn accumulator(partition: &Partition<'_>, id: InstrId) -> Result<ElementType, EmissionError> {
    let (left, right) = (partition.operand_array(id, 0)?, partition.operand_array(id, 1)?);
    Ok(accumulation_type(left.element_type, right.element_type, partition.array(id)?.element_type))
}

/// Operands: left, right; none if nothing is contracted.
pub fn dot(
    writer: &mut Writer<'_, '_>,
    id: InstrId,
    recipe: &Recipe,
    operands: &[Vec<Value>],
) -> Result<Vec<Value>, EmissionError> {
    sum_of_products(writer, id, recipe, operands)
}

/// Operands: input, kernel, behind the branch; none if the kernel never meets the input.
pub fn convolution(
    writer: &mut Writer<'_, '_>,
    id: InstrId,
    recipe: &Recipe,
    operands: &[Vec<Value>],
) -> Result<Vec<Value>, EmissionError> {
    sum_of_products(writer, id, recipe, operands)
}

fn sum_of_products(
    writer: &mut Writer<'_, '_>,
    id: InstrId,
    recipe: &Recipe,
    operands: &[Vec<Value>],
) -> Result<Vec<Value>, EmissionError> {
    let result = writer.partition.array(id)?.element_type;
    let sum_type = accumulator(writer.partition, id)?;
    let zero = writer.b.zero(&fusebox_core::builder::Type::of_element(sum_type));
    let sum = match operands {
        [left, right] => {
            let (left, right) = (left[0], right[0]);
            let sums = writer.loop_over(recipe.loops[0], &[zero], |writer, state| {
                let sum = state[0];
                let with_product = |writer: &mut Writer<'_, '_>| add_product(writer, id, sum_type, sum, left, right);
                match recipe.branches.first().filter(|branch| !branch.conditions.is_empty()) {
                    None => with_product(writer),
                    Some(branch) => {
                        let types = writer.b.types_of(&[sum]);
                        let condition = writer.holds(&branch.conditions);
                        let skipped = writer.yielding(&[sum]);
                        writer.branch_to(condition, branch.scope, &types, with_product, |_| Ok(skipped))
                    }
                }
            })?;
            sums[0]
        }
        _ => zero,
    };
    let value = convert(&mut writer.b, sum_type, result, sum).map_err(|message| writer.error(id, message))?;
    Ok(vec![value])
}

fn add_product(
    writer: &mut Writer<'_, '_>,
    id: InstrId,
    sum_type: ElementType,
    sum: Value,
    left: Value,
    right: Value,
) -> Result<Vec<Value>, EmissionError> {
    let left_type = writer.partition.operand_array(id, 0)?.element_type;
    let right_type = writer.partition.operand_array(id, 1)?.element_type;
    let b = &mut writer.b;
    let mut step = || {
        let left = convert(b, left_type, sum_type, left)?;
        let right = convert(b, right_type, sum_type, right)?;
        let product = binary(b, BinaryOp::Multiply, sum_type, left, right)?;
        b.set_fastmath(FastMath::REASSOC);
        let sum = binary(b, BinaryOp::Add, sum_type, sum, product);
        b.set_fastmath(FastMath::NONE);
        sum
    };
    step().map(|sum| vec![sum]).map_err(|message: String| writer.error(id, message))
}
