//! Operations that combine elements. Elements beyond a size are masked, so that they do not change
//! the result.

use fusebox_core::hlo::{Combiner, ComputationId, ConvolutionAttrs, DotDims, InstrId, Instruction, Window, WindowDim};

use super::masks::{masked, within};
use super::{BoundedComputation, RewriteResult, array_of};
use crate::passes::selected_elements::{ValidityMasks, in_two_steps};

impl<'b> BoundedComputation<'b> {
    pub fn reduce(&mut self, it: &'b Instruction, dimensions: &[i64], combiner: ComputationId) -> RewriteResult {
        let is_meant = |d: usize| dimensions.contains(&(d as i64));
        self.over_sizes(it, is_meant, combiner)
    }

    /// Rewrites a `reduce-window`. Does not mask a dimension whose windows have one element and no
    /// padding at the end: in this dimension, elements beyond the size affect only results beyond
    /// the size.
    pub fn reduce_window(&mut self, it: &'b Instruction, window: &Window, combiner: ComputationId) -> RewriteResult {
        let is_meant = |d: usize| window.dims.get(d).is_some_and(|window| window.size > 1 || window.padding_high > 0);
        self.over_sizes(it, is_meant, combiner)
    }

    /// Masks elements beyond the sizes with the combiner's identity. The initial value cannot serve
    /// as the mask: if it is not the identity, masking would combine it several times. If the
    /// identity is unknown, the combiner receives, together with each element, a flag that tells
    /// whether the element is within the sizes.
    fn over_sizes(
        &mut self,
        it: &'b Instruction,
        is_meant: impl Fn(usize) -> bool,
        combiner: ComputationId,
    ) -> RewriteResult {
        let arrays = it.operands.len() / 2;
        let rank = self.dims(it, 0).len();
        let sizes = (0..rank).filter(|&d| is_meant(d)).filter_map(|d| Some((d, self.common_size(it, arrays, d)?)));
        let sizes: Vec<(usize, InstrId)> = sizes.collect();
        if sizes.is_empty() {
            return Ok(self.copy(it));
        }
        let mut operands = self.edit.operands(it);
        let element_type = array_of(&self.edit, operands[0])?.element_type;
        let applied = Combiner::of(self.edit.module().computation(combiner));
        let applied = applied.filter(|it| arrays == 1 && it.element_type == element_type);
        let Some(identity) = applied.and_then(Combiner::identity) else {
            return self.reduce_valid(it, combiner, &sizes);
        };
        let neutral = self.edit.constant(identity);
        operands[0] = masked(&mut self.edit, operands[0], &sizes, neutral);
        Ok(self.with_operands(it, operands))
    }

    /// Rewrites a `select-and-scatter` so that it selects no element beyond a size, and ignores
    /// windows beyond a size. Does not mask dimensions with the default window (one element, no
    /// padding, stride 1).
    pub fn select_and_scatter(&mut self, it: &'b Instruction, window: &Window) -> RewriteResult {
        let is_meant = |d: &usize| window.dims.get(*d).is_some_and(|window| *window != WindowDim::default());
        let mut mask = |operand: usize| {
            let dims = self.dims(it, operand);
            let sizes = (0..dims.len()).filter(is_meant).filter_map(|d| Some((d, self.size(it, operand, d)?)));
            let sizes: Vec<(usize, InstrId)> = sizes.collect();
            (!sizes.is_empty()).then(|| within(&mut self.edit, &dims, &sizes))
        };
        let valid = ValidityMasks { elements: mask(0), windows: mask(1) };
        if valid.elements.is_none() && valid.windows.is_none() {
            return Ok(self.copy(it));
        }
        let made = in_two_steps(&mut self.edit, it, valid);
        made.ok_or_else(|| {
            "at most 32 windows of dynamic size may cover an element, and a single operation must combine the values \
             that they scatter"
                .into()
        })
    }

    /// Replaces elements beyond a size by zeros in both operands. Zeros in one operand are not
    /// enough, because an infinity in the other operand would make the sum NaN.
    pub fn dot(&mut self, it: &'b Instruction, dims: &DotDims) -> RewriteResult {
        let pairs: Vec<(usize, usize)> =
            dims.lhs_contracting.iter().zip(&dims.rhs_contracting).map(|(&l, &r)| (l as usize, r as usize)).collect();
        let size = |&(l, r): &(usize, usize)| Some(((l, r), self.size(it, 0, l).or(self.size(it, 1, r))?));
        let sizes: Vec<((usize, usize), InstrId)> = pairs.iter().filter_map(size).collect();
        let left: Vec<(usize, InstrId)> = sizes.iter().map(|&((l, _), size)| (l, size)).collect();
        let right: Vec<(usize, InstrId)> = sizes.iter().map(|&((_, r), size)| (r, size)).collect();
        self.zero_beyond(it, [left, right])
    }

    /// Replaces features beyond a size by zeros in both operands, and spatial positions beyond a
    /// size by zeros in the input. Windows that reach past the last valid element therefore read
    /// zeros.
    pub fn convolution(&mut self, it: &'b Instruction, attributes: &ConvolutionAttrs) -> RewriteResult {
        let dims = &attributes.dims;
        let has_groups = attributes.feature_group_count > 1 || attributes.batch_group_count > 1;
        let grouped = [(0, dims.input_batch), (0, dims.input_feature), (1, dims.kernel_output_feature)];
        let grouped = grouped.into_iter().filter(|_| has_groups);
        let of_window = dims.kernel_spatial.iter().map(|&d| (1, d));
        let mut fixed =
            grouped.chain([(1, dims.kernel_input_feature)].into_iter().filter(|_| has_groups)).chain(of_window);
        if let Some((operand, d)) = fixed.find(|&(operand, d)| self.size(it, operand, d as usize).is_some()) {
            return Err(format!(
                "dimension {d} of operand {operand} of this convolution is dynamic, but groups and windows must be \
                 static; pass the static operand of set-dimension-size, with zeros beyond the size"
            ));
        }
        let (input, kernel) = (dims.input_feature as usize, dims.kernel_input_feature as usize);
        let features = self.size(it, 0, input).or(self.size(it, 1, kernel));
        let spatial = dims.input_spatial.iter().filter_map(|&d| Some((d as usize, self.size(it, 0, d as usize)?)));
        let left: Vec<(usize, InstrId)> = features.map(|size| (input, size)).into_iter().chain(spatial).collect();
        let right: Vec<(usize, InstrId)> = features.map(|size| (kernel, size)).into_iter().collect();
        self.zero_beyond(it, [left, right])
    }

    /// Copies an operation on two operands. In each operand, replaces the elements beyond the
    /// operand's `sizes` by zeros.
    fn zero_beyond(&mut self, it: &'b Instruction, sizes: [Vec<(usize, InstrId)>; 2]) -> RewriteResult {
        let mut operands = self.edit.operands(it);
        for (operand, sizes) in operands.iter_mut().zip(sizes) {
            let element_type = array_of(&self.edit, *operand)?.element_type;
            let zero = self.edit.scalar(element_type, 0.0);
            *operand = masked(&mut self.edit, *operand, &sizes, zero);
        }
        Ok(self.with_operands(it, operands))
    }
}
