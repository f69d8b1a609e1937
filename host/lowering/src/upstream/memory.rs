//! Writes accesses to memory, allocations and atomic updates as operations of the dialect `llvm`.

use fusebox_core::ir::{Attribute, Float, OpKind, Operation, Scalar, Type, Value};

use super::body::{Body, name, type_text};
use crate::error::{Done, Required, Unsupported};

/// The address of an access.
pub(super) struct Address {
    pub(super) pointer: String,
    alignment: i64,
}

/// Returns the name of an atomic operation in the dialect `llvm`.
fn combination(operation: &str) -> Option<&'static str> {
    Some(match OpKind::of_name(operation)? {
        OpKind::AddF => "fadd",
        OpKind::AddI => "add",
        OpKind::AndI => "_and",
        OpKind::OrI => "_or",
        OpKind::XorI => "_xor",
        OpKind::MaxSI => "max",
        OpKind::MinSI => "min",
        OpKind::MaxUI => "umax",
        OpKind::MinUI => "umin",
        _ => return None,
    })
}

impl<'s> Body<'_, '_, 's> {
    /// Computes an address from operands `at` and `at + 1`, which are a pointer and an index. The
    /// index counts elements of the type of `like`.
    fn address(&mut self, op: &Operation, at: usize, like: Value) -> Done<Address> {
        let element = type_text(&Type::Scalar(self.source.type_of(like).element()))?;
        self.address_of(op, at, &element)
    }

    /// Computes an address like [`Self::address`]. The index counts elements of the type `element`.
    pub(super) fn address_of(&mut self, op: &Operation, at: usize, element: &str) -> Done<Address> {
        let &[base, index] = op.operands.get(at..at + 2).required("it has no address")?.first_chunk().required("")?;
        let part = op.integer("complex_part");
        let pair = format!("!llvm.array<2 x {element}>");
        let counted = if part.is_some() { &pair } else { element };
        let mut pointer = name(base);
        if self.number(index) != Some(0) {
            let ty = self.type_of(index)?;
            pointer = self.moved(&pointer, &name(index), &ty, counted);
        }
        // The constant part comes last, so that adjacent accesses reuse the other parts.
        let constants = [(op.integer("offset").unwrap_or(0), counted), (i64::from(part == Some(1)), element)];
        for (offset, counted) in constants.into_iter().filter(|(offset, _)| *offset != 0) {
            let offset = self.integer(offset, "i64");
            pointer = self.moved(&pointer, &offset, "i64", counted);
        }
        Ok(Address { pointer, alignment: op.integer("alignment").unwrap_or(1).max(1) })
    }

    /// Moves a pointer by a number of elements.
    fn moved(&mut self, pointer: &str, by: &str, ty: &str, element: &str) -> String {
        self.result_of(&format!(
            "llvm.getelementptr inbounds {pointer}[{by}] : (!llvm.ptr, {ty}) -> !llvm.ptr, {element}"
        ))
    }

    pub(super) fn integer(&mut self, value: i64, ty: &str) -> String {
        self.result_of(&format!("llvm.mlir.constant({value} : {ty}) : {ty}"))
    }

    pub(super) fn load(&mut self, op: &Operation) -> Done {
        let Address { pointer, alignment } = self.address(op, 0, op.result())?;
        let invariant = if op.attribute("invariant").is_some() { " invariant" } else { "" };
        let (result, ty) = (name(op.result()), self.type_of(op.result())?);
        self.line(&format!(
            "{result} = llvm.load {pointer}{invariant} {{alignment = {alignment} : i64}} : !llvm.ptr -> {ty}"
        ));
        Ok(())
    }

    pub(super) fn store(&mut self, op: &Operation) -> Done {
        let Address { pointer, alignment } = self.address(op, 1, op.operands[0])?;
        let past_caches = op.attribute("past_caches").is_some();
        self.kernel.past_caches |= past_caches;
        let flag = if past_caches { ", nontemporal" } else { "" };
        let (value, ty) = (name(op.operands[0]), self.type_of(op.operands[0])?);
        self.line(&format!("llvm.store {value}, {pointer} {{alignment = {alignment} : i64{flag}}} : {ty}, !llvm.ptr"));
        Ok(())
    }

    pub(super) fn stack_memory(&mut self, op: &Operation) -> Done {
        let number = |name| op.integer(name).required("it has no size or no alignment");
        let (bytes, alignment) = (number("bytes")?, number("alignment")?);
        let one = self.integer(1, "i64");
        let result = name(op.result());
        self.line(&format!(
            "{result} = llvm.alloca {one} x !llvm.array<{bytes} x i8> {{alignment = {alignment} : i64}} : (i64) -> \
             !llvm.ptr"
        ));
        Ok(())
    }

