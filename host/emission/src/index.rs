//! Index values of one partition: expressions of core's algebra over what functions and loops provide.
//!
//! Equal numbers are equal values: a reshape undone by another one gives back the index it started from. Worked example:
//! with `i < 4` and `j < 8`, `(8·i + j) floordiv 8` is `i`.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::{Algebra, Expr, IndexingMap, Interval, Kind, Variable};

use crate::scope::{FunctionId, ScopeId};

#[cfg(test)]
mod tests;

/// Number of an index value.
pub use fusebox_core::indexing::Ix as IndexId;

/// An index list: one value per dimension.
pub type Token = Vec<IndexId>;

/// What an index is computed from: a leaf of the algebra.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// An index argument of a function.
    Argument { function: FunctionId, dim: u32 },
    /// A range variable of the loop that makes a scope.
    Range { scope: ScopeId, axis: u32 },
    /// An integer read at run time and clamped to `0..=limit`.
    Runtime(Runtime),
    /// Another index, computed apart: keeps expressions small.
    Value(IndexId),
}

/// A value used as an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Runtime {
    /// The instruction whose value is read.
    pub instruction: InstrId,
    pub at: Token,
    pub scope: ScopeId,
    /// Upper bound of the clamp; the lower one is 0.
    pub limit: i64,
}

struct Leaf {
    atom: Atom,
    index: IndexId,
    scope: ScopeId,
}

/// Expressions of more operations than this are cut with [`Atom::Value`], which bounds the text of a map.
const MAX_EXPRESSION: u32 = 48;

/// Expressions of more operations than this are cut where maps put together take more operations
/// than apart.
const LARGE: u32 = 12;

/// The index values of a partition.
#[derive(Default)]
pub struct Indices {
    algebra: Algebra,
    /// By the algebra's number.
    leaves: Vec<Leaf>,
    known: HashMap<Atom, IndexId>,
    /// Per scope, its distance from the function's body.
    depths: HashMap<ScopeId, u32>,
    written: HashMap<IndexId, Expr>,
    /// The operations of large indices.
    computed: HashSet<IndexId>,
}

impl Indices {
    /// Makes `scope` known. Depth counts from the function body, which has 0.
    pub fn register_scope(&mut self, scope: ScopeId, depth: u32) {
        self.depths.insert(scope, depth);
    }

    pub fn constant(&mut self, value: i64) -> IndexId {
        self.algebra.constant(value)
    }

    /// An atom with its bounds and the scope in which it is defined.
    pub fn atom(&mut self, atom: Atom, bounds: Interval, scope: ScopeId) -> IndexId {
        if let Some(&known) = self.known.get(&atom) {
            return known;
        }
        let depth = self.depths.get(&scope).copied().unwrap_or(0);
        let index = self.algebra.leaf(bounds, depth);
        if matches!(*self.algebra.kind(index), Kind::Leaf(_)) {
            self.leaves.push(Leaf { atom: atom.clone(), index, scope });
        }
        self.known.insert(atom, index);
        index
    }

    /// An expression of a map, with these for its variables.
    ///
    /// # Errors
    /// If it divides by other than a positive constant.
    pub fn substitute(
        &mut self,
        expr: &Expr,
        dims: &[IndexId],
        ranges: &[IndexId],
        runtime: &[IndexId],
    ) -> Result<IndexId, String> {
        let index = self.algebra.substitute(expr, dims, ranges, runtime)?;
        if !self.algebra.takes_more_than(LARGE, index) {
            return Ok(index);
        }
        let dims: Vec<IndexId> = dims.iter().map(|&index| self.cut(index)).collect();
        let direct = self.algebra.substitute(expr, &dims, ranges, runtime)?;
        let composed = self.algebra.operations_beyond(&mut self.computed, &[index]);
        let better = composed > self.algebra.operations_beyond(&mut self.computed, &[direct]);
        Ok(if better || self.size(index) > MAX_EXPRESSION { direct } else { index })
    }

    pub fn bounds(&self, a: IndexId) -> Interval {
        self.algebra.range(a)
    }

    /// The innermost scope that its computation needs.
    /// None for constants, which are written wherever they are needed.
    pub fn scope(&self, a: IndexId) -> Option<ScopeId> {
        let leaves = self.algebra.leaves(a).into_iter().map(|number| &self.leaves[number as usize]);
        leaves.max_by_key(|leaf| self.algebra.depth(leaf.index)).map(|leaf| leaf.scope)
    }

    pub fn as_constant(&self, a: IndexId) -> Option<i64> {
        self.algebra.as_constant(a)
    }

    /// The atom, if it is a plain one.
    pub fn as_atom(&self, a: IndexId) -> Option<&Atom> {
        match *self.algebra.kind(a) {
            Kind::Leaf(number) => Some(&self.leaves[number as usize].atom),
            _ => None,
        }
    }

    /// The indices whose SSA values the map of `a` takes as operands: arguments, range variables,
    /// runtime values and indices computed apart; each once.
    pub fn leaves(&self, a: IndexId) -> Vec<IndexId> {
        self.algebra.leaves(a).into_iter().map(|number| self.operand(number)).collect()
    }

    /// The map that computes `a` from its [`leaves`](Self::leaves): dimensions first, then the
    /// runtime variables; the order of operands is returned with it.
    pub fn map(&mut self, a: IndexId) -> (IndexingMap, Vec<IndexId>) {
        let is_runtime = |number: &u32| matches!(self.leaves[*number as usize].atom, Atom::Runtime(_));
        let (runtime, dims): (Vec<u32>, Vec<u32>) = self.algebra.leaves(a).into_iter().partition(is_runtime);
        let place = |list: &[u32], number: u32| list.iter().position(|&other| other == number).map(|at| at as u32);
        let expr = self.algebra.write(a, &mut HashMap::new(), &|number| match place(&dims, number) {
            Some(at) => Expr::dim(at),
            None => Expr::runtime(place(&runtime, number).unwrap_or_default()),
        });
        let variable = |&number: &u32| Variable::from(self.algebra.range(self.leaves[number as usize].index));
        let map = IndexingMap {
            dims: dims.iter().map(variable).collect(),
            runtime: runtime.iter().map(variable).collect(),
            results: vec![expr],
            ..IndexingMap::default()
        };
        (map, dims.into_iter().chain(runtime).map(|number| self.operand(number)).collect())
    }

    /// The index whose value stands for a leaf.
    fn operand(&self, number: u32) -> IndexId {
        match &self.leaves[number as usize] {
            Leaf { atom: Atom::Value(index), .. } => *index,
            leaf => leaf.index,
        }
    }

    /// Number of operations and operands of the expression.
    fn size(&mut self, a: IndexId) -> u32 {
        self.algebra.write(a, &mut self.written, &Expr::dim).size()
    }

    /// The same value as a leaf of its own.
    fn cut(&mut self, a: IndexId) -> IndexId {
        match self.scope(a) {
            Some(scope) if self.size(a) > 2 => self.atom(Atom::Value(a), self.bounds(a), scope),
            _ => a,
        }
    }
}
