//! Sizes of values.

use fusebox_core::hlo::{
    ArrayShape, BinaryOp, ElementType, Extent, InstrId, Instruction, Op, PaddingDim, Shape, Source, WindowDim, extents,
};
use fusebox_edit::Builder;

use super::{BoundedComputation, RewriteResult};

/// For each array leaf and each of its dimensions, the `s32[]` instruction that computes the size.
/// `None` for a dimension whose size equals its bound.
pub type Sizes = Vec<Vec<Option<InstrId>>>;

/// Whether every size equals the bound of its dimension.
pub fn are_static(sizes: &Sizes) -> bool {
    sizes.iter().flatten().all(Option::is_none)
}

/// Returns sizes for a value of this shape, each equal to the bound of its dimension.
pub fn of_bounds(shape: &Shape) -> Sizes {
    arrays(shape).map(|array| vec![None; array.rank()]).collect()
}

/// Returns the arrays among the leaves of a shape.
pub fn arrays(shape: &Shape) -> impl Iterator<Item = &ArrayShape> {
    shape.leaves().into_iter().filter_map(Shape::as_array)
}

impl<'b> BoundedComputation<'b> {
    /// Returns the size of a dimension of an array operand. Returns `None` if the size equals the
    /// dimension's bound.
    pub fn size(&self, it: &Instruction, operand: usize, dimension: usize) -> Option<InstrId> {
        let sizes = &self.sizes[it.operands.get(operand)?.index()];
        *sizes.first()?.get(dimension)?
    }

    /// Returns the bounds of an array operand.
    pub fn dims(&self, it: &Instruction, operand: usize) -> Vec<i64> {
        let shape = it.operands.get(operand).map(|&operand| &self.edit.old().instruction(operand).shape);
        shape.and_then(Shape::as_array).map_or_else(Vec::new, |array| array.dims.clone())
    }

    /// Returns each dimension of an operand whose size differs from the dimension's bound, together
    /// with this size.
    pub fn dynamic(&self, it: &Instruction, operand: usize) -> Vec<(usize, InstrId)> {
        (0..self.dims(it, operand).len()).filter_map(|d| Some((d, self.size(it, operand, d)?))).collect()
    }

    /// Searches the first `operands` operands in order, and returns the first size of this
    /// dimension that is not the bound.
    pub fn common_size(&self, it: &Instruction, operands: usize, dimension: usize) -> Option<InstrId> {
        (0..operands).find_map(|operand| self.size(it, operand, dimension))
    }

    pub fn get_size(&mut self, it: &'b Instruction, dimension: usize) -> RewriteResult<(InstrId, Sizes)> {
        let size = self.size_or_bound(it, 0, dimension)?;
        Ok((size, vec![Vec::new()]))
    }

    /// Rewrites a `set-dimension-size`: clamps the new size between zero and the bound. Refuses a
    /// constant outside of this range.
    pub fn set_size(&mut self, it: &'b Instruction, dimension: usize) -> RewriteResult<(InstrId, Sizes)> {
        let value = self.edit.mapped(it.operands[0]);
        let bound = self.dims(it, 0)[dimension];
        let mut sizes = self.sizes[it.operands[0].index()].clone();
        let size = self.edit.mapped(it.operands[1]);
        sizes[0][dimension] = match constant(self.edit.instruction(size)) {
            Some(size) if size == bound => None,
            Some(size) if !(0..bound).contains(&size) => {
                return Err(format!("the size {size} is not between 0 and the bound {bound}"));
            }
            Some(_) => Some(size),
            None => Some(between(&mut self.edit, size, bound)?),
        };
        let is_declared = |d: usize| it.shape.as_array().is_some_and(|array| array.is_dynamic(d));
        match sizes[0].iter().enumerate().find(|(d, size)| size.is_some() && !is_declared(*d)) {
            Some((d, _)) => Err(format!("dimension {d} of the result is dynamic, but {} declares it static", it.shape)),
            None => Ok((value, sizes)),
        }
    }

    /// Computes the sizes of an operation's result.
    pub fn result_sizes(&mut self, it: &'b Instruction) -> RewriteResult<Sizes> {
        let operands: Vec<&Shape> = it.operands.iter().map(|&id| &self.edit.old().instruction(id).shape).collect();
        let leaves = extents(&it.op, &operands, &it.shape);
        let mut sizes = Sizes::new();
        let mut known: Vec<(Extent, Option<InstrId>)> = Vec::new();
        for extent in leaves.into_iter() {
            let mut leaf = Vec::new();
            for extent in extent {
                let found = known.iter().find(|(other, _)| *other == extent).map(|(_, size)| *size);
                let size = match found {
                    Some(size) => size,
                    None => self.extent(it, &extent)?,
                };
                known.push((extent, size));
                leaf.push(size);
            }
            sizes.push(leaf);
        }
        Ok(sizes)
    }

