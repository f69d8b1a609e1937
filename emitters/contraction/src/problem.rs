//! What is multiplied, read and written, whatever the dimensions of the program.

use fusebox_core::analysis::{hero_to_root, keeps_positions};
use fusebox_core::cost::is_heavy;
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{Computation, DotDims, ElementType, InstrId, Instruction, Op, accumulation_type};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize};

use crate::convert;
use crate::operand::{Operand, Roles, distances, rows_of};

/// More points than any processor visits; below it, no count overflows.
const MOST_POINTS: i64 = 1 << 48;
/// Products in all below which a loop over the elements of the result takes as long.
const LEAST_PRODUCTS: i64 = 1 << 11;
/// Products of an element below which packing costs more than it saves.
const LEAST_STEPS: i64 = 4;

/// 256 times 255 times 255 is less than 2 to the 24.
const EXACT_PRODUCTS: i64 = 256;

/// A fusion around a dot: `[batch, rows, steps]` times `[batch, steps, columns]`.
#[derive(Debug)]
pub struct Problem {
    /// The dot.
    pub dot: InstrId,
    /// The left operand, whose lines are rows, and the right one, whose lines are columns.
    pub operands: [Operand; 2],
    pub sizes: Sizes,
    /// The type that products are summed in.
    pub sum: ElementType,
    /// The type that they are made in, and in which [`Problem::most_together`] of them are added up.
    pub factor: ElementType,
    /// The dot's own.
    pub result: ElementType,
    /// Results of equal dimensions.
    pub roots: Vec<Roots>,
}

/// Each may stand for several dimensions of the program, or for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub batch: i64,
    pub rows: i64,
    pub columns: i64,
    /// Products of one element.
    pub steps: i64,
}

/// Results that are written at the same index.
#[derive(Debug)]
pub struct Roots {
    pub instructions: Vec<InstrId>,
    /// Their numbers among the fusion's outputs.
    pub outputs: Vec<usize>,
    /// `(batch, row, column)` to their index.
    pub at: IndexingMap,
}

impl Problem {
    /// Products that are added up in the type of the factors: processors multiply floats faster than integers of 32 bits, and
    /// so many products of bytes are whole numbers that an `f32` holds.
    pub fn most_together(&self) -> i64 {
        if self.factor == self.sum { self.sizes.steps } else { self.sizes.steps.min(EXACT_PRODUCTS) }
    }

    /// # Errors
    /// If the product is too small, or too large to be counted, or a loop does as well.
    pub fn check(&self) -> Result<(), Decline> {
        let Sizes { batch, rows, columns, steps } = self.sizes;
        let products = [batch, rows, columns, steps].iter().fold(1i64, |n, &size| n.saturating_mul(size));
        match () {
            _ if products > MOST_POINTS => Err(Decline::new("there are more products than any machine computes")),
            _ if steps < LEAST_STEPS => Err(Decline::new(format!(
                "an element is a sum of {steps} products: packing pays from {LEAST_STEPS} on"
            ))),
            _ if products < LEAST_PRODUCTS => Err(Decline::new(format!(
                "{products} products are too few to be packed: a loop computes fewer than {LEAST_PRODUCTS} as fast"
            ))),
            _ if rows == 1 && columns == 1 => {
                Err(Decline::new("nothing is used twice: each element is a sum over two rows of its own"))
            }
            _ if rows.min(columns) == 1 && self.operands.iter().all(|operand| operand.steps_are_adjacent) => {
                Err(Decline::new("each element is a sum over two rows that lie in memory as they are added up"))
            }
            _ => Ok(()),
        }
    }
}

impl Analysis for Problem {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let dot = the_dot(computation)?;
        let instruction = computation.instruction(dot);
        let Op::Dot(dims) = &instruction.op else { return Err(Decline::at(instruction, "it is no dot")) };
        check_prologue(computation, dot)?;
        let (left, right, sizes) = operands(fusion, instruction, dims)?;
        let result = element_type(computation, dot)?;
        let sum = match accumulation_type(left.element, right.element, result) {
            // Sums of narrow integers are those of wide ones, cut off.
            narrow if narrow.is_integer() && narrow.bits() < 32 => ElementType::S32,
            sum => sum,
        };
        let ways = [(left.element, sum), (right.element, sum), (sum, result)];
        if let Some((from, to)) = ways.into_iter().find(|&(from, to)| !convert::is_possible(from, to)) {
            return Err(Decline::at(instruction, format!("{from} as {to} is not converted while packing")));
        }
        if sum == ElementType::Pred || sum.is_complex() {
            return Err(Decline::at(instruction, format!("products of {sum} are not multiplied as vectors")));
        }
        let roots = roots(fusion, dot, sizes)?;
        let is_byte = |operand: &Operand| operand.element.is_integer() && operand.element.bits() <= 8;
        let factor = match is_byte(&left) && is_byte(&right) && sum == ElementType::S32 {
            true => ElementType::F32,
            false => sum,
        };
        Ok(Problem { dot, operands: [left, right], sizes, sum, factor, result, roots })
    }
}

