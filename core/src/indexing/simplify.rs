//! The simplifier: canonical expressions under bounds of their variables.
//!
//! Expressions are rebuilt from the leaves up by constructors that know ranges. Every constructor takes
//! canonical operands and gives a canonical result: a sum of sorted terms with coefficients and a number
//! last, whose terms are variables, quotients, remainders, minima, maxima and products.
//!
//! Values are taken not to overflow. Where a *coefficient* would, the expression stays as it was.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::affine::{Affine, FLATTENED_SIZE};
use super::expr::{Expr, ExprKind, ExprMap, StoredHash};
use super::interval::{floor_div, floor_mod};
use super::range::RangeEvaluator;
use super::{Bounds, Interval};

/// Rules applied per call before the rest is left as it is. Realistic index expressions take tens.
const MAX_STEPS: u32 = 20_000;
/// A second pass sees what the first one made; more than a few never change anything.
const MAX_PASSES: usize = 4;

/// An expression with the same value at every point within `bounds`, in canonical form and usually
/// cheaper. Deterministic; shared subexpressions are simplified once.
pub fn simplify_expr(expr: &Expr, bounds: &Bounds) -> Expr {
    simplify_exprs(std::slice::from_ref(expr), bounds).pop().unwrap_or_else(|| expr.clone())
}

/// Simplifies many expressions under the same bounds. What they share is simplified once.
pub fn simplify_exprs(exprs: &[Expr], bounds: &Bounds) -> Vec<Expr> {
    let canonical = canonical_facts(bounds);
    let mut simplifier = Simplifier::new(&canonical);
    exprs.iter().map(|expr| simplifier.simplify(expr)).collect()
}

/// The same knowledge, with the expressions of the facts in the form in which they will be met.
fn canonical_facts(bounds: &Bounds) -> Cow<'_, Bounds> {
    if bounds.facts.is_empty() {
        return Cow::Borrowed(bounds);
    }
    let plain = Bounds { facts: Vec::new(), ..bounds.clone() };
    let mut result = plain.clone();
    let mut simplifier = Simplifier::new(&plain);
    for fact in &bounds.facts {
        result.assume(super::Constraint::new(simplifier.simplify(&fact.expr), fact.bounds));
    }
    Cow::Owned(result)
}

pub(super) struct Simplifier<'a> {
    ranges: RangeEvaluator<'a>,
    memo: ExprMap<Expr>,
    quotients: HashMap<(Expr, i64), Expr, BuildHasherDefault<StoredHash>>,
    remainders: HashMap<(Expr, i64), Expr, BuildHasherDefault<StoredHash>>,
    steps: u32,
}

impl<'a> Simplifier<'a> {
    /// `bounds.facts` have to be canonical.
    pub(super) fn new(bounds: &'a Bounds) -> Self {
        Simplifier {
            ranges: RangeEvaluator::new(bounds),
            memo: ExprMap::default(),
            quotients: HashMap::default(),
            remainders: HashMap::default(),
            steps: 0,
        }
    }

    pub(super) fn simplify(&mut self, expr: &Expr) -> Expr {
        self.steps = 0;
        let mut current = expr.clone();
        for _ in 0..MAX_PASSES {
            let next = self.visit(&current);
            if next == current {
                break;
            }
            current = next;
        }
        current
    }

    pub(super) fn range(&mut self, expr: &Expr) -> Interval {
        self.ranges.range(expr)
    }

    fn visit(&mut self, expr: &Expr) -> Expr {
        let Some((a, b)) = expr.kind().operands() else {
            return self.folded(expr.clone());
        };
        if let Some(done) = self.memo.get(expr) {
            return done.clone();
        }
        let result = match expr.kind() {
            ExprKind::Add(..) => self.visit_sum(expr),
            ExprKind::Mul(..) => {
                let (a, b) = (self.visit(a), self.visit(b));
                self.product(&a, &b)
            }
            ExprKind::FloorDiv(..) => {
                let (a, b) = (self.visit(a), self.visit(b));
                self.quotient(&a, &b)
            }
            ExprKind::Mod(..) => {
                let (a, b) = (self.visit(a), self.visit(b));
                self.remainder(&a, &b)
            }
            _ => self.visit_extremum(expr.kind(), a, b),
        };
        self.memo.insert(expr.clone(), result.clone());
        result
    }

    fn visit_sum(&mut self, expr: &Expr) -> Expr {
        let mut sum = Affine::default();
        match self.gather(expr, 1, &mut sum) {
            Some(()) => self.sum(sum),
            None => expr.clone(),
        }
    }

