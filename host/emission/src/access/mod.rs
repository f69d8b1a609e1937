//! Which operands an instruction reads, at which indices, in which loops and behind which conditions.

mod contract;
mod dynamic;
mod shape;
mod window;

use fusebox_core::hlo::{ArrayShape, ElementType, InstrId, Op};
use fusebox_core::indexing::Interval;

use crate::EmissionError;
use crate::index::{IndexId, Token};
use crate::partition::{Partition, Read, ScopeId, ScopeKind, Site, leaf_dims};

/// How an instruction at its site reads its operands. What the entries mean is the operation's own
/// affair; `elemental` writes the code that goes with it.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Operands, mostly in order.
    pub reads: Vec<Read>,
    /// Loops, outermost first.
    pub loops: Vec<ScopeId>,
    /// Conditional parts.
    pub branches: Vec<Branch>,
    /// Further indices the code needs as values.
    pub indices: Vec<IndexId>,
}

/// A part of an instruction that is computed only under conditions.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The scope of the part; the scope around it if there are no conditions.
    pub scope: ScopeId,
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// False if the conditions never hold; then nothing is read in the branch.
    pub reachable: bool,
}

/// That an index lies within bounds.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The index.
    pub index: IndexId,
    /// Both ends included.
    pub bounds: Interval,
}

