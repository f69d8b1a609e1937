//! Integer expressions over the variables of a map.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use super::interval::{floor_div, floor_mod};

/// An integer expression. Cloning is cheap. Expressions with the same structure are equal.
#[derive(Clone)]
pub struct Expr(Arc<Node>);

struct Node {
    kind: ExprKind,
    hash: u64,
    size: u32,
    depth: u32,
}

/// The form of an expression. Quotients are rounded down. The remainder is `a - b·floor(a / b)`,
/// where `floor(a / 0)` is 0. Simplification rewrites a division by a negative constant as a
/// division by a positive constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExprKind {
    /// A number.
    Constant(i64),
    /// `d<i>`.
    Dim(u32),
    /// `s<i>`, a range variable.
    Range(u32),
    /// `rt<i>`, a runtime variable.
    Runtime(u32),
    /// Sum.
    Add(Expr, Expr),
    /// Product.
    Mul(Expr, Expr),
    /// `floor(a / b)`.
    FloorDiv(Expr, Expr),
    /// Remainder, never negative for positive `b`.
    Mod(Expr, Expr),
    /// The smaller of two expressions.
    Min(Expr, Expr),
    /// The larger of two expressions.
    Max(Expr, Expr),
}

/// A hash map that has expressions as keys. The hash map uses the hash that each expression stores.
pub(super) type ExprMap<V> = HashMap<Expr, V, BuildHasherDefault<StoredHash>>;

/// Largest expression size for which a comparison as trees is faster than a comparison that records
/// the compared pairs.
const COMPARED_AS_TREE: u32 = 256;

impl Expr {
    /// Creates an expression of this kind, without folding.
    pub fn new(kind: ExprKind) -> Self {
        let (size, depth) = match kind.operands() {
            None => (1, 1),
            Some((a, b)) => (1u32.saturating_add(a.size()).saturating_add(b.size()), 1 + a.depth().max(b.depth())),
        };
        Expr(Arc::new(Node { hash: kind.structural_hash(), kind, size, depth }))
    }

    /// A number.
    pub fn constant(value: i64) -> Self {
        Expr::new(ExprKind::Constant(value))
    }

    /// Dimension `d<index>`.
    pub fn dim(index: u32) -> Self {
        Expr::new(ExprKind::Dim(index))
    }

    /// Range variable `s<index>`.
    pub fn range(index: u32) -> Self {
        Expr::new(ExprKind::Range(index))
    }

    /// Runtime variable `rt<index>`.
    pub fn runtime(index: u32) -> Self {
        Expr::new(ExprKind::Runtime(index))
    }

    /// The form of the expression.
    pub fn kind(&self) -> &ExprKind {
        &self.0.kind
    }

