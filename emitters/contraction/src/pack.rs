//! Packing: code that copies the operands into the order in which the kernel multiplies them.
//! Packing calls subgraph functions for the elements, so it also computes the prologue of the dot.
//! Packing copies contiguous elements in loops that LLVM vectorises, and transposes other elements
//! in registers.

use fusebox_core::builder::{FunctionBuilder, Scalar, Subgraph, Value};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ElementType, InstrId, Op};
use fusebox_core::indexing::IndexingMap;

use crate::convert::convert;
use crate::micro::OFFSET;
use crate::operand::Operand;
use crate::tiles::TileSizes;

/// An operand to pack.
pub struct PackSource<'a> {
    pub operand: &'a Operand,
    pub function: Subgraph,
    /// Whether the elements are in memory, so that the kernel reads them without computation.
    pub is_parameter: bool,
    /// Number of lines.
    pub lines: i64,
    /// Type to which the elements are converted.
    pub factor: ElementType,
    /// Whether [`OFFSET`] is added to the converted elements.
    pub is_offset: bool,
    /// A number of steps: copied ranges of steps begin and end at multiples of this number.
    pub grain: i64,
}

/// Elements to copy: `lines` lines from `line` on, and `steps` steps from `step` on.
#[derive(Clone, Copy)]
pub struct OperandRange {
    pub batch: Value,
    pub line: Value,
    pub lines: Value,
    pub step: Value,
    pub steps: Value,
}

/// Whether an instruction of a fusion is a parameter.
pub fn is_parameter(fusion: &Fusion, instruction: InstrId) -> bool {
    matches!(fusion.computation().instruction(instruction).op, Op::Parameter { .. })
}

