//! Copies of the operands in the order in which they are multiplied. The host's functions compute their elements, so
//! whatever stands in front of the dot is done on the way. Rows are copied along memory, in loops that LLVM makes
//! vectors of; what has to be turned is turned in registers.

use fusebox_core::builder::{FunctionBuilder, Scalar, Subgraph, Value};
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::IndexingMap;

use crate::convert::convert;
use crate::micro::OFFSET;
use crate::operand::Operand;
use crate::tiles::Tiles;

/// An operand whose elements are copied.
pub struct Source<'a> {
    pub operand: &'a Operand,
    pub function: Subgraph,
    /// Its lines.
    pub lines: i64,
    /// What its elements become.
    pub factor: ElementType,
    /// Whether [`OFFSET`] is added to them then.
    pub is_offset: bool,
    /// Steps are copied from multiples of this to multiples of this.
    pub grain: i64,
}

/// Elements to be copied: so many lines from a line on, and so many steps from a step on.
#[derive(Clone, Copy)]
pub struct Part {
    pub batch: Value,
    pub line: Value,
    pub lines: Value,
    pub step: Value,
    pub steps: Value,
}

impl Source<'_> {
    /// The element at `(batch, line, step)`.
    pub fn element(&self, b: &mut FunctionBuilder, point: [Value; 3]) -> Value {
        self.element_at(b, &self.operand.at, &point)
    }

    /// The element at what a map makes of a point.
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

    /// What stands for an element that is not there: zero.
    pub fn nothing(&self, b: &mut FunctionBuilder) -> Value {
        match self.is_offset {
            true => b.int(OFFSET, Scalar::I8),
            false => b.zero(&Scalar::of_element(self.factor).into()),
        }
    }

    /// The tensor with an element. Of a complex one real and imaginary part are half of the last dimension apart, so that both
    /// lie as real elements do.
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

    /// The element at a place of the part.
    pub fn element_of(&self, b: &mut FunctionBuilder, part: &Part, line: Value, step: Value) -> Value {
        let (line, step) = (b.addi(part.line, line), b.addi(part.step, step));
        self.element(b, [part.batch, line, step])
    }

    /// Lines `[0, line, step]`, as their steps lie side by side.
    pub fn copy_lines(&self, b: &mut FunctionBuilder, part: &Part, tensor: Value) -> Value {
        let zero = b.index(0);
        each(b, part.lines, tensor, |b, line, tensor| self.copy_line(b, part, line, tensor, &[zero, line]))
    }

    /// Steps of one line of the part, to `tensor[place…, step]`.
    pub fn copy_line(
        &self,
        b: &mut FunctionBuilder,
        part: &Part,
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

    /// Columns of the right operand, as many register tiles as that takes. `turned` is room for what is turned.
    pub fn pack_right(
        &self,
        b: &mut FunctionBuilder,
        tiles: &Tiles,
        part: &Part,
        [tensor, turned]: [Value; 2],
    ) -> [Value; 2] {
        if !self.operand.runs_along_steps {
            return [self.copy_panels(b, part, [tiles.width(), self.lines], tensor), turned];
        }
        let (zero, one, width) = (b.index(0), b.index(1), b.index(tiles.width()));
        let panels = b.ceildivsi(part.lines, width);
        let packed = b.scf_for(zero, panels, one, &[tensor, turned], |b, panel, tensors| {
            let first = b.muli(panel, width);
            let rest = b.subi(part.lines, first);
            let part = Part { line: b.addi(part.line, first), lines: b.minsi(rest, width), ..*part };
            self.turn_columns(b, tiles, &part, panel, [tensors[0], tensors[1]]).to_vec()
        });
        [packed[0], packed[1]]
    }

    /// Panels `[panel, step, line]` of so many lines, of so many that the operand has: all lines of a step, then those of the
    /// next, so that memory is read in runs as long as the part has lines.
    pub fn copy_panels(&self, b: &mut FunctionBuilder, part: &Part, [width, all]: [i64; 2], tensor: Value) -> Value {
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

/// How far apart in a tensor's rows the parts of a complex number are.
pub fn half_row(b: &mut FunctionBuilder, tensor: Value) -> Value {
    let row = b.type_of(tensor).dims().last().copied().unwrap_or_default();
    b.index(row / 2)
}

/// `for i in 0..count` over one tensor.
pub fn each(
    b: &mut FunctionBuilder,
    count: Value,
    tensor: Value,
    body: impl FnOnce(&mut FunctionBuilder, Value, Value) -> Value,
) -> Value {
    let (zero, one) = (b.index(0), b.index(1));
    b.scf_for(zero, count, one, &[tensor], |b, i, state| vec![body(b, i, state[0])])[0]
}
