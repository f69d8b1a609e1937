//! Index values of one partition. Each index value is an expression over function arguments, loop
//! variables and values read at run time. The expressions belong to the algebra of `fusebox_core`.
//!
//! Indices with equal numbers have equal values. For example, if a second reshape undoes the first,
//! the index after the second reshape has the same number as the index before the first reshape.
//! Worked example: with `i < 4` and `j < 8`, `(8·i + j) floordiv 8` is `i`.

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

/// A leaf of the algebra, from which indices are computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// An index argument of a function.
    Argument { function: FunctionId, dim: u32 },
    /// A range variable of a loop scope.
    Range { scope: ScopeId, axis: u32 },
    /// An integer read at run time and clamped to `0..=limit`.
    Runtime(RuntimeIndex),
    /// Another index, computed separately to keep expressions small.
    Value(IndexId),
}

/// A value used as an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeIndex {
    /// The instruction whose value is read.
    pub instruction: InstrId,
    pub at: Token,
    pub scope: ScopeId,
    /// Upper bound of the clamp. The lower bound is 0.
    pub limit: i64,
}

struct IndexLeaf {
    atom: Atom,
    index: IndexId,
    scope: ScopeId,
}

/// Largest number of operations and operands of an expression. In a larger expression, each large
/// operand becomes a separate index ([`Atom::Value`]), which limits the length of a map's text.
const MAX_EXPRESSION: u32 = 48;

/// Number of operations above which an expression may be split into several maps. A larger
/// expression is split if one composed map would need more operations than separate maps.
const LARGE: u32 = 12;

/// The index values of a partition.
#[derive(Default)]
pub struct IndexTable {
    algebra: Algebra,
    /// Leaves, in the order of their numbers in the algebra.
    leaves: Vec<IndexLeaf>,
    known: HashMap<Atom, IndexId>,
    /// Nesting depth of each scope, counted from the function's body.
    depths: HashMap<ScopeId, u32>,
    written: HashMap<IndexId, Expr>,
    /// Large indices whose operations have been counted already.
    computed: HashSet<IndexId>,
}

impl IndexTable {
    /// Registers `scope`. `depth` is the nesting depth of the scope; the function body has depth 0.
    pub fn register_scope(&mut self, scope: ScopeId, depth: u32) {
        self.depths.insert(scope, depth);
    }

    pub fn constant(&mut self, value: i64) -> IndexId {
        self.algebra.constant(value)
    }

    /// Returns the index that consists of an atom. The atom is defined in `scope` and has these
    /// bounds.
    pub fn atom(&mut self, atom: Atom, bounds: Interval, scope: ScopeId) -> IndexId {
        if let Some(&known) = self.known.get(&atom) {
            return known;
        }
        let depth = self.depths.get(&scope).copied().unwrap_or(0);
        let index = self.algebra.leaf(bounds, depth);
        if matches!(*self.algebra.kind(index), Kind::Leaf(_)) {
            self.leaves.push(IndexLeaf { atom: atom.clone(), index, scope });
        }
        self.known.insert(atom, index);
        index
    }

    /// Evaluates an expression of a map. `dims`, `ranges` and `runtime` are the values of the map's
    /// variables.
    ///
    /// # Errors
    /// If the expression divides by anything but a positive constant.
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

    /// Returns the innermost scope that the computation of `a` needs. Returns `None` for constants,
    /// which are written wherever an instruction reads them.
    pub fn scope(&self, a: IndexId) -> Option<ScopeId> {
        let leaves = self.algebra.leaves(a).into_iter().map(|number| &self.leaves[number as usize]);
        leaves.max_by_key(|leaf| self.algebra.depth(leaf.index)).map(|leaf| leaf.scope)
    }

    pub fn as_constant(&self, a: IndexId) -> Option<i64> {
        self.algebra.as_constant(a)
    }

    /// Returns the atom if the index consists of a single atom.
    pub fn as_atom(&self, a: IndexId) -> Option<&Atom> {
        match *self.algebra.kind(a) {
            Kind::Leaf(number) => Some(&self.leaves[number as usize].atom),
            _ => None,
        }
    }

    /// Returns the indices that are operands of the map of `a`: arguments, range variables, runtime
    /// values and separately computed indices. Each occurs once.
    pub fn leaves(&self, a: IndexId) -> Vec<IndexId> {
        self.algebra.leaves(a).into_iter().map(|number| self.operand(number)).collect()
    }

    /// Returns the map that computes `a` from its [`leaves`](Self::leaves), and the map's operands
    /// in order: dimensions first, then the runtime variables.
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

    /// Returns the index that a map takes as its operand for the leaf with this number.
    fn operand(&self, number: u32) -> IndexId {
        match &self.leaves[number as usize] {
            IndexLeaf { atom: Atom::Value(index), .. } => *index,
            leaf => leaf.index,
        }
    }

    /// Returns the number of operations and operands of the expression.
    fn size(&mut self, a: IndexId) -> u32 {
        self.algebra.write(a, &mut self.written, &Expr::dim).size()
    }

    /// If the expression of `a` is large enough, returns a separate leaf with the same value.
    /// Otherwise returns `a`.
    fn cut(&mut self, a: IndexId) -> IndexId {
        match self.scope(a) {
            Some(scope) if self.size(a) > 2 => self.atom(Atom::Value(a), self.bounds(a), scope),
            _ => a,
        }
    }
}