    fn extent(&mut self, it: &'b Instruction, extent: &Extent) -> RewriteResult<Option<InstrId>> {
        let of = |body: &Self, source: &Source| body.size(it, source.operand, source.dimension);
        let is_known = extent.sources().iter().any(|source| of(self, source).is_some());
        if !is_known && !matches!(extent, Extent::Unknown) {
            return Ok(None);
        }
        Ok(match extent {
            Extent::Bound => None,
            Extent::Same(sources) => sources.iter().find_map(|source| of(self, source)),
            Extent::Sum(sources) => Some(self.combined(it, BinaryOp::Add, sources)?),
            Extent::Merged(sources) => Some(self.combined(it, BinaryOp::Multiply, sources)?),
            Extent::Padded(source, padding) => {
                let size = self.size_or_bound(it, source.operand, source.dimension)?;
                Some(padded(&mut self.edit, size, padding)?)
            }
            Extent::Windows(source, window) => {
                let size = self.size_or_bound(it, source.operand, source.dimension)?;
                Some(windows(&mut self.edit, size, window)?)
            }
            Extent::Scaled { of, times, per } => {
                let size = self.size_or_bound(it, of.operand, of.dimension)?;
                let times = calculated(&mut self.edit, BinaryOp::Multiply, size, *times)?;
                Some(calculated(&mut self.edit, BinaryOp::Divide, times, *per)?)
            }
            Extent::Unknown => return Err(unknown_reshape(it)),
        })
    }

    pub fn size_or_bound(&mut self, it: &'b Instruction, operand: usize, dimension: usize) -> RewriteResult {
        match self.size(it, operand, dimension) {
            Some(size) => Ok(size),
            None => {
                let bound = self.dims(it, operand)[dimension];
                s32(&mut self.edit, bound)
            }
        }
    }

    fn combined(&mut self, it: &'b Instruction, op: BinaryOp, sources: &[Source]) -> RewriteResult {
        let mut all: Option<InstrId> = None;
        for source in sources {
            let size = self.size_or_bound(it, source.operand, source.dimension)?;
            all = Some(match all {
                None => size,
                Some(all) => self.edit.binary(op, all, size),
            });
        }
        all.ok_or_else(|| "a size of no dimension".into())
    }
}

fn unknown_reshape(it: &Instruction) -> String {
    format!(
        "this reshape to {} splits a dynamic dimension of which not only the outermost part is dynamic, or whose bound \
         is at most 1: reshape the static array, and set the size afterwards",
        it.shape
    )
}

/// Returns the value of a constant `s32[]`.
fn constant(instruction: &Instruction) -> Option<i64> {
    match &instruction.op {
        Op::Constant(literal) => literal.as_array()?.as_integer(),
        _ => None,
    }
}

/// Adds a constant size.
pub fn s32(edit: &mut Builder, number: i64) -> RewriteResult {
    let number = i32::try_from(number).map_err(|_| format!("{number} is too large for a size, which is s32"))?;
    Ok(edit.integer(ElementType::S32, number.into()))
}

/// Clamps a size between zero and the bound.
fn between(edit: &mut Builder, size: InstrId, bound: i64) -> RewriteResult {
    let (zero, bound) = (s32(edit, 0)?, s32(edit, bound)?);
    Ok(edit.add(Op::Clamp, [zero, size, bound]))
}

/// Applies an operation to a size and a number. Returns the size itself if the number is the
/// operation's identity.
fn calculated(edit: &mut Builder, op: BinaryOp, size: InstrId, number: i64) -> RewriteResult {
    let identity = i64::from(op != BinaryOp::Add);
    if number == identity {
        return Ok(size);
    }
    let number = s32(edit, number)?;
    Ok(edit.binary(op, size, number))
}

/// Returns the size, or zero if the size is negative.
pub fn at_least_zero(edit: &mut Builder, size: InstrId) -> InstrId {
    let zero = edit.integer(ElementType::S32, 0);
    edit.binary(BinaryOp::Maximum, size, zero)
}

fn padded(edit: &mut Builder, size: InstrId, padding: &PaddingDim) -> RewriteResult {
    let padded = match padding.interior {
        0 => size,
        interior => {
            let between = calculated(edit, BinaryOp::Add, size, -1)?;
            let between = at_least_zero(edit, between);
            let between = calculated(edit, BinaryOp::Multiply, between, interior)?;
            edit.binary(BinaryOp::Add, size, between)
        }
    };
    let padded = calculated(edit, BinaryOp::Add, padded, padding.low.saturating_add(padding.high))?;
    Ok(at_least_zero(edit, padded))
}

/// Computes the number of windows: `(base - reach) / stride + 1`, or 0 if that is not positive.
/// `base` is the dilated size including the padding, and `reach` is the length of a dilated window.
fn windows(edit: &mut Builder, size: InstrId, window: &WindowDim) -> RewriteResult {
    let base = match window.base_dilation {
        1 => size,
        dilation => {
            let last = calculated(edit, BinaryOp::Add, size, -1)?;
            let last = calculated(edit, BinaryOp::Multiply, last, dilation)?;
            let base = calculated(edit, BinaryOp::Add, last, 1)?;
            at_least_zero(edit, base)
        }
    };
    let reach = (window.size - 1).saturating_mul(window.window_dilation).saturating_add(1);
    let around = window.padding_low.saturating_add(window.padding_high);
    // Adds the stride before the division instead of 1 after it. Division rounds towards zero, so a
    // negative difference could otherwise yield one window.
    let more = around.saturating_sub(reach).saturating_add(window.stride);
    let room = calculated(edit, BinaryOp::Add, base, more)?;
    let room = at_least_zero(edit, room);
    calculated(edit, BinaryOp::Divide, room, window.stride)
}
