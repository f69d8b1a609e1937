//! Description of a dot or convolution fusion as a batched matrix product with operands and
//! results. The description does not depend on the dimensions of the HLO instruction.

use fusebox_core::cost::is_heavy;
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{ArrayShape, Computation, DotDims, ElementType, InstrId, Instruction, Op, accumulation_type};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Reading, delinearize, maps_to};

use crate::form::{MOST_POINTS, ProductForm};
use crate::operand::{DimRoles, Operand, distances, distances_in, is_in_parts, rows_of};
use crate::{convert, convolution};

/// Least number of products for which packing pays. With fewer products, a loop over the elements
/// of the result is as fast.
pub const LEAST_PRODUCTS: i64 = 1 << 11;
/// Least number of products per batch for a product of a vector and a matrix. The limit is lower
/// than `LEAST_PRODUCTS`, because the kernel packs nothing: the columns of the matrix become lanes.
const LEAST_OF_A_VECTOR: i64 = 1 << 6;
/// Cost, in additions, of one vector of products whose operands are in the nearest cache.
pub const VECTOR_OF_PRODUCTS: f64 = 1.06;
/// Least number of products per result element for which packing pays.
pub const LEAST_STEPS: i64 = 4;

/// Number of products of two bytes that an `f32` can sum exactly, because 256 times 255 times 255
/// is less than 2 to the 24.
const EXACT_PRODUCTS: i64 = 256;

/// A fusion around a dot or a convolution, described as the product `[batch, rows, steps]` times
/// `[batch, steps, columns]`. If the kernel writes the result transposed, the two operands are
/// swapped; otherwise they have the instruction's order.
#[derive(Debug)]
pub struct ProductProblem {
    /// The dot or convolution.
    pub dot: InstrId,
    /// The left operand, whose lines are rows, and the right operand, whose lines are columns.
    pub operands: [Operand; 2],
    pub sizes: ProductSizes,
    /// Type in which products are summed.
    pub sum: ElementType,
    /// Type in which products are computed. In the type `factor`, the kernel also sums products, at
    /// most [`ProductProblem::most_together`] products at a time. For complex numbers, `factor` is
    /// the type of the real and imaginary parts.
    pub factor: ElementType,
    /// Element type of the dot's result.
    pub result: ElementType,
    /// Results of the fusion. The kernel writes all results of a group at the same index.
    pub roots: Vec<ProductRoots>,
}

/// Sizes of a matrix product. Each size combines any number of the instruction's dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductSizes {
    pub batch: i64,
    pub rows: i64,
    pub columns: i64,
    /// Number of products per result element.
    pub steps: i64,
}

/// Results that are written at the same index.
#[derive(Debug)]
pub struct ProductRoots {
    pub instructions: Vec<InstrId>,
    /// Positions of the results in the list of the fusion's outputs.
    pub outputs: Vec<usize>,
    /// Map from `(batch, row, column)` to the index of the results.
    pub at: IndexingMap,
}

impl ProductProblem {
    /// Returns the largest number of products that may be added in the type
    /// [`ProductProblem::factor`]. Bytes are multiplied as `f32`, because processors multiply
    /// floats faster than 32-bit integers. An `f32` holds the sum of the returned number of
    /// products of bytes exactly.
    pub fn most_together(&self) -> i64 {
        if self.factor == self.sum.real_part() { self.sizes.steps } else { self.sizes.steps.min(EXACT_PRODUCTS) }
    }

    /// Checks that packing pays.
    ///
    /// # Errors
    /// If the product is too small or too large, or if a loop over the results is as fast.
    pub fn check(&self) -> Result<(), Decline> {
        let ProductSizes { batch, rows, columns, steps } = self.sizes;
        let products = [batch, rows, columns, steps].iter().fold(1i64, |n, &size| n.saturating_mul(size));
        match () {
            _ if products > MOST_POINTS => Err(Decline::new("there are more products than any machine computes")),
            _ if steps < LEAST_STEPS => Err(Decline::new(format!(
                "an element is a sum of {steps} products: packing pays from {LEAST_STEPS} on"
            ))),
            _ if products < LEAST_PRODUCTS
                && (rows.min(columns) > 1 || products / batch.max(1) < LEAST_OF_A_VECTOR) =>
            {
                Err(Decline::new(format!(
                    "{products} products are too few to be packed: below {LEAST_PRODUCTS}, a loop is as fast"
                )))
            }
            _ if rows == 1 && columns == 1 => Err(Decline::new(
                "no operand element is used twice: each result reads two rows that no other result reads",
            )),
            _ if rows.min(columns) == 1 && self.operands.iter().all(|operand| operand.steps_are_adjacent) => {
                Err(Decline::new("each element is a sum over two rows that are already contiguous in memory"))
            }
            _ => Ok(()),
        }
    }
}

