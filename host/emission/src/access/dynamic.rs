//! Operations whose indices are values: dynamic slices and gathers.

use fusebox_core::hlo::{GatherDims, InstrId, Literal, Op};
use fusebox_core::indexing::Interval;

use super::{Condition, Recipe};
use crate::EmissionError;
use crate::index::{Atom, IndexId, Runtime, Token};
use crate::partition::{Partition, ScopeId, ScopeKind, Site};

impl Partition<'_> {
    /// The value of an integer as an index, clamped to `0..=limit`.
    fn runtime(&mut self, instruction: InstrId, scope: ScopeId, at: Token, limit: i64) -> IndexId {
        if limit <= 0 {
            return self.indices.constant(0);
        }
        if let Some(value) = self.small_integer(instruction) {
            return self.indices.constant(value.clamp(0, limit));
        }
        // A scalar is the same everywhere in a function, and reading it needs no condition.
        let scope = if at.is_empty() { self.body_of(scope) } else { scope };
        let read = self.read(instruction, scope, at);
        let runtime = Runtime { instruction, at: read.token, scope: read.scope, limit };
        self.indices.atom(Atom::Runtime(runtime), Interval::new(0, limit), read.scope)
    }

    /// The value of a constant scalar of 8 to 64 bits.
    fn small_integer(&self, id: InstrId) -> Option<i64> {
        let Op::Constant(Literal::Array(literal)) = &self.instruction(id).op else { return None };
        literal.as_integer()
    }

    /// The clamped starts of a dynamic slice: scalar operands from `first` on, or one vector of them.
    fn starts(
        &mut self,
        id: InstrId,
        first: usize,
        sizes: &[i64],
        scope: ScopeId,
    ) -> Result<Vec<IndexId>, EmissionError> {
        let dims = self.operand_array(id, 0)?.dims.clone();
        let operands = self.instruction(id).operands.clone();
        let vector = operands.len() == first + 1 && self.operand_array(id, first)?.rank() == 1;
        if !vector && operands.len() != first + dims.len() {
            return Err(self.error(id, format!("has {} starts for {} dimensions", operands.len() - first, dims.len())));
        }
        let mut starts = Vec::new();
        for (k, (&dim, &size)) in dims.iter().zip(sizes).enumerate() {
            let (operand, at) = match vector {
                true => (operands[first], vec![self.indices.constant(k as i64)]),
                false => (operands[first + k], Token::new()),
            };
            starts.push(self.runtime(operand, scope, at, dim - size));
        }
        Ok(starts)
    }

    pub(super) fn dynamic_slice(&mut self, id: InstrId, site: &Site) -> Result<Recipe, EmissionError> {
        let sizes = self.array(id)?.dims.clone();
        let starts = self.starts(id, 1, &sizes, site.scope)?;
        let token = starts.iter().zip(&site.token).map(|(&start, &index)| self.indices.add(start, index)).collect();
        Ok(self.one_read(self.instruction(id).operands[0], site.scope, token))
    }

    /// Branches and reads: the update if the index lies within it, else the operand.
    pub(super) fn dynamic_update_slice(&mut self, id: InstrId, site: &Site) -> Result<Recipe, EmissionError> {
        let sizes = self.operand_array(id, 1)?.dims.clone();
        let starts = self.starts(id, 2, &sizes, site.scope)?;
        let (operand, update) = (self.instruction(id).operands[0], self.instruction(id).operands[1]);
        let (mut token, mut conditions) = (Token::new(), Vec::new());
        for ((&start, &index), &size) in starts.iter().zip(&site.token).zip(&sizes) {
            let start = self.indices.scale(start, -1);
            let offset = self.indices.add(index, start);
            conditions.push(Condition { index: offset, bounds: Interval::from_size(size) });
            token.push(offset);
        }
        let branch = self.branch(site.scope, conditions);
        let mut recipe = Recipe::default();
        if branch.reachable {
            recipe.reads.push(self.read(update, branch.scope, token));
        }
        if !branch.reachable || !branch.conditions.is_empty() {
            let scope = if branch.reachable { self.add_scope(site.scope, ScopeKind::Branch) } else { site.scope };
            recipe.reads.push(self.read(operand, scope, site.token.clone()));
            recipe.branches.push(branch);
            recipe.branches.push(super::Branch { scope, conditions: Vec::new(), reachable: true });
        } else {
            recipe.branches.push(branch);
        }
        Ok(recipe)
    }

    pub(super) fn gather(&mut self, id: InstrId, dims: &GatherDims, site: &Site) -> Result<Recipe, EmissionError> {
        let operand_dims = self.operand_array(id, 0)?.dims.clone();
        let indices_rank = self.operand_array(id, 1)?.rank();
        let (operand, indices) = (self.instruction(id).operands[0], self.instruction(id).operands[1]);
        let is_offset = |d: usize| dims.offset_dims.contains(&(d as i64));
        let batch: Token = (0..site.token.len()).filter(|&d| !is_offset(d)).map(|d| site.token[d]).collect();
        let mut token: Token = operand_dims.iter().map(|_| self.indices.constant(0)).collect();
        for (component, &dim) in dims.start_index_map.iter().enumerate() {
            let mut at = batch.clone();
            if (dims.index_vector_dim as usize) < indices_rank {
                at.insert(dims.index_vector_dim as usize, self.indices.constant(component as i64));
            }
            let limit = operand_dims[dim as usize] - dims.slice_sizes[dim as usize];
            token[dim as usize] = self.runtime(indices, site.scope, at, limit);
        }
        for (&dim, &batching) in dims.operand_batching_dims.iter().zip(&dims.start_indices_batching_dims) {
            // Position among the batch dimensions: the indices' dimensions without the index vector.
            let position = batching - i64::from(batching > dims.index_vector_dim);
            token[dim as usize] = batch[position as usize];
        }
        let in_window = |d: &usize| {
            let d = *d as i64;
            !dims.collapsed_slice_dims.contains(&d) && !dims.operand_batching_dims.contains(&d)
        };
        for (dim, &result_dim) in (0..operand_dims.len()).filter(in_window).zip(&dims.offset_dims) {
            token[dim] = self.indices.add(token[dim], site.token[result_dim as usize]);
        }
        Ok(self.one_read(operand, site.scope, token))
    }
}
