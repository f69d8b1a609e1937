//! Sums of terms with coefficients.

use super::{Expr, ExprKind};

/// A sum with more terms is not merged into other sums.
const MAX_TERMS: usize = 64;
/// Sums up to this size are flattened before their terms are simplified.
pub(super) const FLATTENED_SIZE: u32 = 256;

/// `constant + Σ coefficient · term`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Affine {
    /// The number.
    pub constant: i64,
    /// Term and coefficient, sorted by term, coefficients not 0.
    pub terms: Vec<(Expr, i64)>,
}

impl Affine {
    /// The coefficient of `term`, 0 if it does not occur.
    pub fn coefficient(&self, term: &Expr) -> i64 {
        self.terms.iter().find(|(t, _)| t == term).map_or(0, |(_, c)| *c)
    }

    /// The expression, in canonical order: terms, then the number.
    pub fn to_expr(&self) -> Expr {
        let terms = self.terms.iter().map(|(term, c)| term.clone() * *c);
        let sum = terms.reduce(|sum, term| Expr::new(ExprKind::Add(sum, term)));
        match sum {
            None => Expr::constant(self.constant),
            Some(sum) => sum + self.constant,
        }
    }

    fn collect(&mut self, expr: &Expr, factor: i64) {
        match expr.kind() {
            ExprKind::Constant(value) => self.constant = self.constant.wrapping_add(value.wrapping_mul(factor)),
            ExprKind::Add(a, b) => {
                self.collect(a, factor);
                self.collect(b, factor);
            }
            ExprKind::Mul(a, b) => match (a.as_constant(), b.as_constant()) {
                (_, Some(c)) => self.collect(a, factor.wrapping_mul(c)),
                (Some(c), _) => self.collect(b, factor.wrapping_mul(c)),
                _ => self.terms.push((expr.clone(), factor)),
            },
            _ => self.terms.push((expr.clone(), factor)),
        }
    }

    fn merge(&mut self) {
        self.terms.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.terms.dedup_by(|(term, c), (kept, sum)| {
            let equal = term == kept;
            if equal {
                *sum = sum.wrapping_add(*c);
            }
            equal
        });
        self.terms.retain(|(_, c)| *c != 0);
    }
}

impl Affine {
    /// Of a canonical expression; unlike [`Expr::decompose`], fails if a number overflows.
    pub(super) fn of(expr: &Expr) -> Option<Affine> {
        let mut sum = Affine::default();
        sum.add(expr, 1)?;
        sum.sort();
        Some(sum)
    }

    /// Adds `factor · expr`, where `expr` is canonical. `None`, with `self` in no useful state, if a number
    /// overflows. Terms are not kept in order; see [`Affine::sort`].
    pub(super) fn add(&mut self, expr: &Expr, factor: i64) -> Option<()> {
        match expr.kind() {
            ExprKind::Constant(value) => {
                self.constant = self.constant.checked_add(value.checked_mul(factor)?)?;
                Some(())
            }
            ExprKind::Add(a, b) if expr.size() <= FLATTENED_SIZE * 4 && self.terms.len() < MAX_TERMS => {
                self.add(a, factor)?;
                self.add(b, factor)
            }
            ExprKind::Mul(a, b) => match b.as_constant() {
                Some(c) => self.add(a, factor.checked_mul(c)?),
                None => self.add_term(expr, factor),
            },
            _ => self.add_term(expr, factor),
        }
    }

    fn add_term(&mut self, term: &Expr, coefficient: i64) -> Option<()> {
        match self.terms.iter_mut().find(|(t, _)| t == term) {
            Some((_, sum)) => *sum = sum.checked_add(coefficient)?,
            None => self.terms.push((term.clone(), coefficient)),
        }
        Some(())
    }

    /// Adds another sum, multiplied.
    pub(super) fn add_sum(&mut self, other: &Affine, factor: i64) -> Option<()> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (term, coefficient) in &other.terms {
            self.add_term(term, coefficient.checked_mul(factor)?)?;
        }
        Some(())
    }

    /// Puts the terms in order and drops those with coefficient 0.
    pub(super) fn sort(&mut self) {
        self.terms.retain(|(_, coefficient)| *coefficient != 0);
        self.terms.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
}

impl Expr {
    /// As `constant + Σ coefficient · term`: sums are flattened and constant factors collected, equal terms
    /// merged, terms sorted. A term is whatever is neither a sum nor a constant multiple.
    pub fn decompose(&self) -> Affine {
        let mut affine = Affine::default();
        affine.collect(self, 1);
        affine.merge();
        affine
    }
}