    pub(super) fn constant_memory(&mut self, op: &Operation) -> Done {
        let Some(Attribute::Dense(_, bytes)) = op.attribute("value") else {
            return Unsupported::because("it has no value");
        };
        let number = self.next_constant();
        let symbol = Attribute::symbol(format!("{}.constant{number}", self.kernel.name));
        let text: String = bytes.iter().map(|byte| format!("\\{byte:02X}")).collect();
        let ty = format!("!llvm.array<{} x i8>", bytes.len());
        self.kernel.globals.push_str(&format!(
            "llvm.mlir.global private unnamed_addr constant {symbol}(\"{text}\") {{alignment = 64 : i64}} : {ty}\n"
        ));
        let result = name(op.result());
        self.line(&format!("{result} = llvm.mlir.addressof {symbol} : !llvm.ptr"));
        Ok(())
    }

    pub(super) fn atomic_combine(&mut self, op: &Operation) -> Done {
        let by = match op.attribute("by") {
            Some(Attribute::Str(operation)) => combination(operation),
            _ => None,
        };
        let by = by.required("its combining operation is unknown")?;
        let Address { pointer, .. } = self.address(op, 1, op.operands[0])?;
        let (mut value, mut ty) = (name(op.operands[0]), self.type_of(op.operands[0])?);
        let element = op.attribute("element");
        if let Some(Attribute::Type(Type::Scalar(Scalar::Float(float @ (Float::F16 | Float::BF16))))) = element {
            value = self.result_of(&format!("llvm.bitcast {value} : {ty} to {float}"));
            ty = float.to_string();
        }
        self.result_of(&format!("llvm.atomicrmw {by} {pointer}, {value} monotonic : !llvm.ptr, {ty}"));
        Ok(())
    }

    pub(super) fn atomic_store(&mut self, op: &Operation) -> Done {
        let Address { pointer, alignment } = self.address(op, 1, op.operands[0])?;
        let (value, ty) = (name(op.operands[0]), self.type_of(op.operands[0])?);
        self.line(&format!(
            "llvm.store {value}, {pointer} atomic monotonic {{alignment = {alignment} : i64}} : {ty}, !llvm.ptr"
        ));
        Ok(())
    }

    /// Writes a compare-and-exchange loop. The loop computes the new bits of the element from the
    /// old bits. The loop stores the new bits if no other thread has changed the element meanwhile.
    /// The loop ends early if the new bits equal the old bits.
    pub(super) fn exchange_loop(&mut self, op: &'s Operation) -> Done {
        let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
        let (&old, &new) = body.arguments.first().zip(body.yielded().first()).required("its body computes nothing")?;
        let Address { pointer, alignment } = self.address(op, 0, old)?;
        let ty = self.type_of(old)?;
        let seen = self.result_of(&format!(
            "llvm.load {pointer} atomic unordered {{alignment = {alignment} : i64}} : !llvm.ptr -> {ty}"
        ));
        let (old, new) = (name(old), name(new));
        let last = self.fresh_name();
        self.line(&format!("{last} = scf.while ({old} = {seen}) : ({ty}) -> {ty} {{"));
        self.inside(body)?;
        let same = self.result_of(&format!("llvm.icmp \"eq\" {new}, {old} : {ty}"));
        let next = self.fresh_name();
        self.line(&format!("{next}:2 = scf.if {same} -> (i1, {ty}) {{"));
        let no = self.result_of("llvm.mlir.constant(false) : i1");
        self.line(&format!("scf.yield {no}, {old} : i1, {ty}"));
        self.line("} else {");
        let pair =
            self.result_of(&format!("llvm.cmpxchg {pointer}, {old}, {new} monotonic monotonic : !llvm.ptr, {ty}"));
        let fields = [0, 1]
            .map(|field| self.result_of(&format!("llvm.extractvalue {pair}[{field}] : !llvm.struct<({ty}, i1)>")));
        let yes = self.result_of("llvm.mlir.constant(true) : i1");
        let again = self.result_of(&format!("llvm.xor {}, {yes} : i1", fields[1]));
        self.line(&format!("scf.yield {again}, {} : i1, {ty}", fields[0]));
        self.line("}");
        self.line(&format!("scf.condition({next}#0) {next}#1 : {ty}"));
        self.line("} do {");
        let found = self.fresh_name();
        self.line(&format!("^bb0({found}: {ty}):"));
        self.line(&format!("scf.yield {found} : {ty}"));
        self.line("}");
        Ok(())
    }
}