impl Analysis for ProductProblem {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let dot = the_dot(computation)?;
        let instruction = computation.instruction(dot);
        check_prologue(computation, dot)?;
        let ProductForm { sides: [left, right], result } = match &instruction.op {
            Op::Dot(dims) => form(fusion, instruction, dims)?,
            Op::Convolution(attributes) => convolution::form(fusion, dot, attributes)?,
            _ => return Err(Decline::at(instruction, "it is no product")),
        };
        if [left.1, right.1].iter().any(|[batch, lines, _]| batch.min(lines) < &1) {
            return Err(Decline::at(instruction, "the product has no elements"));
        }
        let outputs = outputs(fusion, dot)?;
        let is_transposed = is_transposed(&result, &outputs);
        let of_dot = if is_transposed { transposed(&result) } else { result };
        let [(left, [batch, rows, steps]), (right, [_, columns, _])] =
            if is_transposed { [right, left] } else { [left, right] };
        let sizes = ProductSizes { batch, rows, columns, steps };
        let (sum, result, _) = sum_type(computation, dot)?;
        let roots = roots(outputs, &of_dot)?;
        let is_byte = |operand: &Operand| operand.element.is_integer() && operand.element.bits() <= 8;
        let factor = if is_byte(&left) && is_byte(&right) && sum == ElementType::S32 {
            ElementType::F32
        } else {
            sum.real_part()
        };
        Ok(ProductProblem { dot, operands: [left, right], sizes, sum, factor, result, roots })
    }
}

/// Returns the type in which products are computed and summed, the type of the result, and the
/// types of the operands.
///
/// # Errors
/// If a conversion to or from the type of the sums is not possible, or if vectors cannot multiply
/// this type.
pub fn sum_type(
    computation: &Computation,
    dot: InstrId,
) -> Result<(ElementType, ElementType, [ElementType; 2]), Decline> {
    let instruction = computation.instruction(dot);
    let result = element_type(computation, dot)?;
    let left = element_type(computation, instruction.operands[0])?;
    let right = element_type(computation, instruction.operands[1])?;
    let sum = match accumulation_type(left, right, result) {
        // Narrow integers are summed as 32-bit integers. Truncation gives the narrow sum.
        narrow if narrow.is_integer() && narrow.bits() < 32 => ElementType::S32,
        sum => sum,
    };
    let conversions = [(left, sum), (right, sum), (sum, result)];
    if let Some((from, to)) = conversions.into_iter().find(|&(from, to)| !convert::is_possible(from, to)) {
        return Err(Decline::at(instruction, format!("packing cannot convert {from} to {to}")));
    }
    let is_dot = matches!(instruction.op, Op::Dot(_));
    if sum == ElementType::Pred || sum.is_complex() && !is_dot {
        return Err(Decline::at(instruction, format!("products of {sum} cannot be computed in vectors")));
    }
    Ok((sum, result, [left, right]))
}

/// Returns the only dot or convolution of the computation.
pub fn the_dot(computation: &Computation) -> Result<InstrId, Decline> {
    let is_product = |id: &InstrId| matches!(computation.instruction(*id).op, Op::Dot(_) | Op::Convolution(_));
    let mut products = computation.ids().filter(is_product);
    let first = products.next().ok_or_else(|| Decline::new("there is no dot and no convolution"))?;
    match products.next() {
        None => Ok(first),
        Some(other) => Err(Decline::at(computation.instruction(other), "there is more than one dot or convolution")),
    }
}

/// Checks that no instruction except the dot is expensive. The kernel recomputes operands for every
/// tile that reads them, and computes the epilogue once per element.
pub fn check_prologue(computation: &Computation, dot: InstrId) -> Result<(), Decline> {
    let others = computation.ids().filter(|&id| id != dot);
    match others.map(|id| computation.instruction(id)).find(|instruction| is_heavy(&instruction.op)) {
        Some(other) => {
            Err(Decline::at(other, "it is expensive, and would be recomputed for every element that needs it"))
        }
        None => Ok(()),
    }
}

fn element_type(computation: &Computation, id: InstrId) -> Result<ElementType, Decline> {
    let instruction = computation.instruction(id);
    let array = instruction.shape.as_array().ok_or_else(|| Decline::at(instruction, "it is no array"))?;
    Ok(array.element_type)
}

