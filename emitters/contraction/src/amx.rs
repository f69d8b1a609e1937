//! The loop that multiplies packed operands in tile registers. Each iteration of the loop
//! multiplies as many steps as one tile register holds.

use fusebox_core::builder::{FunctionBuilder, Value};
use fusebox_core::hlo::ElementType;

use crate::micro::TILE_LINES;
use crate::tiles::TileSizes;

/// Packed operands to multiply. `panel` is the number of the right operand's register tile. The
/// multiplication starts at packed step `first` of the right operand, and `steps` is the number of
/// steps to multiply.
pub struct PackedTiles {
    pub left: Value,
    pub right: Value,
    pub panel: Value,
    pub first: Value,
    pub steps: Value,
}

/// Returns `sums` plus the products of all steps. `sums` lists tile registers, row by row; together
/// they hold the sums of one register tile.
pub fn multiply(b: &mut FunctionBuilder, tiles: &TileSizes, packed: &PackedTiles, sums: &[Value]) -> Vec<Value> {
    let micro = tiles.micro;
    let (zero, one, unit) = (b.index(0), b.index(1), b.index(micro.tile_steps()));
    let (lines, group) = (b.index(TILE_LINES), b.index(micro.group()));
    let count = b.ceildivsi(packed.steps, unit);
    let first = b.floordivsi(packed.first, group);
    b.scf_for(zero, count, one, sums, |b, number, sums| {
        let (step, groups) = (b.muli(number, unit), b.muli(number, lines));
        let groups = b.addi(first, groups);
        let left: Vec<Value> = (0..tiles.height / TILE_LINES)
            .map(|row| {
                let row = b.index(row * TILE_LINES);
                b.read_tile(packed.left, &[zero, row, step], [TILE_LINES, micro.tile_steps()])
            })
            .collect();
        let right: Vec<Value> = (0..tiles.vectors)
            .map(|column| {
                let place = b.index(column * TILE_LINES * micro.group());
                b.read_tile(packed.right, &[packed.panel, groups, place], [TILE_LINES, micro.tile_steps()])
            })
            .collect();
        let pairs = left.iter().flat_map(|&left| right.iter().map(move |&right| (left, right)));
        pairs.zip(sums).map(|((left, right), &sum)| product(b, micro.factors, left, right, sum)).collect()
    })
}

fn product(b: &mut FunctionBuilder, factors: [ElementType; 2], left: Value, right: Value, sum: Value) -> Value {
    match factors {
        [ElementType::BF16, _] => b.tile_mulf(left, right, sum),
        bytes => b.tile_muli(left, right, sum, bytes.map(ElementType::is_unsigned_integer)),
    }
}