    /// Number of nodes, at most `u32::MAX`. Counts a shared node each time that it occurs.
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// Number of nodes on the longest path to a leaf.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Returns the value of an expression that is a constant.
    pub fn as_constant(&self) -> Option<i64> {
        match self.kind() {
            ExprKind::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// If the expression is a quotient by a positive constant, returns the dividend and the
    /// divisor.
    pub(super) fn as_quotient(&self) -> Option<(&Expr, i64)> {
        match self.kind() {
            ExprKind::FloorDiv(a, b) => b.as_constant().filter(|&c| c > 0).map(|c| (a, c)),
            _ => None,
        }
    }

    /// If the expression is a remainder by a positive constant, returns the dividend and the
    /// divisor.
    pub fn as_remainder(&self) -> Option<(&Expr, i64)> {
        match self.kind() {
            ExprKind::Mod(a, b) => b.as_constant().filter(|&c| c > 0).map(|c| (a, c)),
            _ => None,
        }
    }

    /// Whether the expression is a variable.
    pub fn is_variable(&self) -> bool {
        matches!(self.kind(), ExprKind::Dim(_) | ExprKind::Range(_) | ExprKind::Runtime(_))
    }

    /// `floor(self / divisor)`.
    pub fn floor_div(self, divisor: impl Into<Expr>) -> Expr {
        let divisor = divisor.into();
        match (self.as_constant(), divisor.as_constant()) {
            (_, Some(1)) => self,
            (Some(a), Some(b)) if b > 0 => Expr::constant(floor_div(a, b)),
            (Some(0), Some(_)) => self,
            _ => Expr::new(ExprKind::FloorDiv(self, divisor)),
        }
    }

    /// `self mod divisor`.
    pub fn modulo(self, divisor: impl Into<Expr>) -> Expr {
        let divisor = divisor.into();
        match (self.as_constant(), divisor.as_constant()) {
            (_, Some(1)) => Expr::constant(0),
            (Some(a), Some(b)) if b > 0 => Expr::constant(floor_mod(a, b)),
            _ => Expr::new(ExprKind::Mod(self, divisor)),
        }
    }

    /// `min(self, other)`.
    pub fn min(self, other: impl Into<Expr>) -> Expr {
        let other = other.into();
        match (self.as_constant(), other.as_constant()) {
            (Some(a), Some(b)) => Expr::constant(a.min(b)),
            _ if self == other => self,
            _ => Expr::new(ExprKind::Min(self, other)),
        }
    }

    /// `max(self, other)`.
    pub fn max(self, other: impl Into<Expr>) -> Expr {
        let other = other.into();
        match (self.as_constant(), other.as_constant()) {
            (Some(a), Some(b)) => Expr::constant(a.max(b)),
            _ if self == other => self,
            _ => Expr::new(ExprKind::Max(self, other)),
        }
    }

    /// Replaces variables: `d<i>` by `dims[i]` and so on. Keeps variables for which the slices
    /// contain no expression.
    pub fn substitute(&self, dims: &[Expr], ranges: &[Expr], runtime: &[Expr]) -> Expr {
        self.replace_leaves(&mut |leaf| leaf.pick(dims, ranges, runtime).cloned())
    }

    /// Replaces every leaf for which `f` returns an expression by that expression. Shared
    /// subexpressions remain shared.
    pub fn replace_leaves(&self, f: &mut dyn FnMut(&ExprKind) -> Option<Expr>) -> Expr {
        self.replace_memoised(f, &mut ExprMap::default())
    }

    fn replace_memoised(&self, f: &mut dyn FnMut(&ExprKind) -> Option<Expr>, memo: &mut ExprMap<Expr>) -> Expr {
        let Some((a, b)) = self.kind().operands() else {
            return f(self.kind()).unwrap_or_else(|| self.clone());
        };
        if let Some(done) = memo.get(self) {
            return done.clone();
        }
        let (new_a, new_b) = (a.replace_memoised(f, memo), b.replace_memoised(f, memo));
        let result = if new_a.same(a) && new_b.same(b) { self.clone() } else { self.kind().rebuild(new_a, new_b) };
        memo.insert(self.clone(), result.clone());
        result
    }

    /// Calls `f` for every distinct leaf, in order of first occurrence.
    pub fn visit_leaves(&self, f: &mut dyn FnMut(&ExprKind)) {
        fn visit(expr: &Expr, seen: &mut ExprMap<()>, f: &mut dyn FnMut(&ExprKind)) {
            if seen.insert(expr.clone(), ()).is_some() {
                return;
            }
            match expr.kind().operands() {
                None => f(expr.kind()),
                Some((a, b)) => {
                    visit(a, seen, f);
                    visit(b, seen, f);
                }
            }
        }
        visit(self, &mut ExprMap::default(), f);
    }

    /// Whether the variable (`Dim`, `Range` or `Runtime`) occurs.
    pub fn mentions(&self, variable: &ExprKind) -> bool {
        let mut found = false;
        self.visit_leaves(&mut |leaf| found |= leaf == variable);
        found
    }

    /// Whether both expressions are the same object in memory, which implies that they are equal.
    /// Comparing the two addresses is cheap.
    pub(super) fn same(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl ExprKind {
    /// Returns the entry that belongs to a variable: `dims[i]` for `d<i>`, and so on.
    pub(super) fn pick<'l, T>(&self, dims: &'l [T], ranges: &'l [T], runtime: &'l [T]) -> Option<&'l T> {
        let (list, i) = match self {
            ExprKind::Dim(i) => (dims, i),
            ExprKind::Range(i) => (ranges, i),
            ExprKind::Runtime(i) => (runtime, i),
            _ => return None,
        };
        list.get(*i as usize)
    }

    /// Returns the two operands of an inner node; `None` for a leaf.
    pub fn operands(&self) -> Option<(&Expr, &Expr)> {
        match self {
            ExprKind::Constant(_) | ExprKind::Dim(_) | ExprKind::Range(_) | ExprKind::Runtime(_) => None,
            ExprKind::Add(a, b)
            | ExprKind::Mul(a, b)
            | ExprKind::FloorDiv(a, b)
            | ExprKind::Mod(a, b)
            | ExprKind::Min(a, b)
            | ExprKind::Max(a, b) => Some((a, b)),
        }
    }

    /// Applies the operation of an inner node to numbers. For a leaf, returns the first argument.
    pub(super) fn apply(&self, a: i64, b: i64) -> i64 {
        match self {
            ExprKind::Add(..) => a.wrapping_add(b),
            ExprKind::Mul(..) => a.wrapping_mul(b),
            ExprKind::FloorDiv(..) => floor_div(a, b),
            ExprKind::Mod(..) => floor_mod(a, b),
            ExprKind::Min(..) => a.min(b),
            ExprKind::Max(..) => a.max(b),
            _ => a,
        }
    }

    /// Returns the same operation on the operands `a` and `b`. Folds simple cases.
    fn rebuild(&self, a: Expr, b: Expr) -> Expr {
        match self {
            ExprKind::Add(..) => a + b,
            ExprKind::Mul(..) => a * b,
            ExprKind::FloorDiv(..) => a.floor_div(b),
            ExprKind::Mod(..) => a.modulo(b),
            ExprKind::Min(..) => a.min(b),
            ExprKind::Max(..) => a.max(b),
            leaf => Expr::new(leaf.clone()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            ExprKind::Constant(_) => 0,
            ExprKind::Dim(_) => 1,
            ExprKind::Range(_) => 2,
            ExprKind::Runtime(_) => 3,
            ExprKind::Add(..) => 4,
            ExprKind::Mul(..) => 5,
            ExprKind::FloorDiv(..) => 6,
            ExprKind::Mod(..) => 7,
            ExprKind::Min(..) => 8,
            ExprKind::Max(..) => 9,
        }
    }

    fn structural_hash(&self) -> u64 {
        let (a, b) = match (self, self.operands()) {
            (_, Some((a, b))) => (a.0.hash, b.0.hash),
            (ExprKind::Constant(value), _) => (*value as u64, 0),
            (ExprKind::Dim(i) | ExprKind::Range(i) | ExprKind::Runtime(i), _) => (u64::from(*i), 0),
            _ => (0, 0),
        };
        mix(mix(mix(u64::from(self.rank()) + 1) ^ a) ^ b)
    }
}

/// Mixes the bits of a number so that different numbers give different results (finaliser of
/// MurmurHash3).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        match self.may_equal(other) {
            Some(known) => known,
            None if self.size() <= COMPARED_AS_TREE => self.kind() == other.kind(),
            None => self.equals_shared(other, &mut HashSet::new()),
        }
    }
}