/// The only dot.
fn the_dot(computation: &Computation) -> Result<InstrId, Decline> {
    let mut dots = computation.ids().filter(|&id| matches!(computation.instruction(id).op, Op::Dot(_)));
    let first = dots.next().ok_or_else(|| Decline::new("there is no dot"))?;
    match dots.next() {
        None => Ok(first),
        Some(other) => Err(Decline::at(computation.instruction(other), "there is more than one dot")),
    }
}

/// Operands are computed for every tile that reads them, and the rest of the epilogue once for every element.
fn check_prologue(computation: &Computation, dot: InstrId) -> Result<(), Decline> {
    let others = computation.ids().filter(|&id| id != dot);
    match others.map(|id| computation.instruction(id)).find(|instruction| is_heavy(&instruction.op)) {
        Some(other) => Err(Decline::at(other, "it would be computed again for every element that needs it")),
        None => Ok(()),
    }
}

fn element_type(computation: &Computation, id: InstrId) -> Result<ElementType, Decline> {
    let instruction = computation.instruction(id);
    let array = instruction.shape.as_array().ok_or_else(|| Decline::at(instruction, "it is no array"))?;
    Ok(array.element_type)
}

/// Both sides with their sizes.
fn operands(fusion: &Fusion, dot: &Instruction, dims: &DotDims) -> Result<(Operand, Operand, Sizes), Decline> {
    let computation = fusion.computation();
    let side = |number: usize, batch: &[i64], steps: &[i64]| {
        let instruction = dot.operands[number];
        let array = computation.instruction(instruction).shape.as_array();
        let array = array.ok_or_else(|| Decline::at(computation.instruction(instruction), "it is no array"))?;
        let is_line = |dim: &i64| !batch.contains(dim) && !steps.contains(dim);
        let lines: Vec<i64> = (0..array.rank() as i64).filter(is_line).collect();
        let roles = Roles { batch, lines: &lines, steps };
        let at = roles.map(&array.dims);
        let [line, step] = distances(fusion, instruction, &at);
        let operand = Operand {
            instruction,
            element: array.element_type,
            runs_along_steps: step != 0 && (line == 0 || step < line),
            steps_are_adjacent: step == 1,
            rows_of: rows_of(fusion, instruction, &at),
            at,
        };
        Ok((operand, roles.sizes(&array.dims)))
    };
    let (left, [batch, rows, steps]) = side(0, &dims.lhs_batch, &dims.lhs_contracting)?;
    let (right, [_, columns, _]) = side(1, &dims.rhs_batch, &dims.rhs_contracting)?;
    match batch.min(rows).min(columns) {
        ..1 => Err(Decline::at(dot, "the product has no elements")),
        _ => Ok((left, right, Sizes { batch, rows, columns, steps })),
    }
}

/// The results by dimensions, all of which are the dot's elements, each at its own position.
fn roots(fusion: &Fusion, dot: InstrId, sizes: Sizes) -> Result<Vec<Roots>, Decline> {
    let computation = fusion.computation();
    check_epilogue(fusion, dot)?;
    let product = computation.instruction(dot);
    let dims = product.shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
    let counts = [sizes.batch, sizes.rows, sizes.columns];
    // Batches, rows and columns stand in this order in the dot's result.
    let position = (Expr::dim(0) * sizes.rows + Expr::dim(1)) * sizes.columns + Expr::dim(2);
    let of_dot = IndexingMap::from_tensor_sizes(delinearize(&position, &dims), &counts, &[]).simplify();
    let mut groups: Vec<(Vec<i64>, Roots)> = Vec::new();
    for (output, &root) in fusion.roots.iter().enumerate() {
        let instruction = computation.instruction(root);
        let array = instruction.shape.as_array().ok_or_else(|| Decline::at(instruction, "it is no array"))?;
        if let Some((_, group)) = groups.iter_mut().find(|(dims, _)| *dims == array.dims) {
            group.instructions.push(root);
            group.outputs.push(output);
            continue;
        }
        let of_root = hero_to_root(product, instruction).and_then(|root| of_dot.then(&root));
        let at = of_root.ok_or_else(|| Decline::at(instruction, "it has other elements than the dot"))?.simplify();
        groups.push((array.dims.clone(), Roots { instructions: vec![root], outputs: vec![output], at }));
    }
    Ok(groups.into_iter().map(|(_, group)| group).collect())
}

/// Everything between the dot and the results works element by element, and every result comes from the dot.
fn check_epilogue(fusion: &Fusion, dot: InstrId) -> Result<(), Decline> {
    let computation = fusion.computation();
    let mut reached = vec![false; computation.instructions.len()];
    reached[dot.index()] = true;
    for id in computation.ids().filter(|&id| id > dot) {
        let instruction = computation.instruction(id);
        if !instruction.operands.iter().any(|operand| reached[operand.index()]) {
            continue;
        }
        reached[id.index()] = true;
        if !matches!(instruction.op, Op::Tuple) && !keeps_positions(computation, instruction) {
            return Err(Decline::at(instruction, "behind the dot, it does not work element by element"));
        }
    }
    match fusion.roots.iter().find(|root| !reached[root.index()]) {
        Some(&other) => {
            Err(Decline::at(computation.instruction(other), "it is a result that does not come from the dot"))
        }
        None => Ok(()),
    }
}
