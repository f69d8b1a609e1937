//! Index values of one partition: hash-consed and simplified, so that equal ids mean equal indices.
//!
//! An index is a sum `constant + Σ factor · atom`. Atoms are what a function or a loop provides
//! (arguments, range variables), values read at run time, and quotients and remainders of other
//! indices. Sums are canonical; a division whose outcome the bounds decide disappears, so a reshape
//! undone by another one gives back the id it started from.
//!
//! Worked example: with `i < 4` and `j < 8`, `(8·i + j) floordiv 8` is the id of `i`.

use std::collections::HashMap;

use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable};

use crate::partition::{FunctionId, ScopeId};

#[cfg(test)]
mod tests;

/// Number of an index value. Equal numbers are equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(u32);

/// Number of an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct AtomId(u32);

/// An index list: one value per dimension.
pub type Token = Vec<IndexId>;

/// What an index is computed from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// An index argument of a function.
    Argument { function: FunctionId, dim: u32 },
    /// A range variable of the loop that makes a scope.
    Range { scope: ScopeId, axis: u32 },
    /// An integer read at run time and clamped to `0..=limit`.
    Runtime(Runtime),
    /// `floor(index / divisor)`.
    FloorDiv(IndexId, i64),
    /// The remainder, never negative.
    Modulo(IndexId, i64),
    /// Another index, computed apart: keeps expressions small.
    Value(IndexId),
}

/// A value used as an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Runtime {
    /// The instruction whose value is read.
    pub instruction: InstrId,
    /// Where it is read.
    pub at: Token,
    /// The scope that reads it.
    pub scope: ScopeId,
    /// Upper bound of the clamp; the lower one is 0.
    pub limit: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Linear {
    constant: i64,
    /// Sorted by atom, no factor 0.
    terms: Vec<(AtomId, i64)>,
}

struct IndexData {
    linear: Linear,
    bounds: Interval,
    /// `None` for constants.
    scope: Option<ScopeId>,
    size: u32,
}

struct AtomData {
    atom: Atom,
    bounds: Interval,
    scope: ScopeId,
    size: u32,
}

/// Expressions above this many atoms are cut with [`Atom::Value`], which bounds the text of a map.
const MAX_EXPRESSION: u32 = 24;

/// The index values of a partition.
#[derive(Default)]
pub struct Indices {
    indices: Vec<IndexData>,
    atoms: Vec<AtomData>,
    index_ids: HashMap<Linear, IndexId>,
    atom_ids: HashMap<Atom, AtomId>,
    /// Per scope, its distance from the function's body; an index lives in its deepest atom's scope.
    depths: HashMap<ScopeId, u32>,
}

impl Indices {
    /// Makes `scope` known. Depth counts from the function body, which has 0.
    pub fn register_scope(&mut self, scope: ScopeId, depth: u32) {
        self.depths.insert(scope, depth);
    }

    /// The number `value`.
    pub fn constant(&mut self, value: i64) -> IndexId {
        self.intern(Linear { constant: value, terms: Vec::new() })
    }

    /// An atom with its bounds and the scope in which it is defined.
    pub fn atom(&mut self, atom: Atom, bounds: Interval, scope: ScopeId) -> IndexId {
        if bounds.lower == bounds.upper {
            return self.constant(bounds.lower);
        }
        let id = self.intern_atom(atom, bounds, scope, 1);
        self.intern(Linear { constant: 0, terms: vec![(id, 1)] })
    }

    /// `a + b`.
    pub fn add(&mut self, a: IndexId, b: IndexId) -> IndexId {
        let (x, y) = (self.data(a), self.data(b));
        if x.size + y.size > MAX_EXPRESSION && !x.linear.terms.is_empty() && !y.linear.terms.is_empty() {
            let (a, b) = (self.cut(a), self.cut(b));
            let sum = sum(&self.data(a).linear, &self.data(b).linear);
            return self.intern(sum);
        }
        let sum = sum(&x.linear, &y.linear);
        self.intern(sum)
    }

