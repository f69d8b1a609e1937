//! Sizes of values.

use fusebox_core::hlo::{BinaryOp, Extent, InstrId, Instruction, Op, PaddingDim, Shape, Source, WindowDim, extents};

use super::BoundedComputation;
use super::size_writer::{RewriteResult, SizeWriter};

/// For each array leaf and each of its dimensions, the `s32[]` instruction that computes the size.
/// `None` if the size is the bound.
pub type Sizes = Vec<Vec<Option<InstrId>>>;

/// Whether all sizes are the bounds.
pub fn are_static(sizes: &Sizes) -> bool {
    sizes.iter().flatten().all(Option::is_none)
}

/// Returns the sizes of a value whose sizes are the bounds.
pub fn of_bounds(shape: &Shape) -> Sizes {
    shape.leaves().into_iter().filter_map(Shape::as_array).map(|array| vec![None; array.rank()]).collect()
}

impl<'b> BoundedComputation<'b> {
    /// Returns the size of a dimension of an array operand; `None` if it is the bound.
    pub fn size(&self, it: &Instruction, operand: usize, dimension: usize) -> Option<InstrId> {
        let sizes = &self.sizes[it.operands.get(operand)?.index()];
        *sizes.first()?.get(dimension)?
    }

    /// Returns the bounds of an array operand.
    pub fn dims(&self, it: &Instruction, operand: usize) -> Vec<i64> {
        let shape = it.operands.get(operand).map(|&operand| &self.old.instruction(operand).shape);
        shape.and_then(Shape::as_array).map_or_else(Vec::new, |array| array.dims.clone())
    }

    /// Returns the dimensions of an operand whose sizes are not the bounds, with their sizes.
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
        let value = self.rebuild.mapped(it.operands[0]);
        let bound = self.dims(it, 0)[dimension];
        let mut sizes = self.sizes[it.operands[0].index()].clone();
        let size = self.rebuild.mapped(it.operands[1]);
        sizes[0][dimension] = match constant(self.rebuild.instruction(size)) {
            Some(size) if size == bound => None,
            Some(size) if !(0..bound).contains(&size) => {
                return Err(format!("the size {size} is not between 0 and the bound {bound}"));
            }
            Some(_) => Some(size),
            None => Some(self.writer(it).between(size, bound)?),
        };
        let is_declared = |d: usize| it.shape.as_array().is_some_and(|array| array.is_dynamic(d));
        match sizes[0].iter().enumerate().find(|(d, size)| size.is_some() && !is_declared(*d)) {
            Some((d, _)) => Err(format!("dimension {d} of the result is dynamic, but {} declares it static", it.shape)),
            None => Ok((value, sizes)),
        }
    }

    /// Computes the sizes of an operation's result.
    pub fn result_sizes(&mut self, it: &'b Instruction) -> RewriteResult<Sizes> {
        let operands: Vec<&Shape> = it.operands.iter().map(|&id| &self.old.instruction(id).shape).collect();
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
                Some(self.writer(it).padded(size, padding)?)
            }
            Extent::Windows(source, window) => {
                let size = self.size_or_bound(it, source.operand, source.dimension)?;
                Some(self.writer(it).windows(size, window)?)
            }
            Extent::Scaled { of, times, per } => {
                let size = self.size_or_bound(it, of.operand, of.dimension)?;
                Some(self.writer(it).scaled(size, *times, *per)?)
            }
            Extent::Unknown => return Err(unknown_reshape(it)),
        })
    }

    pub fn size_or_bound(&mut self, it: &'b Instruction, operand: usize, dimension: usize) -> RewriteResult {
        match self.size(it, operand, dimension) {
            Some(size) => Ok(size),
            None => {
                let bound = self.dims(it, operand)[dimension];
                self.writer(it).s32(bound)
            }
        }
    }

    fn combined(&mut self, it: &'b Instruction, op: BinaryOp, sources: &[Source]) -> RewriteResult {
        let mut all: Option<InstrId> = None;
        for source in sources {
            let size = self.size_or_bound(it, source.operand, source.dimension)?;
            all = Some(match all {
                None => size,
                Some(all) => self.writer(it).binary(op, all, size),
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

/// Arithmetic on sizes.
impl SizeWriter<'_, '_> {
    fn plus(&mut self, size: InstrId, number: i64) -> RewriteResult {
        if number == 0 {
            return Ok(size);
        }
        let number = self.s32(number)?;
        Ok(self.binary(BinaryOp::Add, size, number))
    }

    fn times(&mut self, size: InstrId, number: i64) -> RewriteResult {
        if number == 1 {
            return Ok(size);
        }
        let number = self.s32(number)?;
        Ok(self.binary(BinaryOp::Multiply, size, number))
    }

    fn per(&mut self, size: InstrId, number: i64) -> RewriteResult {
        if number == 1 {
            return Ok(size);
        }
        let number = self.s32(number)?;
        Ok(self.binary(BinaryOp::Divide, size, number))
    }

    /// Returns the size, or zero if the size is negative.
    pub fn at_least_zero(&mut self, size: InstrId) -> RewriteResult {
        let zero = self.s32(0)?;
        Ok(self.binary(BinaryOp::Maximum, size, zero))
    }

    fn scaled(&mut self, size: InstrId, times: i64, per: i64) -> RewriteResult {
        let size = self.times(size, times)?;
        self.per(size, per)
    }

    fn padded(&mut self, size: InstrId, padding: &PaddingDim) -> RewriteResult {
        let padded = match padding.interior {
            0 => size,
            interior => {
                let between = self.plus(size, -1)?;
                let between = self.at_least_zero(between)?;
                let between = self.times(between, interior)?;
                self.binary(BinaryOp::Add, size, between)
            }
        };
        let padded = self.plus(padded, padding.low.saturating_add(padding.high))?;
        self.at_least_zero(padded)
    }

    /// Computes the number of windows: `(base - reach) / stride + 1`, or 0 if that is not positive.
    /// `base` includes the padding.
    fn windows(&mut self, size: InstrId, window: &WindowDim) -> RewriteResult {
        let base = match window.base_dilation {
            1 => size,
            dilation => {
                let last = self.plus(size, -1)?;
                let last = self.times(last, dilation)?;
                let base = self.plus(last, 1)?;
                self.at_least_zero(base)?
            }
        };
        let reach = (window.size - 1).saturating_mul(window.window_dilation).saturating_add(1);
        let around = window.padding_low.saturating_add(window.padding_high);
        // Adds the stride before the division instead of 1 after it. Division rounds towards zero,
        // so a negative difference could otherwise yield one window.
        let room = self.plus(base, around.saturating_sub(reach).saturating_add(window.stride))?;
        let room = self.at_least_zero(room)?;
        self.per(room, window.stride)
    }
}
