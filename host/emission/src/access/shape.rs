//! Operations that only move elements.

use fusebox_core::hlo::{ArrayShape, InstrId, PaddingDim, SliceDim};
use fusebox_core::indexing::Interval;

use super::{Branch, Condition, Recipe};
use crate::EmissionError;
use crate::index::{IndexId, Token};
use crate::partition::{Partition, ScopeKind, Site};

impl Partition<'_> {
    pub(super) fn broadcast(&mut self, id: InstrId, dimensions: &[i64], site: &Site) -> Result<Recipe, EmissionError> {
        let operand_dims = self.operand_array(id, 0)?.dims.clone();
        let mut token = Token::new();
        for (&dimension, &size) in dimensions.iter().zip(&operand_dims) {
            token.push(if size == 1 { self.indices.constant(0) } else { site.token[dimension as usize] });
        }
        Ok(self.one_read(self.instruction(id).operands[0], site.scope, token))
    }

    pub(super) fn reshape(&mut self, id: InstrId, site: &Site) -> Result<Recipe, EmissionError> {
        let (to, from) = (self.operand_array(id, 0)?.dims.clone(), self.array(id)?.dims.clone());
        let token = self.reshaped(&site.token, &from, &to);
        Ok(self.one_read(self.instruction(id).operands[0], site.scope, token))
    }

    /// Both sides are walked in the order of memory, as their layouts give it.
    pub(super) fn bitcast(&mut self, id: InstrId, site: &Site) -> Result<Recipe, EmissionError> {
        let (result, operand) = (self.array(id)?.clone(), self.operand_array(id, 0)?.clone());
        if result.element_type.bits() != operand.element_type.bits() {
            return Err(self.error(id, "a bitcast between element types of different widths is not supported"));
        }
        let (outer, inner) = (major_to_minor(&result), major_to_minor(&operand));
        let pick = |order: &[usize], dims: &[i64]| -> Vec<i64> { order.iter().map(|&d| dims[d]).collect() };
        let physical: Token = outer.iter().map(|&d| site.token[d]).collect();
        let physical = self.reshaped(&physical, &pick(&outer, &result.dims), &pick(&inner, &operand.dims));
        let mut token = physical.clone();
        for (&dim, &index) in inner.iter().zip(&physical) {
            token[dim] = index;
        }
        Ok(self.one_read(self.instruction(id).operands[0], site.scope, token))
    }

    pub(super) fn transpose(&mut self, id: InstrId, permutation: &[i64], site: &Site) -> Result<Recipe, EmissionError> {
        let mut token = site.token.clone();
        for (&dim, &index) in permutation.iter().zip(&site.token) {
            token[dim as usize] = index;
        }
        Ok(self.one_read(self.instruction(id).operands[0], site.scope, token))
    }

    pub(super) fn reverse(&mut self, id: InstrId, dimensions: &[i64], site: &Site) -> Result<Recipe, EmissionError> {
        let dims = self.array(id)?.dims.clone();
        let mut token = site.token.clone();
        for &dim in dimensions {
            let mirrored = self.indices.scale(token[dim as usize], -1);
            token[dim as usize] = self.indices.offset(mirrored, dims[dim as usize] - 1);
        }
        Ok(self.one_read(self.instruction(id).operands[0], site.scope, token))
    }

    pub(super) fn slice(&mut self, id: InstrId, dims: &[SliceDim], site: &Site) -> Result<Recipe, EmissionError> {
        let mut token = Token::new();
        for (dim, &index) in dims.iter().zip(&site.token) {
            let scaled = self.indices.scale(index, dim.stride);
            token.push(self.indices.offset(scaled, dim.start));
        }
        Ok(self.one_read(self.instruction(id).operands[0], site.scope, token))
    }

    /// One branch and one read per operand that can be hit; a branch's condition is the operand's range.
    /// The first index is the position along the dimension.
    pub(super) fn concatenate(&mut self, id: InstrId, dimension: i64, site: &Site) -> Result<Recipe, EmissionError> {
        let d = dimension as usize;
        let position = site.token[d];
        let possible = self.indices.bounds(position);
        let mut parts = Vec::new();
        let mut start = 0;
        for k in 0..self.instruction(id).operands.len() {
            let end = start + self.operand_array(id, k)?.dims[d];
            if start < end && start <= possible.upper && end > possible.lower {
                parts.push((self.instruction(id).operands[k], start, end));
            }
            start = end;
        }
        let mut recipe = Recipe { indices: vec![position], ..Recipe::default() };
        let single = parts.len() == 1;
        for (operand, start, end) in parts {
            let scope = if single { site.scope } else { self.add_scope(site.scope, ScopeKind::Branch) };
            let condition = Condition { index: position, bounds: Interval::new(start, end - 1) };
            recipe.branches.push(Branch { scope, conditions: vec![condition], reachable: true });
            let mut token = site.token.clone();
            token[d] = self.indices.offset(position, -start);
            recipe.reads.push(self.read(operand, scope, token));
        }
        Ok(recipe)
    }

    /// The padding is the first read; the operand is the second, behind the branch, if it can be hit.
    pub(super) fn pad(&mut self, id: InstrId, dims: &[PaddingDim], site: &Site) -> Result<Recipe, EmissionError> {
        let sizes = self.operand_array(id, 0)?.dims.clone();
        let (operand, padding) = (self.instruction(id).operands[0], self.instruction(id).operands[1]);
        let (mut token, mut conditions) = (Token::new(), Vec::new());
        for ((dim, &size), &index) in dims.iter().zip(&sizes).zip(&site.token) {
            let shifted = self.indices.offset(index, -dim.low);
            token.push(self.spread(shifted, dim.interior + 1, size, &mut conditions));
        }
        let branch = self.branch(site.scope, conditions);
        let mut recipe = Recipe { reads: vec![self.read(padding, site.scope, Token::new())], ..Recipe::default() };
        if branch.reachable {
            recipe.reads.push(self.read(operand, branch.scope, token));
        }
        recipe.branches.push(branch);
        Ok(recipe)
    }

    /// The element that stands at `position` if elements stand `step` apart from 0 on; conditions say
    /// when there is one.
    pub(super) fn spread(
        &mut self,
        position: IndexId,
        step: i64,
        size: i64,
        conditions: &mut Vec<Condition>,
    ) -> IndexId {
        if step > 1 {
            let index = self.indices.modulo(position, step);
            conditions.push(Condition { index, bounds: Interval::point(0) });
        }
        let index = self.indices.floor_div(position, step);
        conditions.push(Condition { index, bounds: Interval::from_size(size) });
        index
    }

    /// The index in an array of dimensions `to` of the element that stands at `token` in one of
    /// dimensions `from`, both row-major. Runs of dimensions of equal size are handled by themselves,
    /// which keeps the expressions small.
    pub(super) fn reshaped(&mut self, token: &[IndexId], from: &[i64], to: &[i64]) -> Token {
        let mut result = Token::new();
        if from.contains(&0) || to.contains(&0) {
            return to.iter().map(|_| self.indices.constant(0)).collect();
        }
        let (mut i, mut j) = (0, 0);
        while j < to.len() {
            let (first_i, first_j) = (i, j);
            let (mut a, mut b) = (1i64, to[j]);
            j += 1;
            while a != b && (i < from.len() || j < to.len()) {
                if a < b && i < from.len() {
                    a *= from[i];
                    i += 1;
                } else if j < to.len() {
                    b *= to[j];
                    j += 1;
                } else {
                    // Sizes differ; the verifier does not let that pass.
                    break;
                }
            }
            let linear = self.linearised(&token[first_i..i], &from[first_i..i]);
            result.extend(self.delinearised(linear, &to[first_j..j]));
        }
        result
    }

    pub(super) fn linearised(&mut self, token: &[IndexId], dims: &[i64]) -> IndexId {
        let mut linear = self.indices.constant(0);
        for (&index, &size) in token.iter().zip(dims) {
            let scaled = self.indices.scale(linear, size);
            linear = self.indices.add(scaled, index);
        }
        linear
    }

    fn delinearised(&mut self, linear: IndexId, dims: &[i64]) -> Token {
        let mut stride: i64 = dims.iter().product();
        let mut token = Token::new();
        for (k, &size) in dims.iter().enumerate() {
            stride /= size;
            let quotient = self.indices.floor_div(linear, stride);
            token.push(if k == 0 { quotient } else { self.indices.modulo(quotient, size) });
        }
        token
    }
}

/// Dimension numbers, slowest varying first.
fn major_to_minor(shape: &ArrayShape) -> Vec<usize> {
    match &shape.layout {
        Some(layout) => layout.minor_to_major.iter().rev().copied().collect(),
        None => (0..shape.dims.len()).collect(),
    }
}
