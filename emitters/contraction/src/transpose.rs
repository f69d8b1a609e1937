//! Transposes of operands: rows in memory become columns. The kernel transposes squares of words in
//! registers, in two passes over a buffer that fits in the nearest cache. With a single pass, LLVM
//! would take longer to compile the shuffles of a square than the rest of a kernel.

use fusebox_core::builder::{FunctionBuilder, Value};

use crate::divisor::common_divisor;
use crate::pack::{OperandRange, PackSource, each, half_row};
use crate::squares::SquareShape;
use crate::tiles::TileSizes;

/// Largest size of squares that are transposed in one pass. LLVM's compile time grows with the
/// depth of the shuffles.
const SMALL: i64 = 4;

impl SquareShape {
    /// Transposes squares: reads row `i` of square `s` from `from(s, i)` and writes column `i` to
    /// `to(s, i)`. Overwrites the source.
    pub fn transpose(
        self,
        b: &mut FunctionBuilder,
        count: Value,
        [source, target]: [Value; 2],
        from: impl Fn(&mut FunctionBuilder, Value, Value) -> Vec<Value>,
        to: impl Fn(&mut FunctionBuilder, Value, Value) -> Vec<Value>,
    ) -> [Value; 2] {
        // Each stage exchanges blocks above the diagonal with blocks below the diagonal. The size
        // of the blocks is half the square in the first stage, a quarter in the second, and one
        // word in the last. The first pass runs the stages with large blocks, and the second pass
        // runs the other stages.
        let stages = self.size.ilog2();
        let first = if self.size <= SMALL { 0 } else { stages.div_ceil(2) };
        let (members, spacing) = (1 << first, self.size >> first);
        let source = match first {
            0 => source,
            _ => self.each_part(b, count, spacing, source, |b, square, part, tensor| {
                let rows: Vec<Value> = (0..members).map(|member| b.index(member * spacing)).collect();
                let rows: Vec<Value> = rows.into_iter().map(|row| b.addi(part, row)).collect();
                let places: Vec<Vec<Value>> = rows.iter().map(|&row| from(b, square, row)).collect();
                let read = places.iter().map(|place| b.vector_read(tensor, place, self.row())).collect();
                let transposed = self.exchanged(b, read, spacing);
                places.iter().zip(transposed).fold(tensor, |tensor, (place, row)| b.vector_write(row, tensor, place))
            }),
        };
        let target = self.each_part(b, count, members, target, |b, square, part, tensor| {
            let begin = b.index(spacing);
            let begin = b.muli(part, begin);
            let rows: Vec<Value> = (0..spacing).map(|row| b.index(row)).collect();
            let rows: Vec<Value> = rows.into_iter().map(|row| b.addi(begin, row)).collect();
            let read = rows
                .iter()
                .map(|&row| {
                    let place = from(b, square, row);
                    b.vector_read(source, &place, self.row())
                })
                .collect();
            let transposed = self.exchanged(b, read, 1);
            rows.iter().zip(transposed).fold(tensor, |tensor, (&row, vector)| {
                let place = to(b, square, row);
                b.vector_write(vector, tensor, &place)
            })
        });
        [source, target]
    }

    /// Builds one loop over all parts of all squares. LLVM does not unroll a single loop over all
    /// parts, because it has too many iterations.
    fn each_part(
        self,
        b: &mut FunctionBuilder,
        squares: Value,
        parts: i64,
        tensor: Value,
        body: impl FnOnce(&mut FunctionBuilder, Value, Value, Value) -> Value,
    ) -> Value {
        let parts = b.index(parts);
        let all = b.muli(squares, parts);
        each(b, all, tensor, |b, number, tensor| {
            let (square, part) = (b.floordivsi(number, parts), b.remsi(number, parts));
            body(b, square, part, tensor)
        })
    }

    /// Builds the stages of the transpose that combine `rows`, and returns the new rows. Neighbours
    /// in the list `rows` are `spacing` rows apart in the square.
    fn exchanged(self, b: &mut FunctionBuilder, mut rows: Vec<Value>, spacing: i64) -> Vec<Value> {
        let lanes = self.size;
        let mut between = rows.len() / 2;
        while between > 0 {
            let distance = between as i64 * spacing;
            let low = self.of_words(|word| if word & distance == 0 { word } else { lanes + word - distance });
            let high = self.of_words(|word| if word & distance == 0 { word + distance } else { lanes + word });
            for upper in (0..rows.len()).filter(|row| row & between == 0) {
                let pair = [rows[upper], rows[upper + between]];
                rows[upper] = b.vector_shuffle(pair[0], pair[1], &low);
                rows[upper + between] = b.vector_shuffle(pair[0], pair[1], &high);
            }
            between /= 2;
        }
        rows
    }

