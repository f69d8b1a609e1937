//! Converts expressions of maps to expressions of an algebra, and back.

use std::collections::HashMap;
use std::hash::BuildHasher;

use rustc_hash::FxHashSet;

use super::super::expr::ExprMap;
use super::{Algebra, Ix, Kind};
use crate::{Expr, ExprKind};

impl Algebra {
    /// Converts an expression of a map, and replaces its variables by the expressions `dims`,
    /// `ranges` and `runtime`.
    ///
    /// # Errors
    /// Fails if a variable of the expression has no replacement, or if a divisor is not a positive
    /// constant.
    pub fn substitute(&mut self, expr: &Expr, dims: &[Ix], ranges: &[Ix], runtime: &[Ix]) -> Result<Ix, String> {
        let missing = || "a map refers to a variable it does not have".into();
        self.read(expr, &mut ExprMap::default(), &mut |_, node| match node {
            Unread::Variable(leaf) => leaf.pick(dims, ranges, runtime).copied().ok_or_else(missing),
            Unread::Division(..) => Err("a map divides by other than a positive constant".into()),
        })
    }

    /// Converts an expression of a map. `other` converts variables, and the divisions that the
    /// algebra does not support. `memo` stores the subexpressions that were converted.
    pub(crate) fn read<E>(
        &mut self,
        expr: &Expr,
        memo: &mut ExprMap<Ix>,
        other: &mut dyn FnMut(&mut Self, Unread<'_>) -> Result<Ix, E>,
    ) -> Result<Ix, E> {
        let Some((a, b)) = expr.kind().operands() else {
            return match expr.kind() {
                ExprKind::Constant(value) => Ok(self.constant(*value)),
                leaf => other(self, Unread::Variable(leaf)),
            };
        };
        if let Some(&known) = memo.get(expr) {
            return Ok(known);
        }
        let (a, b) = (self.read(a, memo, other)?, self.read(b, memo, other)?);
        let divisor = self.as_constant(b).filter(|&divisor| divisor > 0);
        let ix = match (expr.kind(), divisor) {
            (ExprKind::Add(..), _) => self.add(a, b),
            (ExprKind::Mul(..), _) => self.product(a, b),
            (ExprKind::Min(..), _) => self.min(a, b),
            (ExprKind::Max(..), _) => self.max(a, b),
            (ExprKind::FloorDiv(..), Some(divisor)) => self.floor_div(a, divisor),
            (ExprKind::Mod(..), Some(divisor)) => self.modulo(a, divisor),
            (kind, _) => other(self, Unread::Division(kind, a, b))?,
        };
        memo.insert(expr.clone(), ix);
        Ok(ix)
    }

    /// Converts an expression to an expression of a map. `leaf` converts the leaves. `memo` stores
    /// the subexpressions that were converted.
    pub fn write<S: BuildHasher>(&self, ix: Ix, memo: &mut HashMap<Ix, Expr, S>, leaf: &dyn Fn(u32) -> Expr) -> Expr {
        if let Some(known) = memo.get(&ix) {
            return known.clone();
        }
        let expr = match &*self.kind(ix) {
            Kind::Leaf(number) => leaf(*number),
            Kind::Sum(sum) => {
                let terms = sum.terms.iter().map(|&(term, factor)| self.write(term, memo, leaf) * factor);
                match terms.reduce(|sum, term| Expr::new(ExprKind::Add(sum, term))) {
                    None => Expr::constant(sum.constant),
                    Some(terms) => terms + sum.constant,
                }
            }
            Kind::FloorDiv(inner, divisor) => self.write(*inner, memo, leaf).floor_div(*divisor),
            Kind::Mod(inner, divisor) => self.write(*inner, memo, leaf).modulo(*divisor),
            Kind::Min(a, b) => Expr::new(ExprKind::Min(self.write(*a, memo, leaf), self.write(*b, memo, leaf))),
            Kind::Max(a, b) => Expr::new(ExprKind::Max(self.write(*a, memo, leaf), self.write(*b, memo, leaf))),
            Kind::Product(a, b) => Expr::new(ExprKind::Mul(self.write(*a, memo, leaf), self.write(*b, memo, leaf))),
            Kind::Whole(inner) => self.write(*inner, memo, leaf),
        };
        memo.insert(ix, expr.clone());
        expr
    }

    /// Returns the numbers of the leaves of an expression in order of first occurrence. Each number
    /// occurs once.
    pub fn leaves(&self, ix: Ix) -> Vec<u32> {
        let (mut found, mut seen, mut open) = (Vec::new(), FxHashSet::default(), vec![ix]);
        while let Some(ix) = open.pop() {
            if !seen.insert(ix) {
                continue;
            }
            match &*self.node(ix).kind {
                Kind::Leaf(number) => found.push(*number),
                kind => open.extend(kind.parts().rev()),
            }
        }
        found
    }
}

/// A part of an expression that the caller of `read` must convert.
pub(crate) enum Unread<'e> {
    /// A variable.
    Variable(&'e ExprKind),
    /// A quotient or remainder whose divisor is not a positive constant, with its operands.
    Division(&'e ExprKind, Ix, Ix),
}