impl Partition<'_> {
    /// Notes what an instruction at its site reads.
    pub fn recipe(&mut self, id: InstrId, site: &Site) -> Result<Recipe, EmissionError> {
        match &self.instruction(id).op {
            Op::OptBarrier => self.elementwise(id, site),
            op if op.is_elementwise() => self.elementwise(id, site),
            Op::BitcastConvert => self.bitcast_convert(id, site),
            Op::GetTupleElement { index } => self.tuple_element(id, *index, site),
            Op::Broadcast { dimensions } => self.broadcast(id, dimensions, site),
            Op::Reshape => self.reshape(id, site),
            Op::Bitcast => self.bitcast(id, site),
            Op::Transpose { permutation } => self.transpose(id, permutation, site),
            Op::Reverse { dimensions } => self.reverse(id, dimensions, site),
            Op::Slice { dims } => self.slice(id, dims, site),
            Op::Concatenate { dimension } => self.concatenate(id, *dimension, site),
            Op::Pad { dims } => self.pad(id, dims, site),
            Op::DynamicSlice { .. } => self.dynamic_slice(id, site),
            Op::DynamicUpdateSlice => self.dynamic_update_slice(id, site),
            Op::Gather(dims) => self.gather(id, dims, site),
            Op::Reduce { dimensions, to_apply } => self.reduce(id, dimensions, *to_apply, site),
            Op::ReduceWindow { window, to_apply } => self.reduce_window(id, window, *to_apply, site),
            Op::SelectAndScatter { window, .. } => self.select_and_scatter(id, window, site),
            Op::Dot(dims) => self.dot(id, dims, site),
            Op::Convolution(attrs) => self.convolution(id, attrs, site),
            Op::GetDimensionSize { .. } => Ok(Recipe::default()),
            Op::Tuple => Err(self.error(id, "a tuple inside a fusion is only to be taken apart by get-tuple-element")),
            Op::Call { .. } | Op::Fusion { .. } => {
                Err(self.error(id, "a call inside a fusion must be inlined before its code is written"))
            }
            _ => Err(self.error(id, "has no elementwise form; keep it out of fusions")),
        }
    }

    fn elementwise(&mut self, id: InstrId, site: &Site) -> Result<Recipe, EmissionError> {
        let rank = leaf_dims(&self.instruction(id).shape).map_or(0, <[i64]>::len);
        let operands = self.instruction(id).operands.clone();
        let mut reads = Vec::with_capacity(operands.len());
        for operand in operands {
            let dims = leaf_dims(&self.instruction(operand).shape)
                .ok_or_else(|| self.error(id, "an operand is a tuple of arrays of different dimensions"))?;
            let token = match dims.len() {
                n if n == rank => site.token.clone(),
                0 => Token::new(),
                n => return Err(self.error(id, format!("an operand has {n} dimensions, the result {rank}"))),
            };
            reads.push(self.read(operand, site.scope, token));
        }
        Ok(Recipe { reads, ..Recipe::default() })
    }

    /// An element of a tuple: of the tuple's operand if it is a plain `tuple`, else of all results of a
    /// variadic operation, of which code takes one.
    fn tuple_element(&mut self, id: InstrId, index: i64, site: &Site) -> Result<Recipe, EmissionError> {
        let mut operand = self.instruction(id).operands[0];
        while matches!(self.instruction(operand).op, Op::OptBarrier | Op::Copy) {
            operand = self.instruction(operand).operands[0];
        }
        if matches!(self.instruction(operand).op, Op::Tuple) {
            let element = self.instruction(operand).operands.get(index as usize).copied();
            operand = element.ok_or_else(|| self.error(id, "the tuple has no such element"))?;
        } else if matches!(self.instruction(operand).op, Op::GetTupleElement { .. } | Op::Parameter { .. }) {
            return Err(self.error(id, "nested tuples and tuple parameters are not supported inside a fusion"));
        }
        Ok(self.one_read(operand, site.scope, site.token.clone()))
    }

    /// Equal widths: elementwise. A narrower result has one more dimension, which counts the parts of an
    /// element from its low bits; a wider one has one less.
    fn bitcast_convert(&mut self, id: InstrId, site: &Site) -> Result<Recipe, EmissionError> {
        let (to, from) = (self.array(id)?.clone(), self.operand_array(id, 0)?.clone());
        let (to_bits, from_bits) = (bitcast_bits(to.element_type), bitcast_bits(from.element_type));
        let operand = self.instruction(id).operands[0];
        if to_bits == from_bits {
            return self.elementwise(id, site);
        }
        if to_bits < from_bits {
            let mut token = site.token.clone();
            let part = token.pop().ok_or_else(|| self.error(id, "the result lacks the dimension of parts"))?;
            let mut recipe = self.one_read(operand, site.scope, token);
            recipe.indices.push(part);
            return Ok(recipe);
        }
        let mut recipe = Recipe::default();
        for part in 0..i64::from(to_bits / from_bits) {
            let mut token = site.token.clone();
            token.push(self.indices.constant(part));
            recipe.reads.push(self.read(operand, site.scope, token));
        }
        Ok(recipe)
    }

    fn one_read(&mut self, operand: InstrId, scope: ScopeId, token: Token) -> Recipe {
        Recipe { reads: vec![self.read(operand, scope, token)], ..Recipe::default() }
    }

    /// A part of `parent` that is computed only under conditions. What the bounds decide is dropped.
    fn branch(&mut self, parent: ScopeId, conditions: Vec<Condition>) -> Branch {
        let mut open = Vec::new();
        let mut reachable = true;
        for condition in conditions {
            let (possible, allowed) = (self.indices.bounds(condition.index), condition.bounds);
            reachable &= possible.upper >= allowed.lower && possible.lower <= allowed.upper;
            if possible.lower < allowed.lower || possible.upper > allowed.upper {
                open.push(condition);
            }
        }
        let scope = if open.is_empty() || !reachable { parent } else { self.add_scope(parent, ScopeKind::Branch) };
        Branch { scope, conditions: open, reachable }
    }

    fn error(&self, id: InstrId, message: impl Into<String>) -> EmissionError {
        EmissionError::at(self.module, self.instruction(id), message)
    }

    /// The shape of an instruction that is one array.
    pub fn array(&self, id: InstrId) -> Result<&ArrayShape, EmissionError> {
        self.instruction(id).shape.as_array().ok_or_else(|| self.error(id, "is not an array"))
    }

    /// The shape of an operand that is one array.
    pub fn operand_array(&self, id: InstrId, k: usize) -> Result<&ArrayShape, EmissionError> {
        match self.instruction(id).operands.get(k) {
            Some(&operand) => self.array(operand),
            None => Err(self.error(id, format!("operand {k} is missing"))),
        }
    }
}

/// Width for `bitcast-convert`, where `pred` counts as a byte.
pub fn bitcast_bits(ty: ElementType) -> u32 {
    if ty == ElementType::Pred { 8 } else { ty.bits() }
}