    /// Returns the lanes of the words that `word_at` selects.
    fn of_words(self, word_at: impl Fn(i64) -> i64) -> Vec<i64> {
        (0..self.size)
            .flat_map(|at| (0..self.word).map(move |lane| (at, lane)))
            .map(|(at, lane)| word_at(at) * self.word + lane)
            .collect()
    }
}

impl PackSource<'_> {
    /// Packs rows of a left operand in which rows, not steps, are contiguous in memory. First packs
    /// groups of steps, then transposes the groups to lines of steps.
    pub fn transpose_rows(
        &self,
        b: &mut FunctionBuilder,
        tiles: &TileSizes,
        part: &OperandRange,
        [tensor, groups]: [Value; 2],
    ) -> [Value; 2] {
        let squares = tiles.squares();
        let (zero, one, size, row) = (b.index(0), b.index(1), b.index(squares.size), b.index(squares.row()));
        let groups = self.pack_groups(b, tiles, [squares.size, common_divisor(self.lines, tiles.height)], part, groups);
        let (panels, count) = (b.ceildivsi(part.lines, size), b.ceildivsi(part.steps, row));
        let transposed = b.scf_for(zero, panels, one, &[tensor, groups], |b, panel, tensors| {
            let first = b.muli(panel, size);
            let from = |b: &mut FunctionBuilder, square: Value, group: Value| {
                let begin = b.muli(square, size);
                vec![panel, b.addi(begin, group), zero]
            };
            let to = |b: &mut FunctionBuilder, square: Value, line: Value| {
                let step = b.muli(square, row);
                vec![zero, b.addi(first, line), step]
            };
            let [groups, tensor] = squares.transpose(b, count, [tensors[1], tensors[0]], from, to);
            vec![tensor, groups]
        });
        [transposed[0], transposed[1]]
    }

    /// Packs the columns of a register tile if steps are contiguous in memory. Copies as many
    /// columns at a time as a register has lanes, for a range of steps, and transposes the copy.
    pub fn transpose_columns(
        &self,
        b: &mut FunctionBuilder,
        tiles: &TileSizes,
        part: &OperandRange,
        panel: Value,
        [tensor, transposed]: [Value; 2],
    ) -> [Value; 2] {
        let squares = tiles.squares();
        let (zero, one, lanes, row) = (b.index(0), b.index(1), b.index(squares.size), b.index(squares.row()));
        let (word, chunk) = (b.index(squares.word), b.index(tiles.transposed_steps()));
        let groups = b.ceildivsi(part.lines, lanes);
        let written = b.scf_for(zero, groups, one, &[tensor, transposed], |b, group, tensors| {
            let first = b.muli(group, lanes);
            let rest = b.subi(part.lines, first);
            let lines = b.minsi(rest, lanes);
            let column = b.muli(first, word);
            b.scf_for(zero, part.steps, chunk, tensors, |b, step, tensors| {
                let rest = b.subi(part.steps, step);
                let own = OperandRange {
                    batch: part.batch,
                    line: b.addi(part.line, first),
                    lines,
                    step: b.addi(part.step, step),
                    steps: b.minsi(rest, chunk),
                };
                let transposed = self.copy_lines(b, &own, tensors[1]);
                let transposed = self.clear_rest_of_lines(b, tiles, &own, transposed);
                let count = b.ceildivsi(own.steps, row);
                let begin = b.floordivsi(step, word);
                let [mut transposed, mut tensor] = [transposed, tensors[0]];
                // Real and imaginary parts are transposed separately.
                for plane in 0..tiles.micro.planes {
                    let spacing = |b: &mut FunctionBuilder, tensor: Value, at: Value| match plane {
                        0 => at,
                        _ => {
                            let half = half_row(b, tensor);
                            b.addi(at, half)
                        }
                    };
                    let from = |b: &mut FunctionBuilder, square: Value, line: Value| {
                        let step = b.muli(square, row);
                        vec![zero, line, spacing(b, transposed, step)]
                    };
                    let to = |b: &mut FunctionBuilder, square: Value, line: Value| {
                        let group = b.muli(square, lanes);
                        let group = b.addi(begin, group);
                        vec![panel, b.addi(group, line), spacing(b, tensor, column)]
                    };
                    [transposed, tensor] = squares.transpose(b, count, [transposed, tensor], from, to);
                }
                vec![tensor, transposed]
            })
        });
        [written[0], written[1]]
    }
}
