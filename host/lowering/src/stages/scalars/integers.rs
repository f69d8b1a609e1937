//! Rewrites integer operations that need several instructions.

use fusebox_core::ir::{OpKind, Operation};

use super::{Scalars, Slot};
use crate::error::Done;
use crate::stages::rewrite::Stage;

impl<'s> Scalars<'s, '_> {
    /// Writes a signed quotient that is rounded down or up, not towards zero.
    pub(super) fn round_quotient(&mut self, op: &'s Operation) -> Done {
        let (a, b) = (self.value(op.operands[0])?, self.value(op.operands[1])?);
        let value = self.out().formula(&[a, b], |operands| {
            let [a, b] = [operands[0], operands[1]];
            let (quotient, rest) = (a.divsi(b), a.remsi(b));
            let inexact = rest.ne(0_i64);
            let signs = a ^ b;
            // The division `divsi` rounds up if the exact quotient is negative, else down.
            let wrong = if op.kind == OpKind::CeilDivSI { signs.ge(0_i64) } else { signs.lt(0_i64) };
            let correction = (inexact & wrong).extui(a.scalar());
            if op.kind == OpKind::CeilDivSI { quotient + correction } else { quotient - correction }
        });
        self.bind_value(op, value);
        Ok(())
    }

    /// Writes the low and the high half of a product.
    pub(super) fn multiply_extended(&mut self, op: &'s Operation) -> Done {
        let (a, b) = (self.value(op.operands[0])?, self.value(op.operands[1])?);
        let signed = op.kind == OpKind::MulSIExtended;
        let out = self.out();
        let bits = out.type_of(a).element().bits();
        let (wide_a, wide_b) = (out.resized(a, 2 * bits, signed), out.resized(b, 2 * bits, signed));
        let product = out.binary(OpKind::MulI, wide_a, wide_b);
        let high = out.formula(&[product], |product| product[0].shrui(i64::from(bits)));
        let halves = [product, high].map(|half| Slot::Value(out.resized(half, bits, false)));
        self.rewriter.bind_all(&op.results, halves.to_vec());
        Ok(())
    }
}
