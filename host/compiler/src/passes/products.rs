//! Removes transposes of the operands and of the result of a product, because products read and
//! write arrays in any order of dimensions. Replaces products whose contracted dimensions have one
//! element.
//!
//! ```text
//! dot(a, b)             broadcast(a) * broadcast(b)         if the summed dimensions have one element: needs no separate kernel
//! dot(transpose a, b)   dot(a, b) over other dimensions     if unsummed dimensions keep their order
//! transpose(dot(a, b))  dot(b, a)                           if it swaps rows and columns, and is the product's only user
//! ```

use fusebox_core::hlo::{BinaryOp, Computation, DotDims, InstrId, Instruction, Module, Op, Shape};

use crate::CompileError;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Rewrites every product that thunks execute.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    for id in in_role(module, Role::Sequence) {
        let old = module.computation(id);
        let users = old.users();
        let new = Rebuild::each(old, |rebuild, _, instruction| {
            Ok::<_, CompileError>(match &instruction.op {
                Op::Dot(dims) => {
                    outer(rebuild, instruction, dims).or_else(|| of_transposed(rebuild, instruction, dims))
                }
                Op::Transpose { permutation } if users[instruction.operands[0].index()].len() == 1 => {
                    transposed(rebuild, old, instruction, permutation)
                }
                _ => None,
            })
        })?;
        module.computations[id.index()] = new;
    }
    Ok(())
}

/// Replaces a product without sums by an elementwise multiplication. Leaves a product with a
/// prescribed algorithm to emitters that know the algorithm.
fn outer(rebuild: &mut Rebuild, instruction: &Instruction, dims: &DotDims) -> Option<InstrId> {
    let operands = rebuild.operands(instruction);
    let left = rebuild.instruction(operands[0]).shape.as_array()?.rank();
    let is_one =
        |&d: &i64| rebuild.instruction(operands[0]).shape.as_array().is_some_and(|it| it.dims[d as usize] == 1);
    if !dims.algorithm.is_empty() || !dims.lhs_contracting.iter().all(is_one) {
        return None;
    }
    let instruction = &without_precision(instruction);
    let columns = left - dims.lhs_contracting.len();
    let left =
        spread(rebuild, instruction, operands[0], (&dims.lhs_batch, &dims.lhs_contracting), dims.lhs_batch.len())?;
    let right = spread(rebuild, instruction, operands[1], (&dims.rhs_batch, &dims.rhs_contracting), columns)?;
    Some(rebuild.add(instruction, Op::Binary(BinaryOp::Multiply), instruction.shape.clone(), vec![left, right]))
}

/// Returns a copy of a product without its precision, as the origin of operations that have no
/// precision.
pub(super) fn without_precision(product: &Instruction) -> Instruction {
    let mut origin = product.clone();
    origin.extra.iter_mut().for_each(|extra| extra.other.retain(|(name, _)| name != "operand_precision"));
    origin
}

/// Broadcasts an operand of a product to the shape and type of the result. Its first free dimension
/// becomes dimension `first_free` of the result.
fn spread(
    rebuild: &mut Rebuild,
    product: &Instruction,
    operand: InstrId,
    (batch, summed): (&[i64], &[i64]),
    first_free: usize,
) -> Option<InstrId> {
    let result = product.shape.as_array()?;
    let source = rebuild.instruction(operand).shape.as_array()?.clone();
    let mut next_free = first_free as i64..;
    let place = |d: i64| batch.iter().position(|&it| it == d).map(|it| it as i64).or_else(|| next_free.next());
    let kept: Vec<i64> = (0..source.rank() as i64).filter(|d| !summed.contains(d)).collect();
    let places: Vec<i64> = kept.iter().copied().map(place).collect::<Option<_>>()?;
    let sizes: Vec<i64> = kept.iter().map(|&d| source.dims[d as usize]).collect();
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&at| places[at]);
    let sorted: Vec<i64> = order.iter().map(|&at| sizes[at]).collect();

    let mut steps = vec![(Op::Reshape, Shape::array(source.element_type, sizes))];
    if !order.is_sorted() {
        let permutation = order.iter().map(|&at| at as i64).collect();
        steps.push((Op::Transpose { permutation }, Shape::array(source.element_type, sorted.clone())));
    }
    if source.element_type != result.element_type {
        steps.push((Op::Convert, Shape::array(result.element_type, sorted)));
    }
    let dimensions = order.iter().map(|&at| places[at]).collect();
    steps.push((Op::Broadcast { dimensions }, Shape::array(result.element_type, result.dims.clone())));
    Some(steps.into_iter().fold(operand, |value, (op, shape)| rebuild.add(product, op, shape, vec![value])))
}

/// Returns a product that reads the arrays directly instead of their transposes.
fn of_transposed(rebuild: &mut Rebuild, instruction: &Instruction, dims: &DotDims) -> Option<InstrId> {
    let mut dims = dims.clone();
    let operands = rebuild.operands(instruction);
    let left = untransposed(rebuild, operands[0], &mut dims.lhs_batch, &mut dims.lhs_contracting);
    let right = untransposed(rebuild, operands[1], &mut dims.rhs_batch, &mut dims.rhs_contracting);
    let sources = vec![left, right];
    (sources != operands).then(|| rebuild.add(instruction, Op::Dot(dims), instruction.shape.clone(), sources))
}

/// Returns the array before the transpose, and renumbers the operand's dimensions to match. Returns
/// the operand itself if the transpose changes the order of rows or columns of the product.
fn untransposed(rebuild: &Rebuild, operand: InstrId, batch: &mut [i64], summed: &mut [i64]) -> InstrId {
    let instruction = rebuild.instruction(operand);
    let Op::Transpose { permutation } = &instruction.op else { return operand };
    let is_free = |d: &i64| !batch.contains(d) && !summed.contains(d);
    let free = (0..permutation.len() as i64).filter(is_free).map(|d| permutation[d as usize]);
    if !free.is_sorted() {
        return operand;
    }
    batch.iter_mut().chain(summed).for_each(|d| *d = permutation[*d as usize]);
    instruction.operands[0]
}

/// Replaces the transpose of a product by the product of the swapped operands.
fn transposed(
    rebuild: &mut Rebuild,
    old: &Computation,
    instruction: &Instruction,
    permutation: &[i64],
) -> Option<InstrId> {
    let rank = permutation.len();
    let product = rebuild.instruction(rebuild.mapped(instruction.operands[0])).clone();
    let Op::Dot(dims) = &product.op else { return None };
    let left = rebuild.instruction(product.operands[0]).shape.as_array()?.rank();
    let batch = dims.lhs_batch.len();
    let columns = left - dims.lhs_contracting.len();
    let exchanged = (0..batch).chain(columns..rank).chain(batch..columns).map(|d| d as i64);
    if !exchanged.eq(permutation.iter().copied()) || old.root == instruction.operands[0] {
        return None;
    }
    let dims = DotDims {
        lhs_batch: dims.rhs_batch.clone(),
        rhs_batch: dims.lhs_batch.clone(),
        lhs_contracting: dims.rhs_contracting.clone(),
        rhs_contracting: dims.lhs_contracting.clone(),
        algorithm: dims.algorithm.clone(),
    };
    let operands = product.operands.iter().rev().copied().collect();
    Some(rebuild.add(&product, Op::Dot(dims), instruction.shape.clone(), operands))
}
