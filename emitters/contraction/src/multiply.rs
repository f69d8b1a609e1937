//! The loop in registers: a register tile of sums, to which the product of a column of the left operand and a row of the
//! right one is added for every step.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};

use crate::tiles::Tiles;

/// Packed operands, and what of them is multiplied.
pub struct Packed {
    /// `[row, step]` or `[step, row]`
    pub left: Value,
    /// `[register tile, step, column]`
    pub right: Value,
    /// Which register tile of the right operand.
    pub panel: Value,
    /// Steps that are packed.
    pub steps: Value,
}

/// The sums, `height` times `vectors` registers, with all steps added.
pub fn multiply(b: &mut FunctionBuilder, tiles: &Tiles, by_lines: bool, packed: &Packed, sums: &[Value]) -> Vec<Value> {
    let (zero, one) = (b.index(0), b.index(1));
    b.scf_for(zero, packed.steps, one, sums, |b, step, sums| {
        let row: Vec<Value> = (0..tiles.vectors)
            .map(|vector| {
                let column = b.index(vector * tiles.lanes);
                b.vector_read(packed.right, &[packed.panel, step, column], tiles.lanes)
            })
            .collect();
        let mut next = Vec::with_capacity(sums.len());
        for (number, sums) in sums.chunks(tiles.vectors as usize).enumerate() {
            let number = b.index(number as i64);
            let index = if by_lines { [number, step] } else { [step, number] };
            let element = b.extract(packed.left, &index);
            let element = b.vector_broadcast(element, tiles.lanes);
            next.extend(row.iter().zip(sums).map(|(&row, &sum)| add_product(b, element, row, sum)));
        }
        next
    })
}

/// `a * b + sum`, rounded once where it is rounded.
fn add_product(b: &mut FunctionBuilder, left: Value, right: Value, sum: Value) -> Value {
    match b.type_of(sum).element() {
        Scalar::Float(_) => b.fma(left, right, sum),
        _ => {
            let product = b.muli(left, right);
            b.addi(sum, product)
        }
    }
}
