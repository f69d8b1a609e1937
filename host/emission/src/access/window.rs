//! Operations that look at a window of their operand.

use fusebox_core::builder::Type;
use fusebox_core::hlo::{ComputationId, InstrId, Window};
use fusebox_core::indexing::Interval;

use super::{Condition, Recipe};
use crate::EmissionError;
use crate::elemental::state_types;
use crate::index::{IndexId, Token};
use crate::partition::{Partition, ScopeKind, Site, leaf_dims};

impl Partition<'_> {
    /// Reads: the initial values, then, behind the branch in the loop over the window, the operands.
    pub(super) fn reduce_window(
        &mut self,
        id: InstrId,
        window: &Window,
        to_apply: ComputationId,
        site: &Site,
    ) -> Result<Recipe, EmissionError> {
        let operands = self.instruction(id).operands.clone();
        let (arrays, inits) = operands.split_at(operands.len() / 2);
        let sizes = self.operand_array(id, 0)?.dims.clone();
        let mut reads: Vec<_> = inits.iter().map(|&init| self.read(init, site.scope, Token::new())).collect();
        let counts = window.dims.iter().map(|dim| dim.size).collect();
        let state = state_types(self, id, to_apply);
        let looped = self.add_scope(site.scope, ScopeKind::Loop { sizes: counts, state });
        let offsets = self.ranges(looped);
        let (mut token, mut conditions) = (Token::new(), Vec::new());
        for (k, dim) in window.dims.iter().enumerate() {
            let offset = match dim.reversal {
                true => self.mirrored(offsets[k], dim.size),
                false => offsets[k],
            };
            let position =
                self.window_position(site.token[k], dim.stride, offset, dim.window_dilation, dim.padding_low);
            token.push(self.spread(position, dim.base_dilation, sizes[k], &mut conditions));
        }
        let branch = self.branch(looped, conditions);
        if branch.reachable {
            for &array in arrays {
                reads.push(self.read(array, branch.scope, token.clone()));
            }
        }
        Ok(Recipe { reads, loops: vec![looped], branches: vec![branch], indices: Vec::new() })
    }

    /// The gather form: every element looks at the windows that cover it and takes the source values
    /// of those that select it.
    ///
    /// Loops: over the windows that may cover the element; inside, over a window's elements.
    /// Branches: the window exists; the window's element exists. Reads: the initial value; in the first
    /// branch the source; in the second the operand. Indices: the element's own linear index, then the
    /// linear index of the candidate.
    pub(super) fn select_and_scatter(
        &mut self,
        id: InstrId,
        window: &Window,
        site: &Site,
    ) -> Result<Recipe, EmissionError> {
        let operands = self.instruction(id).operands.clone();
        let dims = self.operand_array(id, 0)?.dims.clone();
        let source_dims = self.operand_array(id, 1)?.dims.clone();
        let element = self.leaf_types(id);
        let counts: Vec<i64> = window.dims.iter().map(|dim| dim.size).collect();
        let init = self.read(operands[2], site.scope, Token::new());
        let outer = self.add_scope(site.scope, ScopeKind::Loop { sizes: counts.clone(), state: element.clone() });
        let offsets = self.ranges(outer);
        let (mut source, mut conditions) = (Token::new(), Vec::new());
        for (k, dim) in window.dims.iter().enumerate() {
            let back = self.indices.scale(offsets[k], -1);
            let position = self.indices.add(site.token[k], back);
            let position = self.indices.offset(position, dim.padding_low);
            source.push(self.spread(position, dim.stride, source_dims[k], &mut conditions));
        }
        let exists = self.branch(outer, conditions);
        let state = [element, vec![Type::INDEX, Type::I1]].concat();
        let inner = self.add_scope(exists.scope, ScopeKind::Loop { sizes: counts, state });
        let offsets = self.ranges(inner);
        let (mut candidate, mut conditions) = (Token::new(), Vec::new());
        for (k, dim) in window.dims.iter().enumerate() {
            let position = self.window_position(source[k], dim.stride, offsets[k], 1, dim.padding_low);
            conditions.push(Condition { index: position, bounds: Interval::from_size(dims[k]) });
            candidate.push(position);
        }
        let inside = self.branch(inner, conditions);
        let (own, other) = (self.linearised(&site.token, &dims), self.linearised(&candidate, &dims));
        let mut reads = vec![init];
        if exists.reachable && inside.reachable {
            reads.push(self.read(operands[1], exists.scope, source));
            reads.push(self.read(operands[0], inside.scope, candidate));
        }
        Ok(Recipe { reads, loops: vec![outer, inner], branches: vec![exists, inside], indices: vec![own, other] })
    }

    /// `window · stride + offset · dilation - padding`
    pub(super) fn window_position(
        &mut self,
        window: IndexId,
        stride: i64,
        offset: IndexId,
        dilation: i64,
        padding: i64,
    ) -> IndexId {
        let window = self.indices.scale(window, stride);
        let offset = self.indices.scale(offset, dilation);
        let position = self.indices.add(window, offset);
        self.indices.offset(position, -padding)
    }

    /// `size - 1 - index`
    pub(super) fn mirrored(&mut self, index: IndexId, size: i64) -> IndexId {
        let index = self.indices.scale(index, -1);
        self.indices.offset(index, size - 1)
    }

    /// Scalar types of an instruction's leaves.
    pub fn leaf_types(&self, id: InstrId) -> Vec<Type> {
        let leaves = self.instruction(id).shape.leaves();
        leaves.iter().filter_map(|leaf| leaf.as_array()).map(|array| Type::of_element(array.element_type)).collect()
    }

    /// Reads: the initial values, then, in the loop over the reduced dimensions, the operands.
    pub(super) fn reduce(
        &mut self,
        id: InstrId,
        dimensions: &[i64],
        to_apply: ComputationId,
        site: &Site,
    ) -> Result<Recipe, EmissionError> {
        let operands = self.instruction(id).operands.clone();
        let (arrays, inits) = operands.split_at(operands.len() / 2);
        let dims = self.operand_array(id, 0)?.dims.clone();
        if leaf_dims(&self.instruction(id).shape).is_none() {
            return Err(self.error(id, "the results have different dimensions"));
        }
        let mut reads: Vec<_> = inits.iter().map(|&init| self.read(init, site.scope, Token::new())).collect();
        let mut reduced: Vec<usize> = dimensions.iter().map(|&d| d as usize).collect();
        reduced.sort_unstable();
        let sizes: Vec<i64> = reduced.iter().map(|&d| dims[d]).collect();
        let empty = sizes.contains(&0);
        let state = state_types(self, id, to_apply);
        let looped = self.add_scope(site.scope, ScopeKind::Loop { sizes, state });
        let mut ranges = self.ranges(looped).into_iter();
        let mut kept = site.token.iter().copied();
        let zero = self.indices.constant(0);
        let mut token = Token::new();
        for d in 0..dims.len() {
            let index = if reduced.contains(&d) { ranges.next() } else { kept.next() };
            token.push(index.unwrap_or(zero));
        }
        if !empty {
            for &array in arrays {
                reads.push(self.read(array, looped, token.clone()));
            }
        }
        Ok(Recipe { reads, loops: vec![looped], ..Recipe::default() })
    }
}