    /// `a + value`.
    pub fn offset(&mut self, a: IndexId, value: i64) -> IndexId {
        let data = self.data(a);
        let mut linear = data.linear.clone();
        linear.constant = linear.constant.wrapping_add(value);
        self.intern(linear)
    }

    /// `a · factor`.
    pub fn scale(&mut self, a: IndexId, factor: i64) -> IndexId {
        let data = self.data(a);
        let linear = Linear {
            constant: data.linear.constant.wrapping_mul(factor),
            terms: if factor == 0 {
                Vec::new()
            } else {
                data.linear.terms.iter().map(|&(atom, f)| (atom, f.wrapping_mul(factor))).collect()
            },
        };
        self.intern(linear)
    }

    /// `floor(a / divisor)` for a positive divisor.
    pub fn floor_div(&mut self, a: IndexId, divisor: i64) -> IndexId {
        if divisor == 1 {
            return a;
        }
        let (whole, rest) = self.split(a, divisor);
        let bounds = self.linear_bounds(&rest);
        if div_floor(bounds.lower, divisor) == div_floor(bounds.upper, divisor) {
            let whole = Linear { constant: whole.constant + div_floor(bounds.lower, divisor), terms: whole.terms };
            return self.intern(whole);
        }
        let rest = self.intern(rest);
        let inner = self.cut_if_large(rest);
        let bounds = Interval::new(div_floor(bounds.lower, divisor), div_floor(bounds.upper, divisor));
        let size = self.data(inner).size + 1;
        let quotient = self.derived_atom(Atom::FloorDiv(inner, divisor), bounds, inner, size);
        let quotient = Linear { constant: 0, terms: vec![(quotient, 1)] };
        self.intern(sum(&whole, &quotient))
    }

    /// `a mod divisor` for a positive divisor.
    pub fn modulo(&mut self, a: IndexId, divisor: i64) -> IndexId {
        let (_, rest) = self.split(a, divisor);
        let bounds = self.linear_bounds(&rest);
        let quotient = div_floor(bounds.lower, divisor);
        if quotient == div_floor(bounds.upper, divisor) {
            let rest = Linear { constant: rest.constant - quotient * divisor, terms: rest.terms };
            return self.intern(rest);
        }
        let rest = self.intern(rest);
        let inner = self.cut_if_large(rest);
        let size = self.data(inner).size + 1;
        let atom = self.derived_atom(Atom::Modulo(inner, divisor), Interval::new(0, divisor - 1), inner, size);
        self.intern(Linear { constant: 0, terms: vec![(atom, 1)] })
    }

    /// The values it can take.
    pub fn bounds(&self, a: IndexId) -> Interval {
        self.data(a).bounds
    }

    /// The innermost scope that its computation needs.
    /// None for constants, which are written wherever they are needed.
    pub fn scope(&self, a: IndexId) -> Option<ScopeId> {
        self.data(a).scope
    }

    /// The number, if it is one.
    pub fn as_constant(&self, a: IndexId) -> Option<i64> {
        let linear = &self.data(a).linear;
        linear.terms.is_empty().then_some(linear.constant)
    }

    /// The atom, if it is a plain one.
    pub fn as_atom(&self, a: IndexId) -> Option<&Atom> {
        let linear = &self.data(a).linear;
        match linear.terms.as_slice() {
            &[(atom, 1)] if linear.constant == 0 => Some(&self.atoms[atom.0 as usize].atom),
            _ => None,
        }
    }

    /// The indices whose SSA values the map of `a` takes as operands: arguments, range variables,
    /// runtime values and indices computed apart; each once.
    pub fn leaves(&mut self, a: IndexId) -> Vec<IndexId> {
        let mut found = Vec::new();
        self.collect_leaves(a, &mut found);
        found.into_iter().map(|atom| self.leaf_index(atom)).collect()
    }

