//! The loop over steps, whose accumulators are in registers. Each step adds the product of a column
//! of the left operand and a row of the right operand to a register tile of sums.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};

use crate::operand::Operand;
use crate::pack::{PackSource, half_row};
use crate::tiles::TileSizes;

/// Operands of the loop over steps.
pub struct ProductFactors<'a> {
    /// Source of the left operand's elements.
    pub left: LeftElements<'a>,
    /// Source of the right operand's rows.
    pub right: RightRows<'a>,
    /// Number of steps.
    pub steps: Value,
}

/// Source of the left operand's elements for one register tile.
pub enum LeftElements<'a> {
    /// A tensor `[0, row, step]`.
    Lines(Value),
    /// A tensor `[register tile, step, row]`, and the number of the register tile.
    Panels(Value, Value),
    /// The operand without packing. The register tile begins at `point`. For rows beyond the end,
    /// the kernel reads the operand's last row, `last`.
    InPlace { source: &'a PackSource<'a>, point: [Value; 3], last: Value },
}

impl LeftElements<'_> {
    /// Returns the element at a row and a step, or its real (`plane` 0) or imaginary (`plane` 1)
    /// part.
    fn element(&self, b: &mut FunctionBuilder, row: Value, step: Value, plane: i64) -> Value {
        let part = |b: &mut FunctionBuilder, tensor: Value, at: Value| {
            if plane == 0 {
                return at;
            }
            let half = half_row(b, tensor);
            b.addi(at, half)
        };
        match self {
            LeftElements::Lines(tensor) => {
                let (zero, step) = (b.index(0), part(b, *tensor, step));
                b.extract(*tensor, &[zero, row, step])
            }
            LeftElements::Panels(tensor, panel) => {
                let row = part(b, *tensor, row);
                b.extract(*tensor, &[*panel, step, row])
            }
            LeftElements::InPlace { source, point: [batch, line, first], last } => {
                let line = b.addi(*line, row);
                let (line, step) = (b.minsi(line, *last), b.addi(*first, step));
                source.element(b, [*batch, line, step])
            }
        }
    }
}

/// Source of the right operand's rows for one register tile.
pub enum RightRows<'a> {
    /// A tensor `[register tile, step, column]`, the number of the register tile, and the first
    /// step.
    Packed { tensor: Value, panel: Value, first: Value },
    /// The operand without packing, and the point `(batch, column, step)` where the register tile
    /// begins.
    InPlace { tensor: Value, operand: &'a Operand, point: [Value; 3] },
}

impl RightRows<'_> {
    /// Reads a register of elements at step `step`. The first element is in column `column` of the
    /// register tile.
    fn register(&self, b: &mut FunctionBuilder, step: Value, column: i64, lanes: i64) -> Value {
        let column = b.index(column);
        match self {
            RightRows::Packed { tensor, panel, first } => {
                let step = b.addi(*first, step);
                b.vector_read(*tensor, &[*panel, step, column], lanes)
            }
            RightRows::InPlace { tensor, operand, point: [batch, line, first] } => {
                let (line, step) = (b.addi(*line, column), b.addi(*first, step));
                let index = b.apply_indexing(&operand.at, &[*batch, line, step]);
                b.vector_read(*tensor, &index, lanes)
            }
        }
    }
}

/// Number of steps per loop iteration if a step has few multiplications. With two steps per
/// iteration instead of one, counting and addressing use fewer of the processor's issue slots. If a
/// step has many multiplications, a second step per iteration is a disadvantage: LLVM has more code
/// to compile, and may not keep sums in registers between the steps.
const STEPS_OF_A_TURN: i64 = 2;
/// Least number of multiplications per step for which an iteration has only one step.
const MANY_PRODUCTS: usize = 16;

/// Adds the products of all steps to the sums, and returns the new sums. The sums are `height`
/// times `vectors` registers. For complex numbers, the registers of imaginary parts follow the
/// registers of real parts in each row.
pub fn multiply(b: &mut FunctionBuilder, tiles: &TileSizes, factors: &ProductFactors, sums: &[Value]) -> Vec<Value> {
    let are_few = sums.len() < MANY_PRODUCTS;
    let steps = if are_few && tiles.takes_steps_by(STEPS_OF_A_TURN) { STEPS_OF_A_TURN } else { 1 };
    let (zero, by) = (b.index(0), b.index(steps));
    b.scf_for(zero, factors.steps, by, sums, |b, step, sums| {
        (0..steps).fold(sums.to_vec(), |sums, within| {
            let within = b.index(within);
            let step = b.addi(step, within);
            add_step(b, tiles, factors, step, &sums)
        })
    })
}

/// Returns the sums plus the products of one step.
fn add_step(
    b: &mut FunctionBuilder,
    tiles: &TileSizes,
    factors: &ProductFactors,
    step: Value,
    sums: &[Value],
) -> Vec<Value> {
    let planes = tiles.micro.planes;
    let row: Vec<Value> = (0..tiles.vectors * planes)
        .map(|vector| factors.right.register(b, step, vector * tiles.lanes, tiles.lanes))
        .collect();
    let mut next = Vec::with_capacity(sums.len());
    for (number, sums) in sums.chunks(row.len()).enumerate() {
        let number = b.index(number as i64);
        let mut element = |plane| {
            let element = factors.left.element(b, number, step, plane);
            b.vector_broadcast(element, tiles.lanes)
        };
        match planes {
            1 => {
                let element = element(0);
                next.extend(row.iter().zip(sums).map(|(&row, &sum)| add_product(b, element, row, sum)));
            }
            _ => {
                let parts = [element(0), element(1)];
                next.extend(add_complex_products(b, parts, &row, sums));
            }
        }
    }
    next
}

/// Computes `(a + bi) * (c + di) + sum` from the real part `ac - bd` and the imaginary part `ad +
/// bc`. Returns first all real parts, then all imaginary parts.
fn add_complex_products(b: &mut FunctionBuilder, [re, im]: [Value; 2], row: &[Value], sums: &[Value]) -> Vec<Value> {
    let (real, imaginary) = row.split_at(row.len() / 2);
    let (real_sums, imaginary_sums) = sums.split_at(sums.len() / 2);
    let opposite = b.negf(im);
    let mut next = Vec::with_capacity(sums.len());
    for (sums, others) in
        [(real_sums, [(re, real), (opposite, imaginary)]), (imaginary_sums, [(re, imaginary), (im, real)])]
    {
        for (at, &sum) in sums.iter().enumerate() {
            next.push(others.iter().fold(sum, |sum, (element, row)| add_product(b, *element, row[at], sum)));
        }
    }
    next
}

/// Computes `left * right + sum`. Rounds floats only once.
pub fn add_product(b: &mut FunctionBuilder, left: Value, right: Value, sum: Value) -> Value {
    match b.type_of(sum).element() {
        Scalar::Float(_) => b.fma(left, right, sum),
        _ => {
            let product = b.muli(left, right);
            b.addi(sum, product)
        }
    }
}
