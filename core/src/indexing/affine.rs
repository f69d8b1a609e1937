//! Sums of terms with coefficients.

use super::{Expr, ExprKind};

/// `constant + Σ coefficient · term`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Affine {
    /// The number.
    pub(super) constant: i64,
    /// Term and coefficient, sorted by term, coefficients not 0.
    pub(super) terms: Vec<(Expr, i64)>,
}

impl Affine {
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

impl Expr {
    /// As `constant + Σ coefficient · term`: sums are flattened and constant factors collected, equal terms
    /// merged, terms sorted. A term is whatever is neither a sum nor a constant multiple.
    pub(super) fn decompose(&self) -> Affine {
        let mut affine = Affine::default();
        affine.collect(self, 1);
        affine.merge();
        affine
    }
}