    /// The map that computes `a` from its [`leaves`](Self::leaves): dimensions first, then the
    /// runtime variables; the order of operands is returned with it.
    pub fn map(&mut self, a: IndexId) -> (IndexingMap, Vec<IndexId>) {
        let mut found = Vec::new();
        self.collect_leaves(a, &mut found);
        let is_runtime = |atom: &AtomId, this: &Self| matches!(this.atoms[atom.0 as usize].atom, Atom::Runtime(_));
        let (runtime, dims): (Vec<_>, Vec<_>) = found.into_iter().partition(|atom| is_runtime(atom, self));
        let mut variables = HashMap::new();
        for (i, &atom) in dims.iter().enumerate() {
            variables.insert(atom, Expr::dim(i as u32));
        }
        for (i, &atom) in runtime.iter().enumerate() {
            variables.insert(atom, Expr::runtime(i as u32));
        }
        let variable = |atom: &AtomId| Variable { bounds: self.atoms[atom.0 as usize].bounds, name: String::new() };
        let map = IndexingMap {
            dims: dims.iter().map(variable).collect(),
            ranges: Vec::new(),
            runtime: runtime.iter().map(variable).collect(),
            results: vec![self.expr(&self.data(a).linear, &variables)],
            constraints: Vec::new(),
        };
        let operands = dims.into_iter().chain(runtime).map(|atom| self.leaf_index(atom)).collect();
        (map, operands)
    }

    fn expr(&self, linear: &Linear, variables: &HashMap<AtomId, Expr>) -> Expr {
        let term = |&(atom, factor): &(AtomId, i64)| {
            let value = match (variables.get(&atom), &self.atoms[atom.0 as usize].atom) {
                (Some(variable), _) => variable.clone(),
                (None, Atom::FloorDiv(inner, divisor)) => {
                    self.expr(&self.data(*inner).linear, variables).floor_div(*divisor)
                }
                (None, Atom::Modulo(inner, divisor)) => {
                    self.expr(&self.data(*inner).linear, variables).modulo(*divisor)
                }
                // Every other atom is a leaf and so a variable.
                (None, _) => Expr::constant(0),
            };
            if factor == 1 { value } else { value * factor }
        };
        let total = linear.terms.iter().map(term).reduce(|a, b| a + b);
        match total {
            None => Expr::constant(linear.constant),
            Some(total) if linear.constant == 0 => total,
            Some(total) => total + linear.constant,
        }
    }

    fn collect_leaves(&self, a: IndexId, found: &mut Vec<AtomId>) {
        for &(id, _) in &self.data(a).linear.terms {
            match self.atoms[id.0 as usize].atom {
                // The nesting is bounded by MAX_EXPRESSION.
                Atom::FloorDiv(inner, _) | Atom::Modulo(inner, _) => self.collect_leaves(inner, found),
                _ if found.contains(&id) => {}
                _ => found.push(id),
            }
        }
    }

    fn leaf_index(&mut self, atom: AtomId) -> IndexId {
        let data = &self.atoms[atom.0 as usize];
        match data.atom {
            Atom::Value(index) => index,
            _ => self.intern(Linear { constant: 0, terms: vec![(atom, 1)] }),
        }
    }

    /// `a = divisor · whole + rest`, moving into `whole` what is divisible.
    fn split(&self, a: IndexId, divisor: i64) -> (Linear, Linear) {
        let data = self.data(a);
        let (mut whole, mut rest) = (Vec::new(), Vec::new());
        for &(atom, factor) in &data.linear.terms {
            match factor % divisor {
                0 => whole.push((atom, factor / divisor)),
                _ => rest.push((atom, factor)),
            }
        }
        let quotient = div_floor(data.linear.constant, divisor);
        let remainder = data.linear.constant - quotient * divisor;
        (Linear { constant: quotient, terms: whole }, Linear { constant: remainder, terms: rest })
    }