    /// Adds `factor · expr`, simplified, to `sum`. `None` if a coefficient overflows.
    fn gather(&mut self, expr: &Expr, factor: i64, sum: &mut Affine) -> Option<()> {
        match expr.kind() {
            ExprKind::Add(a, b) if expr.size() <= FLATTENED_SIZE => {
                self.gather(a, factor, sum)?;
                self.gather(b, factor, sum)
            }
            ExprKind::Add(a, b) => {
                let (a, b) = (self.visit(a), self.visit(b));
                sum.add(&a, factor)?;
                sum.add(&b, factor)
            }
            _ => {
                let done = self.visit(expr);
                sum.add(&done, factor)
            }
        }
    }

    /// A sum of canonical terms, in any order.
    pub(super) fn sum(&mut self, mut sum: Affine) -> Expr {
        sum.sort();
        self.recombine(&mut sum);
        let result = sum.to_expr();
        self.folded(result)
    }

    /// The number, if only one value is possible.
    fn folded(&mut self, expr: Expr) -> Expr {
        match self.range(&expr).as_point() {
            Some(value) => Expr::constant(value),
            None => expr,
        }
    }

    /// `factor · expr`.
    pub(super) fn scaled(&mut self, expr: &Expr, factor: i64) -> Expr {
        let mut sum = Affine::default();
        match sum.add(expr, factor) {
            Some(()) => self.sum(sum),
            None => Expr::new(ExprKind::Mul(expr.clone(), Expr::constant(factor))),
        }
    }

    fn product(&mut self, a: &Expr, b: &Expr) -> Expr {
        if let Some(factor) = b.as_constant() {
            return self.scaled(a, factor);
        }
        if let Some(factor) = a.as_constant() {
            return self.scaled(b, factor);
        }
        // Constant factors out, operands in order: 4x · y = y · 4x.
        let (a, ka) = split_factor(a);
        let (b, kb) = split_factor(b);
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        let product = self.folded(Expr::new(ExprKind::Mul(first, second)));
        match ka.checked_mul(kb) {
            Some(1) => product,
            Some(factor) => self.scaled(&product, factor),
            None => product * ka * kb,
        }
    }

    fn quotient(&mut self, a: &Expr, b: &Expr) -> Expr {
        match b.as_constant() {
            Some(c) if c > 0 => self.floor_div(a, c),
            Some(c) if c < 0 && c != i64::MIN => {
                let negated = self.scaled(a, -1);
                self.floor_div(&negated, -c)
            }
            _ => self.folded(Expr::new(ExprKind::FloorDiv(a.clone(), b.clone()))),
        }
    }

    fn remainder(&mut self, a: &Expr, b: &Expr) -> Expr {
        match b.as_constant() {
            Some(c) if c > 0 => self.modulo(a, c),
            Some(c) if c < 0 && c != i64::MIN => {
                let negated = self.scaled(a, -1);
                let remainder = self.modulo(&negated, -c);
                self.scaled(&remainder, -1)
            }
            _ => self.folded(Expr::new(ExprKind::Mod(a.clone(), b.clone()))),
        }
    }

    /// `floor(x / c)` for canonical `x` and positive `c`.
    pub(super) fn floor_div(&mut self, x: &Expr, c: i64) -> Expr {
        if c == 1 {
            return x.clone();
        }
        if let Some(quotient) = self.common_quotient(x, c) {
            return Expr::constant(quotient);
        }
        let key = (x.clone(), c);
        if let Some(known) = self.quotients.get(&key) {
            return known.clone();
        }
        let result = match self.step() {
            true => self.rewritten_quotient(x, c),
            false => None,
        };
        let result = result.unwrap_or_else(|| Expr::new(ExprKind::FloorDiv(x.clone(), Expr::constant(c))));
        self.quotients.insert(key, result.clone());
        result
    }

    fn rewritten_quotient(&mut self, x: &Expr, c: i64) -> Option<Expr> {
        let sum = Affine::of(x)?;
        let (mut multiples, rest) = split_multiples(&sum, c);
        if !multiples.terms.is_empty() || multiples.constant != 0 {
            let rest = self.sum(rest);
            let rest = self.floor_div(&rest, c);
            multiples.add(&rest, 1)?;
            return Some(self.sum(multiples));
        }
        if let Some(split) = self.split_by_gcd(&sum, c) {
            let head = self.sum(split.head);
            return Some(self.floor_div(&head, c / split.gcd));
        }
        if let Some((numerator, divisor)) = absorb_quotient(&sum, c) {
            let numerator = self.sum(numerator);
            return Some(self.floor_div(&numerator, divisor));
        }
        // (y mod m) / c = (y / c) mod (m / c) if c divides m
        if let ExprKind::Mod(y, m) = x.kind()
            && let Some(m) = m.as_constant()
            && m > 0
            && m % c == 0
        {
            let quotient = self.floor_div(y, c);
            return Some(self.modulo(&quotient, m / c));
        }
        None
    }