impl PackSource<'_> {
    /// Whether packed elements have the same bytes as the operand's elements.
    pub fn keeps_bytes(&self) -> bool {
        let is_converted = self.operand.element != self.factor || self.operand.element.is_complex();
        self.is_parameter && !is_converted && !self.is_offset
    }

    /// Returns the element at `(batch, line, step)`.
    pub fn element(&self, b: &mut FunctionBuilder, point: [Value; 3]) -> Value {
        self.element_at(b, &self.operand.at, &point)
    }

    /// Returns the element at the index that `at` computes from `point`.
    pub fn element_at(&self, b: &mut FunctionBuilder, at: &IndexingMap, point: &[Value]) -> Value {
        let index = b.apply_indexing(at, point);
        let value = b.call_subgraph(&self.function, &index, &[])[0];
        if self.operand.element.is_complex() {
            return value;
        }
        let value = convert(b, self.operand.element, self.factor, value);
        if self.is_offset {
            let offset = b.int(OFFSET, Scalar::I8);
            return b.addi(value, offset);
        }
        value
    }

    /// Returns the packed form of zero, with which packing fills the padding.
    pub fn nothing(&self, b: &mut FunctionBuilder) -> Value {
        if self.is_offset { b.int(OFFSET, Scalar::I8) } else { b.zero(&Scalar::of_element(self.factor).into()) }
    }

    /// Inserts an element into the tensor. If elements are complex, the first half of the last
    /// dimension holds real parts, and the second half holds imaginary parts. Each half of the last
    /// dimension has the layout of real elements.
    pub fn insert(&self, b: &mut FunctionBuilder, element: Value, tensor: Value, place: &[Value]) -> Value {
        let Some((&last, before)) = place.split_last().filter(|_| self.operand.element.is_complex()) else {
            return b.insert(element, tensor, place);
        };
        let (re, im) = (b.re(element), b.im(element));
        let half = half_row(b, tensor);
        let tensor = b.insert(re, tensor, place);
        let last = b.addi(last, half);
        b.insert(im, tensor, &[before, &[last]].concat())
    }

    /// Returns the element at a line and a step of the part.
    pub fn element_of(&self, b: &mut FunctionBuilder, part: &OperandRange, line: Value, step: Value) -> Value {
        let (line, step) = (b.addi(part.line, line), b.addi(part.step, step));
        self.element(b, [part.batch, line, step])
    }

    /// Copies lines with contiguous steps to `tensor[0, line, step]`.
    pub fn copy_lines(&self, b: &mut FunctionBuilder, part: &OperandRange, tensor: Value) -> Value {
        let zero = b.index(0);
        each(b, part.lines, tensor, |b, line, tensor| self.copy_line(b, part, line, tensor, &[zero, line]))
    }

    /// Copies the steps of one line of the part to `tensor[place…, step]`.
    pub fn copy_line(
        &self,
        b: &mut FunctionBuilder,
        part: &OperandRange,
        line: Value,
        tensor: Value,
        place: &[Value],
    ) -> Value {
        if let Some(runs) = &self.operand.runs {
            let line = b.addi(part.line, line);
            return self.copy_runs_of_steps(b, runs, part, line, tensor, place);
        }
        each(b, part.steps, tensor, |b, step, tensor| {
            let element = self.element_of(b, part, line, step);
            self.insert(b, element, tensor, &[place, &[step]].concat())
        })
    }

    /// Packs columns of the right operand into register tiles. `transposed` is a buffer for
    /// transposes.
    pub fn pack_right(
        &self,
        b: &mut FunctionBuilder,
        tiles: &TileSizes,
        part: &OperandRange,
        [tensor, transposed]: [Value; 2],
    ) -> [Value; 2] {
        if !self.operand.runs_along_steps {
            return [self.copy_panels(b, part, [tiles.width(), self.lines], tensor), transposed];
        }
        let (zero, one, width) = (b.index(0), b.index(1), b.index(tiles.width()));
        let panels = b.ceildivsi(part.lines, width);
        let packed = b.scf_for(zero, panels, one, &[tensor, transposed], |b, panel, tensors| {
            let first = b.muli(panel, width);
            let rest = b.subi(part.lines, first);
            let part = OperandRange { line: b.addi(part.line, first), lines: b.minsi(rest, width), ..*part };
            self.transpose_columns(b, tiles, &part, panel, [tensors[0], tensors[1]]).to_vec()
        });
        [packed[0], packed[1]]
    }

    /// Copies lines to panels `[panel, step, line]` of `width` lines. The operand has `all` lines.
    /// The loop copies all lines of a step before the next step, so that it reads all lines of the
    /// part as one contiguous run.
    pub fn copy_panels(
        &self,
        b: &mut FunctionBuilder,
        part: &OperandRange,
        [width, all]: [i64; 2],
        tensor: Value,
    ) -> Value {
        if let Some(runs) = &self.operand.runs {
            return self.copy_runs_of_lines(b, runs, part, width, tensor);
        }
        let is_even = all % width == 0;
        let width = b.index(width);
        let (full, over) = (b.floordivsi(part.lines, width), b.remsi(part.lines, width));
        let after = b.muli(full, width);
        each(b, part.steps, tensor, |b, step, tensor| {
            let copied = |b: &mut FunctionBuilder, panel: Value, first: Value, count: Value, tensor: Value| {
                each(b, count, tensor, |b, line, tensor| {
                    let number = b.addi(first, line);
                    let element = self.element_of(b, part, number, step);
                    self.insert(b, element, tensor, &[panel, step, line])
                })
            };
            let tensor = each(b, full, tensor, |b, panel, tensor| {
                let first = b.muli(panel, width);
                copied(b, panel, first, width, tensor)
            });
            if is_even { tensor } else { copied(b, full, after, over, tensor) }
        })
    }
}

/// Returns the distance between the real and the imaginary part of a complex number in a tensor's
/// rows.
pub fn half_row(b: &mut FunctionBuilder, tensor: Value) -> Value {
    let row = b.type_of(tensor).dims().last().copied().unwrap_or_default();
    b.index(row / 2)
}

/// Builds `for i in 0..count` with one loop-carried tensor.
pub fn each(
    b: &mut FunctionBuilder,
    count: Value,
    tensor: Value,
    body: impl FnOnce(&mut FunctionBuilder, Value, Value) -> Value,
) -> Value {
    let (zero, one) = (b.index(0), b.index(1));
    b.scf_for(zero, count, one, &[tensor], |b, i, state| vec![body(b, i, state[0])])[0]
}
