//! The loop in registers: a register tile of sums, to which the product of a column of the left operand and a row of the
//! right one is added for every step.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};

use crate::operand::Operand;
use crate::pack::Source;
use crate::tiles::Tiles;

/// What is multiplied.
pub struct Factors<'a> {
    /// Where the left operand's elements are.
    pub left: LeftElements<'a>,
    /// Where the right operand's rows are.
    pub right: RightRows<'a>,
    /// Steps that are there.
    pub steps: Value,
}

/// Elements of the left operand, of one register tile.
pub enum LeftElements<'a> {
    /// A tensor `[0, row, step]`
    Lines(Value),
    /// A tensor `[register tile, step, row]`, and which register tile.
    Panels(Value, Value),
    /// The operand itself, where the register tile begins, and its last row, which stands for those behind it.
    InPlace { source: &'a Source<'a>, point: [Value; 3], last: Value },
}

impl LeftElements<'_> {
    /// The element of a row and a step.
    fn element(&self, b: &mut FunctionBuilder, row: Value, step: Value) -> Value {
        match self {
            LeftElements::Lines(tensor) => {
                let zero = b.index(0);
                b.extract(*tensor, &[zero, row, step])
            }
            LeftElements::Panels(tensor, panel) => b.extract(*tensor, &[*panel, step, row]),
            LeftElements::InPlace { source, point: [batch, line, first], last } => {
                let line = b.addi(*line, row);
                let (line, step) = (b.minsi(line, *last), b.addi(*first, step));
                source.element(b, [*batch, line, step])
            }
        }
    }
}

/// Rows of the right operand, of one register tile.
pub enum RightRows<'a> {
    /// A tensor `[register tile, step, column]`, which register tile, and the first step.
    Packed { tensor: Value, panel: Value, first: Value },
    /// The operand itself, and where the register tile begins: `(batch, column, step)`.
    InPlace { tensor: Value, operand: &'a Operand, point: [Value; 3] },
}

impl RightRows<'_> {
    /// The register of a step that begins so many columns behind the first.
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

/// The sums, `height` times `vectors` registers, with all steps added.
pub fn multiply(b: &mut FunctionBuilder, tiles: &Tiles, factors: &Factors, sums: &[Value]) -> Vec<Value> {
    let (zero, one) = (b.index(0), b.index(1));
    b.scf_for(zero, factors.steps, one, sums, |b, step, sums| {
        let row: Vec<Value> = (0..tiles.vectors)
            .map(|vector| factors.right.register(b, step, vector * tiles.lanes, tiles.lanes))
            .collect();
        let mut next = Vec::with_capacity(sums.len());
        for (number, sums) in sums.chunks(tiles.vectors as usize).enumerate() {
            let number = b.index(number as i64);
            let element = factors.left.element(b, number, step);
            let element = b.vector_broadcast(element, tiles.lanes);
            next.extend(row.iter().zip(sums).map(|(&row, &sum)| add_product(b, element, row, sum)));
        }
        next
    })
}

/// `a * b + sum`, rounded once where it is rounded.
pub fn add_product(b: &mut FunctionBuilder, left: Value, right: Value, sum: Value) -> Value {
    match b.type_of(sum).element() {
        Scalar::Float(_) => b.fma(left, right, sum),
        _ => {
            let product = b.muli(left, right);
            b.addi(sum, product)
        }
    }
}
