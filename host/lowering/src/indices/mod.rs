//! Index arithmetic as shared, simplified expressions.
//!
//! While a kernel is translated, its `index` values are not computed but remembered as expressions over
//! *leaves*: the block, the thread, loop variables, values read at run time. An expression is written out
//! only where something needs its value (an address, a comparison), and by then divisions of what was
//! multiplied just before, bounds that always hold and the like are gone.
//!
//! Expressions are interned, so equal ones are one [`Ix`] and each is simplified and written once. A sum has a
//! bounded number of terms; what exceeds it is kept as one term. Work and memory are thus linear in the
//! kernel's size, however deep its chains of index arithmetic are.

mod division;
mod sum;

use std::collections::HashMap;
use std::rc::Rc;

use fusebox_core::indexing::{Expr, ExprKind, IndexingMap, Interval};

/// Reads an indexing map.
pub(crate) fn parse_map(text: &str) -> Result<IndexingMap, String> {
    IndexingMap::parse(text).map_err(|error| error.to_string())
}

/// An interned index expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Ix(u32);

/// What an expression is made of. Division and remainder round towards negative infinity and have positive
/// constant divisors.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// A value that is not index arithmetic.
    Leaf(u32),
    Sum(Sum),
    FloorDiv(Ix, i64),
    Mod(Ix, i64),
    Min(Ix, Ix),
    Max(Ix, Ix),
    Product(Ix, Ix),
    /// A sum that had too many terms to take apart again.
    Whole(Ix),
}

/// `constant + Σ coefficient * term`; terms are no sums, ordered, distinct, and coefficients not zero.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) terms: Vec<(Ix, i64)>,
    pub(crate) constant: i64,
}

struct Node {
    kind: Rc<Kind>,
    range: Interval,
    /// Nesting depth of the innermost leaf.
    depth: u32,
    /// Largest number that divides every value; 0 if it is always 0.
    divisibility: u64,
}

/// All expressions of one function.
#[derive(Default)]
pub(crate) struct Indices {
    nodes: Vec<Node>,
    interned: HashMap<Rc<Kind>, Ix>,
    leaves: u32,
}

impl Indices {
    /// A new leaf with values in `range`, defined at this nesting depth.
    pub(crate) fn leaf(&mut self, range: Interval, depth: u32) -> Ix {
        self.leaves += 1;
        let kind = Kind::Leaf(self.leaves - 1);
        if let Some(value) = range.as_point() {
            return self.constant(value);
        }
        self.push(kind, range, depth)
    }

    pub(crate) fn constant(&mut self, value: i64) -> Ix {
        self.intern(Kind::Sum(Sum { terms: Vec::new(), constant: value }), Interval::point(value))
    }

    pub(crate) fn kind(&self, ix: Ix) -> Rc<Kind> {
        Rc::clone(&self.nodes[ix.0 as usize].kind)
    }

    pub(crate) fn range(&self, ix: Ix) -> Interval {
        self.nodes[ix.0 as usize].range
    }

    pub(crate) fn depth(&self, ix: Ix) -> u32 {
        self.nodes[ix.0 as usize].depth
    }

    pub(crate) fn as_constant(&self, ix: Ix) -> Option<i64> {
        match &*self.nodes[ix.0 as usize].kind {
            Kind::Sum(sum) if sum.terms.is_empty() => Some(sum.constant),
            _ => None,
        }
    }

    pub(crate) fn min(&mut self, a: Ix, b: Ix) -> Ix {
        let (left, right) = (self.range(a), self.range(b));
        if a == b || left.upper <= right.lower {
            return a;
        }
        if right.upper <= left.lower {
            return b;
        }
        self.intern(Kind::Min(a.min(b), a.max(b)), left.min(right))
    }

    pub(crate) fn max(&mut self, a: Ix, b: Ix) -> Ix {
        let (left, right) = (self.range(a), self.range(b));
        if a == b || left.lower >= right.upper {
            return a;
        }
        if right.lower >= left.upper {
            return b;
        }
        self.intern(Kind::Max(a.min(b), a.max(b)), left.max(right))
    }

