//! Integer operations that are several instructions.

use fusebox_core::builder::IntPredicate;
use fusebox_core::ir::{OpKind, Operation};

use super::{Scalars, Slot};
use crate::stages::rewrite::{Done, Stage};

impl<'s> Scalars<'s, '_> {
    /// The signed quotient, rounded down or up instead of towards zero.
    pub(super) fn round_quotient(&mut self, op: &'s Operation) -> Done {
        let (a, b) = (self.value(op.operands[0])?, self.value(op.operands[1])?);
        let out = self.out();
        let ty = out.type_of(a).clone();
        let zero = out.int(0, &ty);
        let (quotient, rest) = (out.binary(OpKind::DivSI, a, b), out.binary(OpKind::RemSI, a, b));
        let inexact = out.compare(IntPredicate::Ne, rest, zero);
        let signs = out.binary(OpKind::XorI, a, b);
        // Where the exact quotient is negative, division rounded up, else down.
        let (kind, wrong) = match op.kind {
            OpKind::CeilDivSI => (OpKind::AddI, out.compare(IntPredicate::Sge, signs, zero)),
            _ => (OpKind::SubI, out.compare(IntPredicate::Slt, signs, zero)),
        };
        let corrects = out.binary(OpKind::AndI, inexact, wrong);
        let correction = out.cast(OpKind::ExtUI, corrects, ty.element());
        let value = out.binary(kind, quotient, correction);
        self.bind_value(op, value);
        Ok(())
    }

    /// Low and high half of a product.
    pub(super) fn multiply_extended(&mut self, op: &'s Operation) -> Done {
        let (a, b) = (self.value(op.operands[0])?, self.value(op.operands[1])?);
        let signed = op.kind == OpKind::MulSIExtended;
        let out = self.out();
        let bits = out.type_of(a).element().bits();
        let (wide_a, wide_b) = (out.resized(a, 2 * bits, signed), out.resized(b, 2 * bits, signed));
        let product = out.binary(OpKind::MulI, wide_a, wide_b);
        let wide = out.type_of(product).clone();
        let shift = out.int(i64::from(bits), &wide);
        let high = out.binary(OpKind::ShrUI, product, shift);
        let halves = [product, high].map(|half| Slot::Value(out.resized(half, bits, false)));
        self.rewriter.bind_all(&op.results, halves.to_vec());
        Ok(())
    }
}
