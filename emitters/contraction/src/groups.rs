//! Packing of operands that are multiplied as words, in tile registers or in vector registers. A
//! word holds a few neighbouring steps.
//!
//! Left operands are packed as `[row, step]`, and right operands are packed as `[register tile,
//! group of steps, column, step of the group]`. The steps of both operands are padded with zeros to
//! whole tiles, because uninitialised memory may hold NaN.

use fusebox_core::builder::{FunctionBuilder, Value};

use crate::pack::{OperandRange, PackSource, each};
use crate::tiles::TileSizes;

impl PackSource<'_> {
    /// Pads each packed line `[0, line, step]` with zeros, so that its steps fill whole tiles.
    pub fn clear_rest_of_lines(
        &self,
        b: &mut FunctionBuilder,
        tiles: &TileSizes,
        part: &OperandRange,
        tensor: Value,
    ) -> Value {
        if !tiles.micro.multiplies_words() || tiles.has_whole_tiles_of_steps() {
            return tensor;
        }
        let (zero, one) = (b.index(0), b.index(1));
        let nothing = self.nothing(b);
        let end = up_to_tiles(b, tiles, part.steps);
        each(b, part.lines, tensor, |b, line, tensor| {
            b.scf_for(part.steps, end, one, &[tensor], |b, step, tensor| {
                vec![b.insert(nothing, tensor[0], &[zero, line, step])]
            })[0]
        })
    }

    /// Packs groups of steps into panels `[panel, group, line, step of the group]`. A panel has
    /// `panels[0]` lines, and the operand has `panels[1]` lines. Packs all lines of a group before
    /// the next group. If `panels[1]` is a multiple of `panels[0]`, the lines of `part` must fill
    /// whole panels.
    pub fn pack_groups(
        &self,
        b: &mut FunctionBuilder,
        tiles: &TileSizes,
        panels: [i64; 2],
        part: &OperandRange,
        tensor: Value,
    ) -> Value {
        let group = b.index(tiles.micro.group());
        let full = b.floordivsi(part.steps, group);
        let tensor = each(b, full, tensor, |b, number, tensor| {
            let step = b.muli(number, group);
            self.lines_of_group(b, tiles, panels, part, tensor, |b, tensor, panel, line, column| {
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
            self.pack_last_group(b, tiles, panels, part, [full, tensor])
        }
    }

    /// Packs the steps after the full groups, and pads them with zeros to a whole tile.
    fn pack_last_group(
        &self,
        b: &mut FunctionBuilder,
        tiles: &TileSizes,
        panels: [i64; 2],
        part: &OperandRange,
        [full, tensor]: [Value; 2],
    ) -> Value {
        let (group, one) = (b.index(tiles.micro.group()), b.index(1));
        let nothing = self.nothing(b);
        let (first, end) = (b.muli(full, group), up_to_tiles(b, tiles, part.steps));
        let place = |b: &mut FunctionBuilder, column: Value, step: Value| {
            let (number, within) = (b.floordivsi(step, group), b.remsi(step, group));
            (number, b.addi(column, within))
        };
        let mut tensor = tensor;
        for (from, to, is_there) in [(first, part.steps, true), (part.steps, end, false)] {
            tensor = b.scf_for(from, to, one, &[tensor], |b, step, tensor| {
                let written =
                    self.lines_of_group(b, tiles, panels, part, tensor[0], |b, tensor, panel, line, column| {
                        let element = if is_there { self.element_of(b, part, line, step) } else { nothing };
                        let (number, place) = place(b, column, step);
                        b.insert(element, tensor, &[panel, number, place])
                    });
                vec![written]
            })[0];
        }
        tensor
    }

    /// Builds a loop over all lines of a part. The arguments of `body` are the tensor, the number
    /// of the panel, the number of the line in the part, and the line's first position in the
    /// panel's row.
    fn lines_of_group(
        &self,
        b: &mut FunctionBuilder,
        tiles: &TileSizes,
        [width, all]: [i64; 2],
        part: &OperandRange,
        tensor: Value,
        body: impl Fn(&mut FunctionBuilder, Value, Value, Value, Value) -> Value,
    ) -> Value {
        let is_even = all % width == 0;
        let (width, group) = (b.index(width), b.index(tiles.micro.group()));
        let (full, over) = (b.floordivsi(part.lines, width), b.remsi(part.lines, width));
        let panel_of = |b: &mut FunctionBuilder, panel: Value, count: Value, tensor: Value| {
            let first = b.muli(panel, width);
            each(b, count, tensor, |b, column, tensor| {
                let (line, place) = (b.addi(first, column), b.muli(column, group));
                body(b, tensor, panel, line, place)
            })
        };
        let tensor = each(b, full, tensor, |b, panel, tensor| panel_of(b, panel, width, tensor));
        if is_even { tensor } else { panel_of(b, full, over, tensor) }
    }
}

/// Rounds a number of steps up to a multiple of the number of steps that a tile register holds.
fn up_to_tiles(b: &mut FunctionBuilder, tiles: &TileSizes, steps: Value) -> Value {
    let unit = b.index(tiles.micro.tile_steps());
    let count = b.ceildivsi(steps, unit);
    b.muli(count, unit)
}