impl Expr {
    /// Decides equality without looking at operands, if possible.
    fn may_equal(&self, other: &Expr) -> Option<bool> {
        let (a, b) = (&self.0, &other.0);
        if self.same(other) {
            return Some(true);
        }
        let differ = a.hash != b.hash || a.size != b.size || a.depth != b.depth;
        differ.then_some(false)
    }

    /// Decides equality by comparing each pair of nodes once, even if nodes are shared. `seen`
    /// contains the pairs that are known to be equal.
    fn equals_shared(&self, other: &Expr, seen: &mut HashSet<(*const Node, *const Node)>) -> bool {
        if let Some(known) = self.may_equal(other) {
            return known;
        }
        let pair = (Arc::as_ptr(&self.0), Arc::as_ptr(&other.0));
        if seen.contains(&pair) {
            return true;
        }
        let equal = match (self.kind().operands(), other.kind().operands()) {
            (Some((a, b)), Some((x, y))) => {
                self.kind().rank() == other.kind().rank() && a.equals_shared(x, seen) && b.equals_shared(y, seen)
            }
            _ => self.kind() == other.kind(),
        };
        if equal {
            seen.insert(pair);
        }
        equal
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Expr) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expr {
    fn cmp(&self, other: &Expr) -> Ordering {
        if self == other {
            return Ordering::Equal;
        }
        match (self.kind().operands(), other.kind().operands()) {
            // The check above has excluded equal expressions. So comparing one pair of operands
            // that differ is enough.
            (Some((a, b)), Some((x, y))) if self.kind().rank() == other.kind().rank() => {
                if a == x {
                    b.cmp(y)
                } else {
                    a.cmp(x)
                }
            }
            (None, None) => self.kind().cmp(other.kind()),
            _ => self.kind().rank().cmp(&other.kind().rank()),
        }
    }
}

/// A hasher that returns the hash stored in an expression.
#[derive(Default)]
pub(super) struct StoredHash(u64);

impl Hasher for StoredHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Expr::constant(value)
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Self {
        expr.clone()
    }
}

impl<T: Into<Expr>> std::ops::Add<T> for Expr {
    type Output = Expr;
    fn add(self, other: T) -> Expr {
        let other = other.into();
        match (self.as_constant(), other.as_constant()) {
            (Some(0), _) => return other,
            (_, Some(0)) => return self,
            (Some(_), None) => return Expr::new(ExprKind::Add(other, self)),
            (Some(a), Some(b)) => {
                if let Some(sum) = a.checked_add(b) {
                    return Expr::constant(sum);
                }
            }
            (None, Some(b)) => {
                if let ExprKind::Add(x, a) = self.kind()
                    && let Some(sum) = a.as_constant().and_then(|a| a.checked_add(b))
                {
                    return x.clone() + sum;
                }
            }
            _ => {}
        }
        Expr::new(ExprKind::Add(self, other))
    }
}

impl<T: Into<Expr>> std::ops::Mul<T> for Expr {
    type Output = Expr;
    fn mul(self, other: T) -> Expr {
        let other = other.into();
        match (self.as_constant(), other.as_constant()) {
            (Some(0), _) | (_, Some(0)) => return Expr::constant(0),
            (Some(1), _) => return other,
            (_, Some(1)) => return self,
            (Some(_), None) => return other * self,
            (Some(a), Some(b)) => {
                if let Some(product) = a.checked_mul(b) {
                    return Expr::constant(product);
                }
            }
            (None, Some(b)) => {
                if let ExprKind::Mul(x, a) = self.kind()
                    && let Some(product) = a.as_constant().and_then(|a| a.checked_mul(b))
                {
                    return x.clone() * product;
                }
            }
            _ => {}
        }
        Expr::new(ExprKind::Mul(self, other))
    }
}

impl<T: Into<Expr>> std::ops::Sub<T> for Expr {
    type Output = Expr;
    fn sub(self, other: T) -> Expr {
        self + other.into() * -1
    }
}

impl std::ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self * -1
    }
}