    fn cut_if_large(&mut self, a: IndexId) -> IndexId {
        if self.data(a).size >= MAX_EXPRESSION { self.cut(a) } else { a }
    }

    fn cut(&mut self, a: IndexId) -> IndexId {
        let data = self.data(a);
        if data.size <= 2 {
            return a;
        }
        let bounds = data.bounds;
        let id = self.derived_atom(Atom::Value(a), bounds, a, 1);
        self.intern(Linear { constant: 0, terms: vec![(id, 1)] })
    }

    fn derived_atom(&mut self, atom: Atom, bounds: Interval, from: IndexId, size: u32) -> AtomId {
        match self.data(from).scope {
            Some(scope) => self.intern_atom(atom, bounds, scope, size),
            // Not reached: what is derived from a constant folds.
            None => self.intern_atom(atom, bounds, ScopeId(0), size),
        }
    }

    fn intern_atom(&mut self, atom: Atom, bounds: Interval, scope: ScopeId, size: u32) -> AtomId {
        if let Some(&id) = self.atom_ids.get(&atom) {
            return id;
        }
        let id = AtomId(self.atoms.len() as u32);
        self.atoms.push(AtomData { atom: atom.clone(), bounds, scope, size });
        self.atom_ids.insert(atom, id);
        id
    }

    fn intern(&mut self, linear: Linear) -> IndexId {
        if let Some(&id) = self.index_ids.get(&linear) {
            return id;
        }
        let scope =
            linear.terms.iter().map(|&(atom, _)| self.atoms[atom.0 as usize].scope).reduce(|a, b| self.deeper(a, b));
        let bounds = self.linear_bounds(&linear);
        let size = 1 + linear.terms.iter().map(|&(atom, _)| self.atoms[atom.0 as usize].size).sum::<u32>();
        let id = IndexId(self.indices.len() as u32);
        self.index_ids.insert(linear.clone(), id);
        self.indices.push(IndexData { linear, bounds, scope, size });
        id
    }

    fn linear_bounds(&self, linear: &Linear) -> Interval {
        let (mut lower, mut upper) = (i128::from(linear.constant), i128::from(linear.constant));
        for &(atom, factor) in &linear.terms {
            let bounds = self.atoms[atom.0 as usize].bounds;
            let ends = [bounds.lower, bounds.upper].map(|end| i128::from(end) * i128::from(factor));
            lower += ends[0].min(ends[1]);
            upper += ends[0].max(ends[1]);
        }
        let clamp = |value: i128| value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        Interval::new(clamp(lower), clamp(upper))
    }

    fn deeper(&self, a: ScopeId, b: ScopeId) -> ScopeId {
        let depth = |scope| self.depths.get(&scope).copied().unwrap_or(0);
        if depth(b) > depth(a) { b } else { a }
    }

    fn data(&self, a: IndexId) -> &IndexData {
        &self.indices[a.0 as usize]
    }
}

fn sum(a: &Linear, b: &Linear) -> Linear {
    let (mut x, mut y) = (a.terms.iter().copied().peekable(), b.terms.iter().copied().peekable());
    let mut terms = Vec::with_capacity(a.terms.len() + b.terms.len());
    while let (Some(&p), Some(&q)) = (x.peek(), y.peek()) {
        match p.0.cmp(&q.0) {
            std::cmp::Ordering::Less => terms.extend(x.next()),
            std::cmp::Ordering::Greater => terms.extend(y.next()),
            std::cmp::Ordering::Equal => {
                let _ = (x.next(), y.next());
                if p.1.wrapping_add(q.1) != 0 {
                    terms.push((p.0, p.1.wrapping_add(q.1)));
                }
            }
        }
    }
    terms.extend(x);
    terms.extend(y);
    Linear { constant: a.constant.wrapping_add(b.constant), terms }
}

fn div_floor(a: i64, b: i64) -> i64 {
    a.div_euclid(b)
}