    /// `x mod c` for canonical `x` and positive `c`.
    pub(super) fn modulo(&mut self, x: &Expr, c: i64) -> Expr {
        if c == 1 {
            return Expr::constant(0);
        }
        if let Some(shift) = self.common_quotient(x, c).and_then(|q| q.checked_mul(c)?.checked_neg()) {
            let shifted = Affine::of(x).and_then(|mut sum| sum.add(&Expr::constant(shift), 1).map(|()| sum));
            if let Some(sum) = shifted {
                return self.sum(sum);
            }
        }
        let key = (x.clone(), c);
        if let Some(known) = self.remainders.get(&key) {
            return known.clone();
        }
        let result = match self.step() {
            true => self.rewritten_remainder(x, c),
            false => None,
        };
        let result = result.unwrap_or_else(|| Expr::new(ExprKind::Mod(x.clone(), Expr::constant(c))));
        self.remainders.insert(key, result.clone());
        result
    }

    fn rewritten_remainder(&mut self, x: &Expr, c: i64) -> Option<Expr> {
        let sum = Affine::of(x)?;
        let (multiples, rest) = split_multiples(&sum, c);
        if !multiples.terms.is_empty() || multiples.constant != 0 {
            let rest = self.sum(rest);
            return Some(self.modulo(&rest, c));
        }
        if let Some(flat) = drop_inner_remainder(&sum, c) {
            let flat = self.sum(flat);
            return Some(self.modulo(&flat, c));
        }
        let split = self.split_by_gcd(&sum, c)?;
        let head = self.sum(split.head);
        let head = self.modulo(&head, c / split.gcd);
        let mut result = split.rest;
        result.add(&head, split.gcd)?;
        Some(self.sum(result))
    }

    /// The quotient all values of `x` have in common.
    fn common_quotient(&mut self, x: &Expr, c: i64) -> Option<i64> {
        let range = self.range(x);
        let bounded = range.lower != i64::MIN && range.upper != i64::MAX && !range.is_empty();
        let quotient = floor_div(range.lower, c);
        (bounded && quotient == floor_div(range.upper, c)).then_some(quotient)
    }

    /// Splits `x = gcd · head + rest` with `rest` in `0..gcd` and `gcd` a divisor of `c` above 1. Then
    /// `x / c = head / (c / gcd)` and `x mod c = (head mod (c / gcd)) · gcd + rest`.
    fn split_by_gcd(&mut self, sum: &Affine, c: i64) -> Option<GcdSplit> {
        for g in common_divisors(sum, c) {
            let mut split = GcdSplit { gcd: g, head: Affine::default(), rest: Affine::default() };
            let mut range = Interval::point(floor_mod(sum.constant, g));
            for (term, coefficient) in &sum.terms {
                if coefficient % g == 0 {
                    split.head.terms.push((term.clone(), coefficient / g));
                } else {
                    split.rest.terms.push((term.clone(), *coefficient));
                    range = range + self.range(term) * Interval::point(*coefficient);
                }
            }
            let offset = floor_div(range.lower, g);
            let small = range.lower != i64::MIN && range.upper != i64::MAX && offset == floor_div(range.upper, g);
            if small && !split.head.terms.is_empty() {
                split.head.constant = floor_div(sum.constant, g).checked_add(offset)?;
                split.rest.constant = floor_mod(sum.constant, g).checked_sub(offset.checked_mul(g)?)?;
                return Some(split);
            }
        }
        None
    }

    /// Counts a rule; false once the cap is reached.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        self.steps <= MAX_STEPS
    }

    fn visit_extremum(&mut self, kind: &ExprKind, a: &Expr, b: &Expr) -> Expr {
        let is_min = matches!(kind, ExprKind::Min(..));
        let mut operands = Vec::new();
        for operand in [a, b] {
            let operand = self.visit(operand);
            collect_operands(&operand, is_min, &mut operands);
        }
        operands.sort();
        operands.dedup();
        let mut kept: Vec<Expr> = Vec::new();
        for operand in operands {
            if kept.iter().any(|other| self.beats(other, &operand, is_min)) {
                continue;
            }
            kept.retain(|other| !self.beats(&operand, other, is_min));
            kept.push(operand);
        }
        let make = if is_min { ExprKind::Min } else { ExprKind::Max };
        let result = kept.into_iter().reduce(|a, b| Expr::new(make(a, b)));
        self.folded(result.unwrap_or_else(|| Expr::constant(0)))
    }

    /// Whether `a` is never worse than `b` in a minimum or maximum.
    fn beats(&mut self, a: &Expr, b: &Expr, is_min: bool) -> bool {
        if !self.step() {
            return false;
        }
        let mut difference = Affine::default();
        if difference.add(a, 1).and_then(|()| difference.add(b, -1)).is_none() {
            return false;
        }
        let difference = self.sum(difference);
        let range = self.range(&difference);
        if is_min { range.upper <= 0 } else { range.lower >= 0 }
    }
}

