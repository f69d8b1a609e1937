//! Index arithmetic with shared, simplified expressions.
//!
//! All code that computes indices uses this algebra. Canonicalisation of maps uses the algebra to
//! simplify expressions. Subgraph functions and lowered kernels represent their indices as
//! expressions of the algebra until the values are needed.
//!
//! An expression denotes integers computed from *leaves*: dimensions, threads, loop variables,
//! values read at run time. Expressions are interned: equal expressions are one [`Ix`], and each is
//! simplified once. The algebra knows three properties of each expression: the range of its values,
//! a number that divides all values, and the depth of the innermost scope that defines a leaf. A
//! sum has a bounded number of terms; a larger sum becomes one term of another sum. So the
//! algebra's time and memory are linear in the number of operations, for chains of operations of
//! any depth.
//!
//! The algebra assumes that values do not overflow. Code that computes an index guarantees that the
//! index does not overflow. But the coefficients and constants *inside* an expression may have any
//! size. If a coefficient, a constant or another number would overflow during a simplification, the
//! algebra skips the simplification and keeps the operands as separate terms.

mod division;
mod extremum;
mod facts;
mod recombine;
mod size;
mod sum;
mod translate;

use std::cmp::Ordering;
use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Interval;

pub(super) use division::split_multiples;
pub use sum::Sum;
pub(super) use translate::Unread;

/// An expression of an [`Algebra`]. Equal handles denote equal expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ix(u32);

/// The form of an expression. Quotients and remainders round towards negative infinity and have
/// positive constant divisors.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A value that is not the result of index arithmetic. Leaves are numbered from 0.
    Leaf(u32),
    /// A sum of multiples. A constant is a sum without terms.
    Sum(Sum),
    /// A quotient.
    FloorDiv(Ix, i64),
    /// A remainder.
    Mod(Ix, i64),
    /// The smaller of two expressions.
    Min(Ix, Ix),
    /// The larger of two expressions.
    Max(Ix, Ix),
    /// A product of two non-constant expressions.
    Product(Ix, Ix),
    /// A sum that is used as a single term, because it has too many terms or because its numbers
    /// would overflow.
    Whole(Ix),
}

struct Node {
    kind: Rc<Kind>,
    range: Interval,
    /// Nesting depth of the innermost scope in which a leaf of the expression is defined.
    depth: u32,
    /// Number of operations on the longest path to a leaf.
    height: u32,
    /// Largest number known to divide every value; 0 if all values are 0.
    divisibility: u64,
}

/// A set of expressions over the same leaves.
pub struct Algebra {
    nodes: Vec<Node>,
    interned: FxHashMap<Rc<Kind>, Ix>,
    leaves: u32,
    /// Sums that are known to be within intervals.
    facts: Vec<(Sum, Interval)>,
    quotients: FxHashMap<(Ix, i64), Ix>,
    remainders: FxHashMap<(Ix, i64), Ix>,
    /// `steps` is the number of rules applied within the current outermost operation. `nested` is
    /// the nesting depth of operations.
    steps: u32,
    nested: u32,
}

/// Number of expressions for which a new algebra has room. Many algebras simplify a single map, and
/// enlarging the tables step by step takes longer than adding the expressions.
const FIRST_ROOM: usize = 64;
/// Largest number of rules applied per operation. Realistic index expressions need tens of rules.
const MAX_STEPS: u32 = 2_000;
/// Largest height at which `compare` still orders an expression by its parts. `compare` orders
/// higher expressions by height and then by creation, because comparing their parts each time would
/// take too long.
const COMPARED_HEIGHT: u32 = 32;

impl Default for Algebra {
    fn default() -> Self {
        Algebra {
            nodes: Vec::with_capacity(FIRST_ROOM),
            interned: FxHashMap::with_capacity_and_hasher(FIRST_ROOM, FxBuildHasher),
            leaves: 0,
            facts: Vec::new(),
            quotients: FxHashMap::default(),
            remainders: FxHashMap::default(),
            steps: 0,
            nested: 0,
        }
    }
}

impl Algebra {
    /// Returns a new leaf with values in `range`, defined at nesting depth `depth`. Returns a
    /// constant if `range` contains only one value.
    pub fn leaf(&mut self, range: Interval, depth: u32) -> Ix {
        if let Some(value) = range.as_point() {
            return self.constant(value);
        }
        self.leaves += 1;
        self.push(Kind::Leaf(self.leaves - 1), range, depth)
    }

    /// Returns the constant `value`.
    pub fn constant(&mut self, value: i64) -> Ix {
        let kind = Kind::Sum(Sum { terms: Vec::new(), constant: value });
        match self.interned.get(&kind) {
            Some(&known) => known,
            None => self.push(kind, Interval::point(value), 0),
        }
    }

