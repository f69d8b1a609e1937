//! Products of words in vector registers. A word holds a few neighbouring steps of a row or column.
//! The kernel broadcasts a word of the left operand to all lanes, and multiplies it by one word per
//! column. The packed operands have the layout that products in tile registers use.
//!
//! The processors' instructions for words of bytes multiply signed bytes by unsigned bytes. If both
//! operands are signed, packing adds 128 to the left operand's bytes. When the kernel writes a sum,
//! it therefore subtracts `128 * (sum of the elements in the right operand's column)`.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};
use fusebox_core::hlo::ElementType;

use crate::micro::OFFSET;
use crate::pack::each;
use crate::results::sums_before;
use crate::tiles::TileSizes;

/// The packed right operand, and the part to multiply: the number of the register tile (`panel`),
/// the first step, and the number of steps.
pub struct PackedColumns {
    pub packed: Value,
    pub panel: Value,
    pub first: Value,
    pub steps: Value,
}

/// Adds the products of all steps to `sums`. Returns `height` times `vectors` registers, which hold
/// the new sums. `left` consists of packed lines `[0, row, step]`.
pub fn multiply(
    b: &mut FunctionBuilder,
    tiles: &TileSizes,
    left: Value,
    columns: &PackedColumns,
    sums: &[Value],
) -> Vec<Value> {
    let (zero, group) = (b.index(0), b.index(tiles.micro.group()));
    add_words(b, tiles, columns, sums, |b, row, number| {
        let (row, step) = (b.index(row), b.muli(number, group));
        let word = b.vector_read(left, &[zero, row, step], tiles.micro.group());
        let lanes: Vec<i64> = (0..tiles.lanes).flat_map(|_| 0..tiles.micro.group()).collect();
        b.vector_shuffle(word, word, &lanes)
    })
}

/// Computes how much the left operand's offset adds to the sums of `lines` columns, and adds these
/// numbers to `offsets`. `first` is the number of the first step. If `first` is 0 or `None`, the
/// offsets start from zero.
pub fn add_offsets(
    b: &mut FunctionBuilder,
    tiles: &TileSizes,
    lines: Value,
    (right, from, steps): (Value, Value, Value),
    first: Option<Value>,
    offsets: Value,
) -> Value {
    let width = b.index(tiles.width());
    let panels = b.ceildivsi(lines, width);
    each(b, panels, offsets, |b, panel, offsets| {
        let begin = b.muli(panel, width);
        let places: Vec<[Value; 1]> = (0..tiles.vectors)
            .map(|vector| {
                let lane = b.index(vector * tiles.lanes);
                [b.addi(begin, lane)]
            })
            .collect();
        let before = sums_before(b, first, (tiles.lanes, ElementType::S32), &places, offsets);
        let columns = PackedColumns { packed: right, panel, first: from, steps };
        let offset = b.int(OFFSET, Scalar::I8);
        let offset = b.vector_broadcast(offset, tiles.lanes * tiles.micro.group());
        let after = add_words(b, tiles, &columns, &before, |_, _, _| offset);
        places.iter().zip(after).fold(offsets, |offsets, (place, sum)| b.vector_write(sum, offsets, place))
    })
}

/// Adds the products of all steps to `sums` and returns the new sums, row by row. `left` returns a
/// word of the left operand. The arguments of `left` are the row and the number of the word in the
/// row.
fn add_words(
    b: &mut FunctionBuilder,
    tiles: &TileSizes,
    columns: &PackedColumns,
    sums: &[Value],
    left: impl Fn(&mut FunctionBuilder, i64, Value) -> Value,
) -> Vec<Value> {
    let micro = tiles.micro;
    let (zero, one, group) = (b.index(0), b.index(1), b.index(micro.group()));
    let count = b.ceildivsi(columns.steps, group);
    let first = b.floordivsi(columns.first, group);
    b.scf_for(zero, count, one, sums, |b, number, sums| {
        let word = b.addi(first, number);
        let lanes = tiles.lanes * micro.group();
        let right: Vec<Value> = (0..tiles.vectors)
            .map(|vector| {
                let place = b.index(vector * lanes);
                b.vector_read(columns.packed, &[columns.panel, word, place], lanes)
            })
            .collect();
        let mut next = Vec::with_capacity(sums.len());
        for (row, sums) in sums.chunks(right.len()).enumerate() {
            let left = left(b, row as i64, number);
            next.extend(right.iter().zip(sums).map(|(&right, &sum)| product(b, micro.factors, left, right, sum)));
        }
        next
    })
}

fn product(b: &mut FunctionBuilder, factors: [ElementType; 2], left: Value, right: Value, sum: Value) -> Value {
    match factors {
        [ElementType::BF16, _] => b.word_mulf(left, right, sum),
        bytes => b.word_muli(left, right, sum, bytes.map(ElementType::is_unsigned_integer)),
    }
}