struct GcdSplit {
    gcd: i64,
    head: Affine,
    rest: Affine,
}

/// Terms whose coefficient `c` divides, divided by it, and the others. The number is split likewise.
fn split_multiples(sum: &Affine, c: i64) -> (Affine, Affine) {
    let mut multiples = Affine { constant: floor_div(sum.constant, c), terms: Vec::new() };
    let mut rest = Affine { constant: floor_mod(sum.constant, c), terms: Vec::new() };
    for (term, coefficient) in &sum.terms {
        if coefficient % c == 0 {
            multiples.terms.push((term.clone(), coefficient / c));
        } else {
            rest.terms.push((term.clone(), *coefficient));
        }
    }
    (multiples, rest)
}

/// Divisors of `c` above 1 that divide the coefficients of some terms, larger first.
fn common_divisors(sum: &Affine, c: i64) -> Vec<i64> {
    let mut divisors: Vec<i64> = sum.terms.iter().map(|(_, k)| gcd(*k, c)).collect();
    divisors.sort_unstable_by(|a, b| b.cmp(a));
    let mut common = c;
    for divisor in &mut divisors {
        common = gcd(common, *divisor);
        *divisor = common;
    }
    divisors.dedup();
    divisors.retain(|&d| d > 1 && d < c);
    divisors
}

/// `(s + y / a) / c = (a·s + y) / (a·c)`, if exactly one term is such a quotient with coefficient 1.
pub(super) fn absorb_quotient(sum: &Affine, c: i64) -> Option<(Affine, i64)> {
    let mut quotients = sum.terms.iter().filter(|(term, k)| *k == 1 && as_quotient(term).is_some());
    let (term, _) = quotients.next()?;
    let (numerator, divisor) = as_quotient(term)?;
    if quotients.next().is_some() {
        return None;
    }
    let mut result = Affine { constant: sum.constant.checked_mul(divisor)?, terms: Vec::new() };
    for (other, k) in &sum.terms {
        match other == term {
            true => result.add(numerator, 1)?,
            false => result.add(other, k.checked_mul(divisor)?)?,
        }
    }
    result.sort();
    Some((result, c.checked_mul(divisor)?))
}

/// `(s + k·(y mod m)) mod c = (s + k·y) mod c` if `c` divides `k·m`.
fn drop_inner_remainder(sum: &Affine, c: i64) -> Option<Affine> {
    let (term, k) = sum.terms.iter().find(|(term, k)| {
        as_remainder(term).is_some_and(|(_, m)| k.checked_mul(m).is_some_and(|product| product % c == 0))
    })?;
    let (dividend, _) = as_remainder(term)?;
    let mut result = sum.clone();
    result.add(term, k.checked_neg()?)?;
    result.add(dividend, *k)?;
    Some(result)
}

/// Dividend and positive divisor of a quotient by a number.
pub(super) fn as_quotient(expr: &Expr) -> Option<(&Expr, i64)> {
    match expr.kind() {
        ExprKind::FloorDiv(a, b) => b.as_constant().filter(|&c| c > 0).map(|c| (a, c)),
        _ => None,
    }
}

/// Dividend and positive divisor of a remainder by a number.
pub(super) fn as_remainder(expr: &Expr) -> Option<(&Expr, i64)> {
    match expr.kind() {
        ExprKind::Mod(a, b) => b.as_constant().filter(|&c| c > 0).map(|c| (a, c)),
        _ => None,
    }
}

/// `x` and `k` of `k · x`.
fn split_factor(expr: &Expr) -> (Expr, i64) {
    match expr.kind() {
        ExprKind::Mul(x, k) if k.as_constant().is_some() => (x.clone(), k.as_constant().unwrap_or(1)),
        _ => (expr.clone(), 1),
    }
}

fn collect_operands(expr: &Expr, is_min: bool, operands: &mut Vec<Expr>) {
    match expr.kind() {
        ExprKind::Min(a, b) if is_min => [a, b].iter().for_each(|e| collect_operands(e, is_min, operands)),
        ExprKind::Max(a, b) if !is_min => [a, b].iter().for_each(|e| collect_operands(e, is_min, operands)),
        _ => operands.push(expr.clone()),
    }
}

/// Greatest common divisor; that of 0 and `x` is `|x|`.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
