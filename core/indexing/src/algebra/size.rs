//! Counts the operations of expressions.

use std::collections::HashSet;
use std::hash::BuildHasher;

use rustc_hash::FxHashSet;

use super::{Algebra, Ix, Kind};

impl Algebra {
    /// Whether the expression needs more operations than `limit`. Counts equal subexpressions once.
    pub fn takes_more_than(&self, limit: u32, ix: Ix) -> bool {
        let (mut seen, mut open, mut total) = (FxHashSet::default(), vec![ix], 0);
        while let Some(ix) = open.pop() {
            if seen.insert(ix) {
                total += self.own_operations(ix);
                open.extend(self.node(ix).kind.parts());
            }
            if total > limit {
                return true;
            }
        }
        false
    }

    /// Returns the number of operations that the expressions `ixs` need if all expressions in
    /// `known` are already computed. Adds `ixs` and all their parts to `known`. So all calls
    /// together take time linear in the number of expressions.
    pub fn operations_beyond<S: BuildHasher>(&self, known: &mut HashSet<Ix, S>, ixs: &[Ix]) -> u32 {
        let (mut open, mut total) = (ixs.to_vec(), 0);
        while let Some(ix) = open.pop() {
            if known.insert(ix) {
                total += self.own_operations(ix);
                open.extend(self.node(ix).kind.parts());
            }
        }
        total
    }

    /// Returns a new leaf for the value of an expression. The leaf has all known properties of the
    /// expression.
    pub fn leaf_for(&mut self, ix: Ix) -> Ix {
        let (range, depth, divisibility) = (self.range(ix), self.depth(ix), self.divisibility(ix));
        let leaf = self.leaf(range, depth);
        if let Kind::Leaf(_) = *self.node(leaf).kind {
            self.nodes[leaf.0 as usize].divisibility = divisibility;
        }
        leaf
    }

    /// Number of operations that an expression needs once its parts are computed.
    fn own_operations(&self, ix: Ix) -> u32 {
        match &*self.node(ix).kind {
            Kind::Leaf(_) | Kind::Whole(_) => 0,
            Kind::Sum(sum) => {
                let factors = sum.terms.iter().filter(|(_, factor)| factor.unsigned_abs() != 1).count();
                let operands = sum.terms.len() + usize::from(sum.constant != 0);
                (factors + operands.saturating_sub(1)) as u32
            }
            _ => 1,
        }
    }
}
