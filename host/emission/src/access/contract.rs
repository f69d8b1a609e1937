//! Dots and convolutions: sums of products.

use fusebox_core::builder::Type;
use fusebox_core::hlo::{ConvolutionAttrs, DotDims, InstrId};

use super::Recipe;
use crate::EmissionError;
use crate::elemental::accumulator;
use crate::index::{IndexId, Token};
use crate::partition::{Partition, ScopeId, ScopeKind, Site};

impl Partition<'_> {
    /// Reads: left and right operand, in the loop over the contracted dimensions.
    pub(super) fn dot(&mut self, id: InstrId, dims: &DotDims, site: &Site) -> Result<Recipe, EmissionError> {
        let (left, right) = (self.operand_array(id, 0)?.dims.clone(), self.operand_array(id, 1)?.dims.clone());
        let operands = self.instruction(id).operands.clone();
        let sizes: Vec<i64> = dims.lhs_contracting.iter().map(|&d| left[d as usize]).collect();
        let empty = sizes.contains(&0);
        let looped = self.sum_loop(id, site, sizes)?;
        let ranges = self.ranges(looped);
        let (batch, free) = site.token.split_at(dims.lhs_batch.len());
        let left_free = left.len() - dims.lhs_batch.len() - dims.lhs_contracting.len();
        let (left_free, right_free) = free.split_at(left_free.min(free.len()));
        let left = self.side(left.len(), batch, &dims.lhs_batch, &ranges, &dims.lhs_contracting, left_free);
        let right = self.side(right.len(), batch, &dims.rhs_batch, &ranges, &dims.rhs_contracting, right_free);
        let mut recipe = Recipe { loops: vec![looped], ..Recipe::default() };
        if !empty {
            recipe.reads = vec![self.read(operands[0], looped, left), self.read(operands[1], looped, right)];
        }
        Ok(recipe)
    }

    fn side(
        &mut self,
        rank: usize,
        batch: &[IndexId],
        batch_dims: &[i64],
        ranges: &[IndexId],
        contracting: &[i64],
        free: &[IndexId],
    ) -> Token {
        let zero = self.indices.constant(0);
        let mut free = free.iter().copied();
        let known = |dims: &[i64], indices: &[IndexId], d: usize| {
            dims.iter().position(|&dim| dim as usize == d).and_then(|k| indices.get(k).copied())
        };
        (0..rank)
            .map(|d| {
                let index = known(batch_dims, batch, d).or_else(|| known(contracting, ranges, d));
                index.or_else(|| free.next()).unwrap_or(zero)
            })
            .collect()
    }

    /// Reads: input and kernel, behind the branch in the loop over the kernel's spatial dimensions and
    /// input features.
    pub(super) fn convolution(
        &mut self,
        id: InstrId,
        attrs: &ConvolutionAttrs,
        site: &Site,
    ) -> Result<Recipe, EmissionError> {
        let (input, kernel) = (self.operand_array(id, 0)?.dims.clone(), self.operand_array(id, 1)?.dims.clone());
        let operands = self.instruction(id).operands.clone();
        let dims = &attrs.dims;
        let mut sizes: Vec<i64> = dims.kernel_spatial.iter().map(|&d| kernel[d as usize]).collect();
        let features = kernel[dims.kernel_input_feature as usize];
        sizes.push(features);
        let empty = sizes.contains(&0);
        let looped = self.sum_loop(id, site, sizes)?;
        let ranges = self.ranges(looped);
        let zero = self.indices.constant(0);
        let (mut at_input, mut at_kernel) = (vec![zero; input.len()], vec![zero; kernel.len()]);
        let mut conditions = Vec::new();
        for (k, dim) in attrs.window.dims.iter().enumerate() {
            let (out, offset) = (site.token[dims.output_spatial[k] as usize], ranges[k]);
            let position = self.window_position(out, dim.stride, offset, dim.window_dilation, dim.padding_low);
            let spatial = dims.input_spatial[k] as usize;
            at_input[spatial] = self.spread(position, dim.base_dilation, input[spatial], &mut conditions);
            let offset = if dim.reversal { self.mirrored(offset, dim.size) } else { offset };
            at_kernel[dims.kernel_spatial[k] as usize] = offset;
        }
        let (batch, feature) = (site.token[dims.output_batch as usize], site.token[dims.output_feature as usize]);
        let output_features = kernel[dims.kernel_output_feature as usize];
        let range = ranges[ranges.len() - 1];
        at_kernel[dims.kernel_input_feature as usize] = range;
        at_kernel[dims.kernel_output_feature as usize] = feature;
        // A group of output features sees its own input features, or its own part of the batch.
        at_input[dims.input_feature as usize] =
            self.grouped(feature, output_features, attrs.feature_group_count, features, range);
        let batches = input[dims.input_batch as usize] / attrs.batch_group_count.max(1);
        at_input[dims.input_batch as usize] =
            self.grouped(feature, output_features, attrs.batch_group_count, batches, batch);
        let branch = self.branch(looped, conditions);
        let mut recipe = Recipe { loops: vec![looped], ..Recipe::default() };
        if branch.reachable && !empty {
            recipe.reads =
                vec![self.read(operands[0], branch.scope, at_input), self.read(operands[1], branch.scope, at_kernel)];
        }
        recipe.branches.push(branch);
        Ok(recipe)
    }

    /// `(feature floordiv (features / groups)) · members + member`
    fn grouped(&mut self, feature: IndexId, features: i64, groups: i64, members: i64, member: IndexId) -> IndexId {
        if groups <= 1 {
            return member;
        }
        let group = self.indices.floor_div(feature, (features / groups).max(1));
        let start = self.indices.scale(group, members);
        self.indices.add(start, member)
    }

    fn sum_loop(&mut self, id: InstrId, site: &Site, sizes: Vec<i64>) -> Result<ScopeId, EmissionError> {
        let state = vec![Type::of_element(accumulator(self, id)?)];
        Ok(self.add_scope(site.scope, ScopeKind::Loop { sizes, state }))
    }
}
