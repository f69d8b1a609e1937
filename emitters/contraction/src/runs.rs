//! Packing, run by run, of convolution operands whose lines and steps are not in memory order, or
//! include padding. A run is a range of lines or of steps that is contiguous in memory. The kernel
//! decides once per run which part of the run is inside the operand.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Value};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize};

use crate::divisor::common_divisor;
use crate::operand_runs::{BoundsCondition, OperandRuns, PositionStep};
use crate::pack::{OperandRange, PackSource, each};

/// Number of elements that are copied together, if a run is partly padding.
const TOGETHER: i64 = 16;
/// If runs have at least this number of elements, a separate code path for complete runs saves no
/// time.
const LONG: i64 = 48;

/// Range of a run's positions that the kernel copies. The range consists of whole pieces.
#[derive(Clone, Copy)]
struct RunRange {
    begin: Value,
    end: Value,
    /// Number of positions of a piece, which the kernel copies together.
    piece: i64,
}

/// Returns the coordinates of a position, outermost first.
fn coordinates(b: &mut FunctionBuilder, position: Value, sizes: &[i64]) -> Vec<Value> {
    let all = sizes.iter().fold(1i64, |n, &size| n.saturating_mul(size));
    b.apply_indexing(&IndexingMap::from_tensor_sizes(delinearize(&Expr::dim(0), sizes), &[all], &[]), &[position])
}

