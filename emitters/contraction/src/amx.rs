//! Products in tile registers: how operands are packed for them, and the loop over tiles.
//!
//! Left operands are packed `[row, step]`, right ones `[register tile, group of steps, column, step of the group]`. Steps are filled
//! up with zeros to whole tiles, in both, as whatever stands there may be no number.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};
use fusebox_core::hlo::ElementType;

use crate::micro::TILE_LINES;
use crate::pack::{Part, Source, each};
use crate::tiles::Tiles;

/// What is multiplied: the packed operands, which register tile of the right one, its first step there, and the steps.
pub struct PackedTiles {
    pub left: Value,
    pub right: Value,
    pub panel: Value,
    pub first: Value,
    pub steps: Value,
}

impl Source<'_> {
    /// Zeros behind the steps of packed lines `[0, line, step]`, up to a whole tile.
    pub fn clear_rest_of_lines(&self, b: &mut FunctionBuilder, tiles: &Tiles, part: &Part, tensor: Value) -> Value {
        if !tiles.micro.is_of_tiles() || tiles.has_whole_tiles_of_steps() {
            return tensor;
        }
        let (zero, one) = (b.index(0), b.index(1));
        let nothing = b.zero(&Scalar::of_element(self.factor).into());
        let end = up_to_tiles(b, tiles, part.steps);
        each(b, part.lines, tensor, |b, line, tensor| {
            b.scf_for(part.steps, end, one, &[tensor], |b, step, tensor| {
                vec![b.insert(nothing, tensor[0], &[zero, line, step])]
            })[0]
        })
    }

    /// Groups of steps: of each all lines, in panels `[panel, group, line, step of the group]` of so many, then those of the next.
    pub fn pack_groups(&self, b: &mut FunctionBuilder, tiles: &Tiles, width: i64, part: &Part, tensor: Value) -> Value {
        let group = b.index(tiles.micro.group());
        let full = b.floordivsi(part.steps, group);
        let tensor = each(b, full, tensor, |b, number, tensor| {
            let step = b.muli(number, group);
            self.lines_of_group(b, tiles, width, part, tensor, |b, tensor, panel, line, column| {
                (0..tiles.micro.group()).fold(tensor, |tensor, within| {
                    let within = b.index(within);
                    let step = b.addi(step, within);
                    let element = self.element_of(b, part, line, step);
                    let place = b.addi(column, within);
                    b.insert(element, tensor, &[panel, number, place])
                })
            })
        });
        if tiles.has_whole_tiles_of_steps() {
            tensor
        } else {
            self.pack_last_group(b, tiles, width, part, [full, tensor])
        }
    }

    /// The steps behind the full groups, and zeros behind these up to a whole tile.
    fn pack_last_group(
        &self,
        b: &mut FunctionBuilder,
        tiles: &Tiles,
        width: i64,
        part: &Part,
        [full, tensor]: [Value; 2],
    ) -> Value {
        let (group, one) = (b.index(tiles.micro.group()), b.index(1));
        let nothing = b.zero(&Scalar::of_element(self.factor).into());
        let (first, end) = (b.muli(full, group), up_to_tiles(b, tiles, part.steps));
        let place = |b: &mut FunctionBuilder, column: Value, step: Value| {
            let (number, within) = (b.floordivsi(step, group), b.remsi(step, group));
            (number, b.addi(column, within))
        };
        let mut tensor = tensor;
        for (from, to, is_there) in [(first, part.steps, true), (part.steps, end, false)] {
            tensor = b.scf_for(from, to, one, &[tensor], |b, step, tensor| {
                let written =
                    self.lines_of_group(b, tiles, width, part, tensor[0], |b, tensor, panel, line, column| {
                        let element = if is_there { self.element_of(b, part, line, step) } else { nothing };
                        let (number, place) = place(b, column, step);
                        b.insert(element, tensor, &[panel, number, place])
                    });
                vec![written]
            })[0];
        }
        tensor
    }

    /// All lines: `body` gets the panel, the line of the part, and where the line begins in its row.
    fn lines_of_group(
        &self,
        b: &mut FunctionBuilder,
        tiles: &Tiles,
        lines: i64,
        part: &Part,
        tensor: Value,
        body: impl Fn(&mut FunctionBuilder, Value, Value, Value, Value) -> Value,
    ) -> Value {
        let (width, group) = (b.index(lines), b.index(tiles.micro.group()));
        let (full, over) = (b.floordivsi(part.lines, width), b.remsi(part.lines, width));
        let panel_of = |b: &mut FunctionBuilder, panel: Value, count: Value, tensor: Value| {
            let first = b.muli(panel, width);
            each(b, count, tensor, |b, column, tensor| {
                let (line, place) = (b.addi(first, column), b.muli(column, group));
                body(b, tensor, panel, line, place)
            })
        };
        let tensor = each(b, full, tensor, |b, panel, tensor| panel_of(b, panel, width, tensor));
        if self.lines % lines == 0 { tensor } else { panel_of(b, full, over, tensor) }
    }
}

/// So many steps, rounded up to whole tiles.
fn up_to_tiles(b: &mut FunctionBuilder, tiles: &Tiles, steps: Value) -> Value {
    let unit = b.index(tiles.micro.tile_steps());
    let count = b.ceildivsi(steps, unit);
    b.muli(count, unit)
}

/// The sums, tiles of a register tile row by row, with all steps added.
pub fn multiply(b: &mut FunctionBuilder, tiles: &Tiles, packed: &PackedTiles, sums: &[Value]) -> Vec<Value> {
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