/// Returns a dot as a matrix product.
fn form(fusion: &Fusion, dot: &Instruction, dims: &DotDims) -> Result<ProductForm, Decline> {
    let computation = fusion.computation();
    let side = |number: usize, batch: &[i64], steps: &[i64]| {
        let instruction = dot.operands[number];
        let array = computation.instruction(instruction).shape.as_array();
        let array = array.ok_or_else(|| Decline::at(computation.instruction(instruction), "it is no array"))?;
        let is_line = |dim: &i64| !batch.contains(dim) && !steps.contains(dim);
        let lines: Vec<i64> = (0..array.rank() as i64).filter(is_line).collect();
        let roles = DimRoles { batch, lines: &lines, steps };
        let at = roles.map(&array.dims);
        let [line, step] = distances(fusion, instruction, &at);
        let operand = Operand {
            instruction,
            element: array.element_type,
            runs_along_steps: step != 0 && (line == 0 || step < line),
            steps_are_adjacent: step == 1,
            is_in_parts: is_in_parts(fusion, instruction),
            rows_of: rows_of(fusion, instruction, &at),
            at,
            runs: None,
        };
        Ok((operand, roles.sizes(&array.dims)))
    };
    let sides = [side(0, &dims.lhs_batch, &dims.lhs_contracting)?, side(1, &dims.rhs_batch, &dims.rhs_contracting)?];
    // The result of a dot has the batch dimensions first, then the left operand's lines, then the
    // right operand's lines.
    let [[batch, left, _], [_, right, _]] = [sides[0].1, sides[1].1];
    let position = (Expr::dim(0) * left + Expr::dim(1)) * right + Expr::dim(2);
    let of_dot = dot.shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
    let result = IndexingMap::from_tensor_sizes(delinearize(&position, &of_dot), &[batch, left, right], &[]).simplify();
    Ok(ProductForm { sides, result })
}

/// A result of the fusion, with its dimensions and the map from the dot's index to the result's
/// index.
pub struct DotResult {
    instruction: InstrId,
    dims: Vec<i64>,
    of_dot: IndexingMap,
}

/// Returns the results of the fusion. Declines unless the elements of each result correspond one to
/// one to the elements of the dot.
pub fn outputs(fusion: &Fusion, dot: InstrId) -> Result<Vec<DotResult>, Decline> {
    let computation = fusion.computation();
    let output = |&root: &InstrId| {
        let instruction = computation.instruction(root);
        let array = instruction.shape.as_array().ok_or_else(|| Decline::at(instruction, "it is no array"))?;
        let read = maps_to(&fusion.module, fusion.entry(), (root, 0), dot, &[]);
        let of_dot = match read.known() {
            Some([]) => return Err(Decline::at(instruction, "this result does not depend on the dot")),
            Some([reading]) if reading.runtime.is_empty() && reading.map.ranges.is_empty() => reading.map.inverse(),
            _ => None,
        };
        // The domain of the map is the whole dot if every element of the dot corresponds to an
        // element of the result. A result with more elements (a concatenation, padding) would be
        // written only in part.
        let of_dots = computation.instruction(dot).shape.as_array();
        let is_whole = |map: &IndexingMap| {
            let dims = of_dots.map(|array| array.dims.as_slice()).unwrap_or_default();
            map.constraints.is_empty()
                && map.dims.iter().zip(dims).all(|(dim, &size)| dim.bounds == Interval::from_size(size))
                && of_dots.map(ArrayShape::element_count) == Some(array.element_count())
        };
        let of_dot = of_dot
            .filter(is_whole)
            .ok_or_else(|| Decline::at(instruction, "its elements are not a permutation of the dot's elements"))?;
        Ok(DotResult { instruction: root, dims: array.dims.clone(), of_dot })
    };
    fusion.roots.iter().map(output).collect()
}

/// Returns the result map for swapped operands.
fn transposed(result: &IndexingMap) -> IndexingMap {
    let point = [Expr::dim(0), Expr::dim(2), Expr::dim(1)];
    let results = result.results.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
    let [batch, left, right] = [0, 1, 2].map(|dim: usize| result.dims[dim].clone());
    IndexingMap { dims: vec![batch, right, left], results, ..result.clone() }
}

/// Whether the emitter swaps the operands: the left operand's lines are contiguous in the first
/// result, and the right operand's lines are not. After the swap, columns are contiguous in the
/// result.
fn is_transposed(result: &IndexingMap, outputs: &[DotResult]) -> bool {
    let first = outputs.first().and_then(|output| Some((result.then(&output.of_dot)?, output)));
    first.is_some_and(|(at, output)| {
        let [row, column] = distances_in(&at, &Reading::whole(&output.dims), &output.dims);
        row == 1 && column > 1
    })
}

/// Groups the results by dimensions and index map.
pub fn roots(outputs: Vec<DotResult>, of_dot: &IndexingMap) -> Result<Vec<ProductRoots>, Decline> {
    let mut groups: Vec<(Vec<i64>, ProductRoots)> = Vec::new();
    for (number, output) in outputs.into_iter().enumerate() {
        let at = of_dot
            .then(&output.of_dot)
            .ok_or_else(|| Decline::new("the index of a result does not follow from the index of the dot"))?;
        let at = at.simplify();
        match groups.iter_mut().find(|(dims, group)| *dims == output.dims && group.at == at) {
            Some((_, group)) => {
                group.instructions.push(output.instruction);
                group.outputs.push(number);
            }
            None => {
                let roots = ProductRoots { instructions: vec![output.instruction], outputs: vec![number], at };
                groups.push((output.dims, roots));
            }
        }
    }
    Ok(groups.into_iter().map(|(_, group)| group).collect())
}