impl PackSource<'_> {
    /// Copies steps of one line to `tensor[place…, step]`. The range of steps begins and ends at
    /// multiples of the source's grain.
    pub fn copy_runs_of_steps(
        &self,
        b: &mut FunctionBuilder,
        runs: &OperandRuns,
        part: &OperandRange,
        line: Value,
        tensor: Value,
        place: &[Value],
    ) -> Value {
        let (size, one) = (runs.run_size(), b.index(1));
        let line = coordinates(b, line, &runs.lines);
        let whole = b.index(size);
        let end = b.addi(part.step, part.steps);
        let (first, last) = (b.floordivsi(part.step, whole), b.ceildivsi(end, whole));
        b.scf_for(first, last, one, &[tensor], |b, number, tensor| {
            let from = b.muli(number, whole);
            let outer = coordinates(b, number, &runs.steps[..runs.steps.len() - 1]);
            let zero = b.index(0);
            let point = [&[part.batch], line.as_slice(), &outer, &[zero]].concat();
            let (ahead, behind) = (b.subi(part.step, from), b.subi(end, from));
            let stretch = RunRange {
                begin: b.maxsi(ahead, zero),
                end: b.minsi(behind, whole),
                piece: common_divisor(self.grain, size),
            };
            vec![self.copy_run(b, runs, point, stretch, tensor[0], |b, [from, i], element, tensor| {
                let position = b.addi(from, i);
                let step = b.subi(position, ahead);
                b.insert(element, tensor, &[place, &[step]].concat())
            })]
        })[0]
    }

    /// Copies lines to panels `[panel, step, line]` of `width` lines. The part's first line is a
    /// multiple of `width`.
    pub fn copy_runs_of_lines(
        &self,
        b: &mut FunctionBuilder,
        runs: &OperandRuns,
        part: &OperandRange,
        width: i64,
        tensor: Value,
    ) -> Value {
        let (size, one) = (runs.run_size(), b.index(1));
        let (whole, panel_width) = (b.index(size), b.index(width));
        let end = b.addi(part.line, part.lines);
        let (first, last) = (b.floordivsi(part.line, whole), b.ceildivsi(end, whole));
        each(b, part.steps, tensor, |b, step, tensor| {
            let number = b.addi(part.step, step);
            let inner = coordinates(b, number, &runs.steps);
            b.scf_for(first, last, one, &[tensor], |b, number, tensor| {
                let from = b.muli(number, whole);
                let outer = coordinates(b, number, &runs.lines[..runs.lines.len() - 1]);
                let zero = b.index(0);
                let point = [&[part.batch], outer.as_slice(), &[zero], &inner].concat();
                let (ahead, behind) = (b.subi(part.line, from), b.subi(end, from));
                let stretch = RunRange {
                    begin: b.maxsi(ahead, zero),
                    end: b.minsi(behind, whole),
                    piece: common_divisor(width, size),
                };
                vec![self.copy_run(b, runs, point, stretch, tensor[0], |b, [from, i], element, tensor| {
                    let line = b.subi(from, ahead);
                    let (panel, line) = (b.floordivsi(line, panel_width), b.remsi(line, panel_width));
                    let line = b.addi(line, i);
                    b.insert(element, tensor, &[panel, step, line])
                })]
            })[0]
        })
    }

    /// Copies the range `stretch` of a run. `put` stores one element in the tensor. `put` receives
    /// the element's position as two numbers: the start of a piece and the offset in this piece.
    fn copy_run(
        &self,
        b: &mut FunctionBuilder,
        runs: &OperandRuns,
        point: Vec<Value>,
        stretch: RunRange,
        tensor: Value,
        put: impl Fn(&mut FunctionBuilder, [Value; 2], Value, Value) -> Value,
    ) -> Value {
        let slot = if runs.are_steps { point.len() - 1 } else { runs.lines.len() };
        let (nothing, zero) = (self.nothing(b), b.index(0));
        let copy = |b: &mut FunctionBuilder, position: [Value; 2], is_there: bool, tensor: Value| {
            if !is_there {
                return put(b, position, nothing, tensor);
            }
            let mut point = point.clone();
            point[slot] = b.addi(position[0], position[1]);
            let element = self.element_of_run(b, runs, &point);
            put(b, position, element, tensor)
        };
        let piece = b.index(stretch.piece);
        let pieces = |b: &mut FunctionBuilder, tensor: Value| {
            b.scf_for(stretch.begin, stretch.end, piece, &[tensor], |b, from, tensor| {
                vec![each(b, piece, tensor[0], |b, i, tensor| copy(b, [from, i], true, tensor))]
            })[0]
        };
        let Some([low, high]) = self.there(b, runs, &point) else { return pieces(b, tensor) };
        let types = b.types_of(&[tensor]);
        // Splits the range into leading padding, elements and trailing padding.
        let parted = |b: &mut FunctionBuilder, begin: Value, end: Value, tensor: Value| {
            let one = b.index(1);
            let low = b.maxsi(low, begin);
            let low = b.minsi(low, end);
            let high = b.minsi(high, end);
            let high = b.maxsi(high, low);
            let one_by_one = |b: &mut FunctionBuilder, from: Value, to: Value, is_there: bool, tensor: Value| {
                b.scf_for(from, to, one, &[tensor], |b, position, tensor| {
                    vec![copy(b, [position, zero], is_there, tensor[0])]
                })[0]
            };
            let tensor = one_by_one(b, begin, low, false, tensor);
            if runs.are_steps && self.keeps_bytes() && !runs.conditions.iter().any(BoundsCondition::has_holes_along_run)
            {
                // Lowering turns the loop into one copy of memory.
                let tensor = one_by_one(b, low, high, true, tensor);
                return one_by_one(b, high, end, false, tensor);
            }
            let together = b.index(TOGETHER);
            let last = b.subi(high, together);
            let is_long = b.cmpi(IntPredicate::Sge, last, low);
            // The last group of elements ends where the range ends. So some elements are copied
            // twice, but no element is copied alone.
            let tensor = b.scf_if(
                is_long,
                &types,
                |b| {
                    let some = |b: &mut FunctionBuilder, from: Value, tensor: Value| {
                        each(b, together, tensor, |b, i, tensor| copy(b, [from, i], true, tensor))
                    };
                    let copied =
                        b.scf_for(low, last, together, &[tensor], |b, from, tensor| vec![some(b, from, tensor[0])]);
                    vec![some(b, last, copied[0])]
                },
                |b| vec![one_by_one(b, low, high, true, tensor)],
            )[0];
            one_by_one(b, high, end, false, tensor)
        };
        let is_within = |b: &mut FunctionBuilder, begin: Value, end: Value| {
            let is_before = b.cmpi(IntPredicate::Sle, low, begin);
            let is_behind = b.cmpi(IntPredicate::Sge, high, end);
            b.andi(is_before, is_behind)
        };
        // For long runs, the code for three parts is as fast as the code for complete runs.
        if runs.are_steps && stretch.piece >= LONG {
            return parted(b, stretch.begin, stretch.end, tensor);
        }
        let is_whole = is_within(b, stretch.begin, stretch.end);
        b.scf_if(
            is_whole,
            &types,
            |b| vec![pieces(b, tensor)],
            |b| {
                if runs.are_steps {
                    vec![parted(b, stretch.begin, stretch.end, tensor)]
                } else {
                    // Panels are narrow, so most pieces contain only elements or only padding.
                    b.scf_for(stretch.begin, stretch.end, piece, &[tensor], |b, from, tensor| {
                        let end = b.addi(from, piece);
                        let is_there = is_within(b, from, end);
                        let is_behind = b.cmpi(IntPredicate::Sle, high, from);
                        let is_before = b.cmpi(IntPredicate::Sge, low, end);
                        let is_nowhere = b.ori(is_before, is_behind);
                        let whole = |b: &mut FunctionBuilder, is_there: bool| {
                            vec![each(b, piece, tensor[0], |b, i, tensor| copy(b, [from, i], is_there, tensor))]
                        };
                        b.scf_if(
                            is_there,
                            &types,
                            |b| whole(b, true),
                            |b| {
                                b.scf_if(
                                    is_nowhere,
                                    &types,
                                    |b| whole(b, false),
                                    |b| vec![parted(b, from, end, tensor[0])],
                                )
                            },
                        )
                    })
                }
            },
        )[0]
    }

    /// Returns the range of positions of a run that are inside the operand, or `None` if all
    /// positions of all runs are inside.
    fn there(&self, b: &mut FunctionBuilder, runs: &OperandRuns, point: &[Value]) -> Option<[Value; 2]> {
        if runs.conditions.is_empty() {
            return None;
        }
        let zero = b.index(0);
        let (mut low, mut high) = (zero, b.index(runs.run_size()));
        for condition in &runs.conditions {
            let place = b.apply_indexing(&condition.place, point)[0];
            match condition.along {
                Some(PositionStep { by, after }) => {
                    let (by, after, last) = (b.index(by), b.index(after), b.index(condition.extent - 1));
                    let before = b.subi(zero, place);
                    let first = b.ceildivsi(before, by);
                    let first = b.muli(first, after);
                    let room = b.subi(last, place);
                    let room = b.floordivsi(room, by);
                    let one = b.index(1);
                    let end = b.addi(room, one);
                    let end = b.muli(end, after);
                    (low, high) = (b.maxsi(low, first), b.minsi(high, end));
                }
                None => {
                    let extent = b.index(condition.extent);
                    // A negative place becomes a large unsigned number.
                    let mut holds = b.cmpi(IntPredicate::Ult, place, extent);
                    if condition.dilation > 1 {
                        let is_element = self.is_element(b, condition, place);
                        holds = b.andi(holds, is_element);
                    }
                    high = b.select(holds, high, zero);
                }
            }
        }
        Some([low, high])
    }

    /// Whether the position `place` contains an element, not a hole between dilated elements.
    fn is_element(&self, b: &mut FunctionBuilder, condition: &BoundsCondition, place: Value) -> Value {
        let (dilation, zero) = (b.index(condition.dilation), b.index(0));
        let rest = b.remsi(place, dilation);
        b.cmpi(IntPredicate::Eq, rest, zero)
    }

    /// Returns the element at a position inside the operand. Returns 0 if the position is a hole
    /// between dilated elements.
    fn element_of_run(&self, b: &mut FunctionBuilder, runs: &OperandRuns, point: &[Value]) -> Value {
        let mut element = self.element_at(b, &runs.at, point);
        for condition in runs.conditions.iter().filter(|it| it.has_holes_along_run()) {
            let place = b.apply_indexing(&condition.place, point)[0];
            let is_element = self.is_element(b, condition, place);
            let nothing = self.nothing(b);
            element = b.select(is_element, element, nothing);
        }
        element
    }
}