    pub(crate) fn product(&mut self, a: Ix, b: Ix) -> Ix {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(factor), _) => self.scaled(b, factor),
            (_, Some(factor)) => self.scaled(a, factor),
            _ => {
                let range = self.range(a) * self.range(b);
                self.intern(Kind::Product(a.min(b), a.max(b)), range)
            }
        }
    }

    /// An expression of a map, with these expressions for its variables.
    pub(crate) fn substitute(&mut self, expr: &Expr, dims: &[Ix], ranges: &[Ix], runtime: &[Ix]) -> Result<Ix, String> {
        let unknown = || "a map refers to a variable it does not have".to_string();
        let both = |this: &mut Self, a: &Expr, b: &Expr| {
            Ok::<_, String>((this.substitute(a, dims, ranges, runtime)?, this.substitute(b, dims, ranges, runtime)?))
        };
        Ok(match expr.kind() {
            ExprKind::Constant(value) => self.constant(*value),
            ExprKind::Dim(index) => *dims.get(*index as usize).ok_or_else(unknown)?,
            ExprKind::Range(index) => *ranges.get(*index as usize).ok_or_else(unknown)?,
            ExprKind::Runtime(index) => *runtime.get(*index as usize).ok_or_else(unknown)?,
            ExprKind::Add(a, b) => both(self, a, b).map(|(a, b)| self.add(a, b))?,
            ExprKind::Mul(a, b) => both(self, a, b).map(|(a, b)| self.product(a, b))?,
            ExprKind::Min(a, b) => both(self, a, b).map(|(a, b)| self.min(a, b))?,
            ExprKind::Max(a, b) => both(self, a, b).map(|(a, b)| self.max(a, b))?,
            ExprKind::FloorDiv(a, b) => {
                let (a, b) = both(self, a, b)?;
                self.divisor(b).map(|divisor| self.floor_div(a, divisor))?
            }
            ExprKind::Mod(a, b) => {
                let (a, b) = both(self, a, b)?;
                self.divisor(b).map(|divisor| self.modulo(a, divisor))?
            }
        })
    }

    fn divisor(&self, ix: Ix) -> Result<i64, String> {
        self.as_constant(ix)
            .filter(|&value| value > 0)
            .ok_or_else(|| "a map divides by other than a positive constant".into())
    }

    /// Largest number that divides every value of the expression; 0 if it is always 0.
    pub(crate) fn divisibility(&self, ix: Ix) -> u64 {
        self.nodes[ix.0 as usize].divisibility
    }

    /// The same of an expression that is not interned yet. Its parts are, and know theirs: chains that use each part twice
    /// would take time exponential in their length.
    fn divisibility_of(&self, kind: &Kind) -> u64 {
        match kind {
            Kind::Sum(sum) => sum.terms.iter().fold(sum.constant.unsigned_abs(), |divisor, &(term, coefficient)| {
                let of_term = self.divisibility(term);
                gcd(divisor, coefficient.unsigned_abs().saturating_mul(of_term.max(1)))
            }),
            Kind::Product(a, b) => self.divisibility(*a).max(1).saturating_mul(self.divisibility(*b).max(1)),
            Kind::Whole(inner) => self.divisibility(*inner),
            Kind::Mod(inner, divisor) => gcd(self.divisibility(*inner), divisor.unsigned_abs()),
            _ => 1,
        }
    }

    fn push(&mut self, kind: Kind, range: Interval, depth: u32) -> Ix {
        let ix = Ix(self.nodes.len() as u32);
        let divisibility = self.divisibility_of(&kind);
        let kind = Rc::new(kind);
        self.interned.insert(Rc::clone(&kind), ix);
        self.nodes.push(Node { kind, range, depth, divisibility });
        ix
    }

    fn intern(&mut self, kind: Kind, range: Interval) -> Ix {
        if let Some(&known) = self.interned.get(&kind) {
            return known;
        }
        let depth = match &kind {
            Kind::Leaf(_) => 0,
            Kind::Sum(sum) => sum.terms.iter().map(|&(term, _)| self.depth(term)).max().unwrap_or(0),
            Kind::FloorDiv(inner, _) | Kind::Mod(inner, _) | Kind::Whole(inner) => self.depth(*inner),
            Kind::Min(a, b) | Kind::Max(a, b) | Kind::Product(a, b) => self.depth(*a).max(self.depth(*b)),
        };
        self.push(kind, range, depth)
    }
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
