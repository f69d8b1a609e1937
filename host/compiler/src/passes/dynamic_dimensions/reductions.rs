//! Operations that combine elements: those beyond a size are what changes nothing.

use fusebox_core::hlo::{ComputationId, DotDims, InstrId, Instruction, Window};

use super::Body;
use super::writer::Made;
use crate::passes::identity::identity_of;

impl<'b> Body<'b> {
    pub fn reduce(&mut self, it: &'b Instruction, dimensions: &[i64], combiner: ComputationId) -> Made {
        let is_meant = |d: usize| dimensions.contains(&(d as i64));
        self.over_sizes(it, is_meant, combiner)
    }

    /// Windows of one element without padding behind the last give elements beyond the size of what is beyond the size.
    pub fn reduce_window(&mut self, it: &'b Instruction, window: &Window, combiner: ComputationId) -> Made {
        let is_meant = |d: usize| window.dims.get(d).is_some_and(|window| window.size > 1 || window.padding_high > 0);
        self.over_sizes(it, is_meant, combiner)
    }

    /// The initial value need not be neutral, and padding with it would count it often: the combiner must be one whose neutral
    /// element is known.
    fn over_sizes(&mut self, it: &'b Instruction, is_meant: impl Fn(usize) -> bool, combiner: ComputationId) -> Made {
        let arrays = it.operands.len() / 2;
        let rank = self.dims(it, 0).len();
        let sizes = (0..rank).filter(|&d| is_meant(d)).filter_map(|d| Some((d, self.common_size(it, arrays, d)?)));
        let sizes: Vec<(usize, InstrId)> = sizes.collect();
        if sizes.is_empty() {
            return Ok(self.copy(it));
        }
        let mut operands = self.rebuild.operands(it);
        let element_type = self.writer(it).array(operands[0]).element_type;
        let identity = identity_of(self.module.computation(combiner)).filter(|_| arrays == 1);
        let Some(identity) = identity.filter(|identity| identity.element_type == element_type) else {
            return Err(format!(
                "{} along a dynamic dimension needs a combiner whose neutral element is known: one operation that is add, multiply, \
                 maximum, minimum, and, or, xor of two numbers of one type; replace the elements beyond the size by neutral ones and \
                 reduce the static array",
                it.opcode()
            ));
        };
        let mut writer = self.writer(it);
        let neutral = writer.scalar(element_type, identity.data.to_vec());
        operands[0] = writer.masked(operands[0], &sizes, neutral);
        Ok(self.with_operands(it, operands))
    }

    /// Both sides are zero beyond the size: there may be infinities.
    pub fn dot(&mut self, it: &'b Instruction, dims: &DotDims) -> Made {
        let pairs: Vec<(usize, usize)> =
            dims.lhs_contracting.iter().zip(&dims.rhs_contracting).map(|(&l, &r)| (l as usize, r as usize)).collect();
        let size = |&(l, r): &(usize, usize)| Some(((l, r), self.size(it, 0, l).or(self.size(it, 1, r))?));
        let sizes: Vec<((usize, usize), InstrId)> = pairs.iter().filter_map(size).collect();
        let left: Vec<(usize, InstrId)> = sizes.iter().map(|&((l, _), size)| (l, size)).collect();
        let right: Vec<(usize, InstrId)> = sizes.iter().map(|&((_, r), size)| (r, size)).collect();
        let operands = self.rebuild.operands(it);
        let mut writer = self.writer(it);
        let masked = operands.into_iter().zip([left, right]).map(|(operand, sizes)| {
            let element_type = writer.array(operand).element_type;
            let zero = writer.zero(element_type);
            writer.masked(operand, &sizes, zero)
        });
        let masked = masked.collect();
        Ok(self.with_operands(it, masked))
    }
}