    /// The form of an expression.
    pub fn kind(&self, ix: Ix) -> Rc<Kind> {
        Rc::clone(&self.node(ix).kind)
    }

    /// Returns an interval that contains all values of an expression.
    pub fn range(&self, ix: Ix) -> Interval {
        self.node(ix).range
    }

    /// Nesting depth of the innermost scope that defines a leaf of an expression; 0 if there are no
    /// leaves.
    pub fn depth(&self, ix: Ix) -> u32 {
        self.node(ix).depth
    }

    /// Largest number known to divide every value of the expression; 0 if all values are 0.
    pub fn divisibility(&self, ix: Ix) -> u64 {
        self.node(ix).divisibility
    }

    /// Returns the value of an expression that is a constant.
    pub fn as_constant(&self, ix: Ix) -> Option<i64> {
        match &*self.node(ix).kind {
            Kind::Sum(sum) if sum.terms.is_empty() => Some(sum.constant),
            _ => None,
        }
    }

    /// Returns `a · b`. Extracts constant factors, and does not expand products of sums.
    pub fn product(&mut self, a: Ix, b: Ix) -> Ix {
        let ((a, first), (b, second)) = (self.split_factor(a), self.split_factor(b));
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(_), _) => self.multiple(b, first, second),
            (_, Some(_)) => self.multiple(a, first, second),
            _ => {
                let (low, high) = if self.compare(a, b).is_le() { (a, b) } else { (b, a) };
                let product = self.intern(Kind::Product(low, high));
                self.multiple(product, first, second)
            }
        }
    }

    fn multiple(&mut self, ix: Ix, first: i64, second: i64) -> Ix {
        match first.checked_mul(second) {
            Some(factor) => self.scaled(ix, factor),
            None => {
                let inner = self.scaled(ix, first);
                self.scaled(inner, second)
            }
        }
    }

    /// Returns `x` and `k` for `k · x`. For a constant, returns 1 and the constant.
    fn split_factor(&mut self, ix: Ix) -> (Ix, i64) {
        match *self.kind(ix) {
            Kind::Sum(ref sum) if sum.terms.is_empty() => (self.constant(1), sum.constant),
            Kind::Sum(ref sum) if sum.constant == 0 && sum.terms.len() == 1 => sum.terms[0],
            _ => (ix, 1),
        }
    }

    fn node(&self, ix: Ix) -> &Node {
        &self.nodes[ix.0 as usize]
    }

    fn push(&mut self, kind: Kind, range: Interval, depth: u32) -> Ix {
        let ix = Ix(self.nodes.len() as u32);
        let divisibility = self.divisibility_of(&kind);
        let height = kind.parts().map(|part| self.node(part).height + 1).max().unwrap_or(0);
        let kind = Rc::new(kind);
        self.interned.insert(Rc::clone(&kind), ix);
        self.nodes.push(Node { kind, range, depth, height, divisibility });
        ix
    }

    /// Returns the expression of this kind, or a constant if the expression can have only one
    /// value.
    fn intern(&mut self, kind: Kind) -> Ix {
        let ix = self.intern_unfolded(kind);
        match self.range(ix).as_point() {
            Some(value) => self.constant(value),
            None => ix,
        }
    }

    fn intern_unfolded(&mut self, kind: Kind) -> Ix {
        if let Some(&known) = self.interned.get(&kind) {
            return known;
        }
        let depth = kind.parts().map(|part| self.depth(part)).max().unwrap_or(0);
        let range = self.range_of(&kind);
        let ix = self.push(kind, range, depth);
        self.narrow(ix);
        ix
    }

    /// Returns the range of an expression that follows from the ranges of its parts. For a leaf,
    /// which has no parts, this range contains all numbers.
    fn range_of(&self, kind: &Kind) -> Interval {
        match kind {
            Kind::Leaf(_) => Interval::ALL,
            Kind::Sum(sum) => self.range_of_sum(sum),
            Kind::FloorDiv(inner, divisor) => self.range(*inner).floor_div(Interval::point(*divisor)),
            Kind::Mod(inner, divisor) => self.range(*inner).modulo(Interval::point(*divisor)),
            Kind::Min(a, b) => self.range(*a).min(self.range(*b)),
            Kind::Max(a, b) => self.range(*a).max(self.range(*b)),
            Kind::Product(a, b) => self.range(*a) * self.range(*b),
            Kind::Whole(inner) => self.range(*inner),
        }
    }

    /// Returns a number that divides every value of an expression. Uses the divisors that are
    /// stored for the expression's parts. Without stored divisors, a chain in which each expression
    /// uses the previous expression twice would take exponential time.
    fn divisibility_of(&self, kind: &Kind) -> u64 {
        // Drops a factor if the product overflows. The result is still correct, because a factor of
        // a divisor is a divisor.
        let product = |a: u64, b: u64| a.checked_mul(b).unwrap_or(a.max(b));
        let common = |a: &Ix, b: &Ix| gcd(self.divisibility(*a), self.divisibility(*b));
        match kind {
            Kind::Leaf(_) => 1,
            Kind::Sum(sum) => sum.terms.iter().fold(sum.constant.unsigned_abs(), |divisor, &(term, coefficient)| {
                gcd(divisor, product(coefficient.unsigned_abs(), self.divisibility(term)))
            }),
            Kind::Product(a, b) => product(self.divisibility(*a), self.divisibility(*b)),
            Kind::Whole(inner) => self.divisibility(*inner),
            Kind::Mod(inner, divisor) => gcd(self.divisibility(*inner), divisor.unsigned_abs()),
            Kind::FloorDiv(inner, divisor) => match self.divisibility(*inner) {
                inner if inner % divisor.unsigned_abs() == 0 => inner / divisor.unsigned_abs(),
                _ => 1,
            },
            Kind::Min(a, b) | Kind::Max(a, b) => common(a, b),
        }
    }

    /// Compares expressions of height up to `COMPARED_HEIGHT` by their form, not by the order of
    /// their creation. So simplifying the same expressions again gives the same result.
    pub fn compare(&self, a: Ix, b: Ix) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let high = [a, b].map(|ix| Some(self.node(ix).height).filter(|&height| height > COMPARED_HEIGHT));
        if high != [None, None] {
            return high[0].cmp(&high[1]).then(a.cmp(&b));
        }
        match (&*self.node(a).kind, &*self.node(b).kind) {
            (Kind::Leaf(x), Kind::Leaf(y)) => x.cmp(y),
            (Kind::Sum(x), Kind::Sum(y)) => {
                let terms = x.terms.iter().zip(&y.terms);
                let different = terms.map(|(p, q)| self.compare(p.0, q.0).then(p.1.cmp(&q.1))).find(|o| o.is_ne());
                different.unwrap_or_else(|| x.terms.len().cmp(&y.terms.len()).then(x.constant.cmp(&y.constant)))
            }
            (Kind::FloorDiv(x, c), Kind::FloorDiv(y, d)) | (Kind::Mod(x, c), Kind::Mod(y, d)) => {
                self.compare(*x, *y).then(c.cmp(d))
            }
            (Kind::Min(x, p), Kind::Min(y, q))
            | (Kind::Max(x, p), Kind::Max(y, q))
            | (Kind::Product(x, p), Kind::Product(y, q)) => self.compare(*x, *y).then_with(|| self.compare(*p, *q)),
            (Kind::Whole(x), Kind::Whole(y)) => self.compare(*x, *y),
            (x, y) => x.rank().cmp(&y.rank()),
        }
    }

    /// Runs an operation that may apply rules and thus start further operations.
    fn limited<R>(&mut self, operation: impl FnOnce(&mut Self) -> R) -> R {
        self.nested += 1;
        let result = operation(self);
        self.nested -= 1;
        if self.nested == 0 {
            self.steps = 0;
        }
        result
    }

    /// Counts an applied rule. Returns false if the count exceeds `MAX_STEPS`.
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.steps <= MAX_STEPS
    }
}

impl Kind {
    /// Returns the parts of an expression, in order.
    fn parts(&self) -> impl DoubleEndedIterator<Item = Ix> {
        let (terms, operands): (&[(Ix, i64)], [Option<Ix>; 2]) = match self {
            Kind::Leaf(_) => (&[], [None, None]),
            Kind::Sum(sum) => (&sum.terms, [None, None]),
            Kind::FloorDiv(inner, _) | Kind::Mod(inner, _) | Kind::Whole(inner) => (&[], [Some(*inner), None]),
            Kind::Min(a, b) | Kind::Max(a, b) | Kind::Product(a, b) => (&[], [Some(*a), Some(*b)]),
        };
        terms.iter().map(|&(term, _)| term).chain(operands.into_iter().flatten())
    }

    fn rank(&self) -> u8 {
        match self {
            Kind::Leaf(_) => 0,
            Kind::Sum(_) => 1,
            Kind::Product(..) => 2,
            Kind::FloorDiv(..) => 3,
            Kind::Mod(..) => 4,
            Kind::Min(..) => 5,
            Kind::Max(..) => 6,
            Kind::Whole(_) => 7,
        }
    }
}

/// Returns the greatest common divisor. The greatest common divisor of 0 and `x` is `x`.
pub(super) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
