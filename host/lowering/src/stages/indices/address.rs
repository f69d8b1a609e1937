//! Writes addresses. An address has three parts: a variable integer, a constant, and the alignment
//! that the index guarantees.

use fusebox_core::builder::IntPredicate;
use fusebox_core::ir::{Attribute, OpKind, Operation, Type, Value};

use super::{Indexed, Slot};
use crate::error::{Done, Required};
use crate::stages::rewrite::Stage;
use crate::stages::writer::Attributes;

impl<'s> Indexed<'s, '_> {
    /// Writes an operation whose last operands are a pointer and an index in elements.
    pub(super) fn access(&mut self, op: &'s Operation) -> Done {
        let (operands, attributes) = self.address(op)?;
        let types = self.rewriter.source_types(&op.results);
        let results = self.out().push(op.kind, operands, attributes, &types, Vec::new());
        self.rewriter.bind_all(&op.results, results.into_iter().map(Slot::Value).collect());
        Ok(())
    }

    /// Writes a product of tiles, an operation with two addresses. The function writes the index in
    /// each address as one integer, without a separate constant.
    pub(super) fn tile_product(&mut self, op: &'s Operation) -> Done {
        let mut operands = Vec::with_capacity(op.operands.len());
        for &operand in &op.operands {
            operands.push(if *self.rewriter.source.type_of(operand) == Type::INDEX {
                let position = self.index(operand)?;
                self.index_value(position, 64)
            } else {
                self.value(operand)?
            });
        }
        let types = self.rewriter.source_types(&op.results);
        let results = self.out().push(op.kind, operands, op.attributes.clone(), &types, Vec::new());
        self.rewriter.bind_all(&op.results, results.into_iter().map(Slot::Value).collect());
        Ok(())
    }

    /// Returns the operands and attributes of an access. The attribute `offset` is a constant
    /// number of elements that is added to the index.
    pub(super) fn address(&mut self, op: &'s Operation) -> Done<(Vec<Value>, Attributes)> {
        let (&position, others) = op.operands.split_last().required("it has no address")?;
        let mut operands = others.iter().map(|&operand| self.value(operand)).collect::<Done<Vec<Value>>>()?;
        let position = self.index(position)?;
        let bytes = self.element_bytes(op);
        let divisor = self.tracker.algebra.divisibility(position).saturating_mul(bytes);
        let known = op.integer("alignment").and_then(|known| u32::try_from(known).ok()).unwrap_or(1);
        let mut alignment = common_power_of_two(divisor, known);
        if op.integer("complex_part") == Some(1) {
            alignment = alignment.min((bytes / 2) as u32);
        }
        let (variable, constant) = self.tracker.algebra.split_constant(position);
        operands.push(self.index_value(variable, 64));
        let mut attributes: Attributes =
            op.attributes.iter().filter(|(name, _)| name != "alignment").cloned().collect();
        attributes.push(("alignment".into(), Attribute::i64(i64::from(alignment))));
        if constant != 0 {
            attributes.push(("offset".into(), Attribute::i64(constant)));
        }
        Ok((operands, attributes))
    }

    /// Returns the size in bytes of the elements that the index of an access counts.
    fn element_bytes(&self, op: &Operation) -> u64 {
        let source = self.rewriter.source;
        let ty = match op.kind {
            OpKind::Load => source.type_of(op.result()),
            OpKind::AtomicRmw => op
                .regions
                .first()
                .and_then(|body| body.arguments.first())
                .map_or(&Type::I1, |&bits| source.type_of(bits)),
            OpKind::ReportAccess => return op.integer("element_bytes").unwrap_or(1).unsigned_abs(),
            _ => source.type_of(op.operands[0]),
        };
        let parts = if op.attribute("complex_part").is_some() { 2 } else { 1 };
        parts * ty.element().byte_size() as u64
    }

    /// Writes a check that tells the simulator if an index is outside of the tensor. Writes nothing
    /// if the index is known to be inside of the tensor.
    pub(super) fn report_index(&mut self, op: &'s Operation) -> Done {
        let tensor = self.value(op.operands[0])?;
        let ix = self.index(op.operands[1])?;
        let size = op.integer("size").unwrap_or(0);
        let range = self.tracker.algebra.range(ix);
        if range.lower >= 0 && range.upper < size {
            return Ok(());
        }
        let index = self.index_value(ix, 64);
        let limit = self.out().int(size, &Type::I64);
        let outside = self.out().compare(IntPredicate::Uge, index, limit);
        let attributes = op.attributes.clone();
        let tell = |this: &mut Self| {
            this.out().act(OpKind::ReportIndex, &[tensor, index], attributes);
            Ok(Vec::new())
        };
        self.choose(outside, tell, |_| Ok(Vec::new()), &[]).map(drop)
    }

    /// Writes a check that reports invalid integer divisions to the simulator: divisions by zero,
    /// and the division of the lowest number by -1. A processor traps on invalid integer divisions.
    pub(super) fn report_division(&mut self, op: &'s Operation, dividend: Value, divisor: Value) -> Done {
        let is_signed = !matches!(op.kind, OpKind::DivUI | OpKind::RemUI);
        let ty = self.out().type_of(divisor).clone();
        let bits = ty.element().bits();
        // No instruction divides integers that are wider than a word.
        if !self.target.reports_accesses || bits > 64 {
            return Ok(());
        }
        let site = self.site(op);
        let out = self.out();
        let mut impossible = out.formula(&[dividend, divisor], |operands| {
            let [dividend, divisor] = [operands[0], operands[1]];
            let by_zero = divisor.eq(0_i64);
            // Integers narrower than a byte are divided in a wider register, where the division
            // cannot overflow.
            if is_signed && bits >= 8 {
                by_zero | (dividend.eq(i64::MIN >> (64 - bits)) & divisor.eq(-1_i64))
            } else {
                by_zero
            }
        });
        if let Type::Vector(..) = ty {
            let by = vec![("kind".into(), Attribute::Combination(fusebox_core::ir::Combination::Or))];
            impossible = out.op(OpKind::Reduction, &[impossible], by, Type::I1);
        }
        let tell = |this: &mut Self| {
            this.out().act(OpKind::ReportDivision, &[], vec![("site".into(), site)]);
            Ok(Vec::new())
        };
        self.choose(impossible, tell, |_| Ok(Vec::new()), &[]).map(drop)
    }
}

/// Returns the largest power of two that divides `divisor` and `alignment`. A `divisor` of 0 counts
/// as a multiple of every number.
fn common_power_of_two(divisor: u64, alignment: u32) -> u32 {
    let of_divisor = if divisor == 0 { 63 } else { divisor.trailing_zeros() };
    1 << of_divisor.min(alignment.trailing_zeros()).min(30)
}
