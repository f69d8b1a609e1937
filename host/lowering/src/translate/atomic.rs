//! `xla_gpu.atomic_rmw`: updates of memory that several threads may update.
//!
//! Updates that the target has an instruction for are recognised in the region. Any other is a loop that computes
//! the new element and replaces the old one if it is still there; it ends early if nothing changes. Elements smaller
//! than what the target replaces are left to LLVM, which does the same with the word around them. Where no other
//! thread can be, an update is a read, the region, and a write.

use std::collections::HashSet;

use super::Reach;
use super::function::{Done, Function};
use super::memory::{Place, static_tensor};
use super::simt::AccessKind;
use super::slot::Slot;
use crate::Target;
use crate::error::Unsupported;
use crate::llvm::{AtomicOp, Op, Ty, Val};
use crate::mlir::{Block, FloatFormat, Operation, Type, Value, ValueKey};

/// What a region does to the old element.
enum Update {
    /// It is replaced by a value that does not depend on it.
    Overwrite(Value),
    /// It is combined with such a value, by one instruction.
    Combine(AtomicOp, Value),
    /// Real and imaginary part are, each by itself.
    Parts(AtomicOp, [Value; 2]),
    /// Anything else.
    Other,
}

impl Function<'_, '_, '_> {
    pub(super) fn atomic_update(&mut self, op: Operation) -> Done {
        let Some(body) = op.block(0) else { return Unsupported::because("it has no body") };
        let (_, element) = static_tensor(&op.operand(0).ty())?;
        let place = self.place(op, op.operand(0), 1)?;
        if place.tensor.known.invariant {
            return Unsupported::because("it updates a tensor that is read-only");
        }
        self.report(op, &place, &element, 1, AccessKind::Atomic);
        // The simulator runs one thread at a time.
        if place.tensor.known.reach == Reach::Thread || self.translation.target == Target::Simt {
            let old = self.read_place(&place, &element)?;
            let new = self.updated(body, old)?;
            self.write_place(&place, new, &element)?;
        } else {
            self.shared_update(&place, &element, body)?;
        }
        let tensor = self.slot(op.operand(0))?;
        self.bind(op.result(0), tensor);
        Ok(())
    }

    fn shared_update(&mut self, place: &Place, element: &Type, body: Block) -> Done {
        let dependent = dependents(body);
        let Some(new) = body.terminator().map(|end| end.operand(0)) else {
            return Unsupported::because("its body has no end");
        };
        let update = self.recognised(element, body.argument(0), new, &dependent);
        if !matches!(update, Update::Other) {
            for op in body.operations().filter(|op| op.name() != "xla_gpu.yield") {
                if !op.results().any(|result| dependent.contains(&result.key())) {
                    self.single(op)?;
                }
            }
        }
        match update {
            Update::Overwrite(value) => self.overwrite(place, element, value),
            Update::Combine(op, value) => {
                let value = self.plain(value)?;
                self.combine(place, op, value, element)
            }
            Update::Parts(op, [re, im]) => {
                let Type::Complex(part) = element else { return Unsupported::because("its element has no parts") };
                let (re, im) = (self.plain(re)?, self.plain(im)?);
                let (at_re, at_im) = self.parts(place, *part)?;
                self.combine(&at_re, op, re, &Type::Float(*part))?;
                self.combine(&at_im, op, im, &Type::Float(*part))
            }
            Update::Other => self.exchange_loop(place, element, body),
        }
    }

    /// What the target calls the threads that may update this.
    fn threads_around(&self, place: &Place) -> &'static str {
        match (&self.translation.target, place.tensor.known.reach) {
            (Target::Nvptx { .. }, Reach::Kernel) => "device",
            (Target::Nvptx { .. }, _) => "block",
            (Target::Amdgpu { .. }, Reach::Kernel) => "agent",
            (Target::Amdgpu { .. }, _) => "workgroup",
            (Target::Cpu | Target::Simt, _) => "",
        }
    }

    fn combine(&mut self, place: &Place, op: AtomicOp, value: Val, element: &Type) -> Done {
        let llvm = self.llvm();
        let value = match element {
            Type::Float(FloatFormat::F16) => llvm.cast(Op::LLVMBitCast, value, llvm.half()),
            Type::Float(FloatFormat::Bf16) => llvm.cast(Op::LLVMBitCast, value, llvm.bfloat()),
            _ => value,
        };
        llvm.atomic_update(op, place.pointer, value, self.threads_around(place));
        Ok(())
    }

    /// Which value stays when several are written at once is open, but it is one of them.
    fn overwrite(&mut self, place: &Place, element: &Type, value: Value) -> Done {
        let value = self.slot(value)?;
        let bytes = element.element_bytes().unwrap_or(0);
        let (bits, ty) = self.encoded(&value, element)?;
        let llvm = self.llvm();
        if bytes <= self.translation.traits.atomic_bytes {
            llvm.atomic_store(bits, place.pointer, place.alignment, self.threads_around(place));
        } else {
            // GPUs write aligned 16 bytes in one transaction.
            let halves = llvm.vector(llvm.int(llvm.int_bits(ty) / 2), 2);
            llvm.store(llvm.cast(Op::LLVMBitCast, bits, halves), place.pointer, place.alignment);
        }
        Ok(())
    }

    fn exchange_loop(&mut self, place: &Place, element: &Type, body: Block) -> Done {
        let bytes = element.element_bytes().unwrap_or(0);
        if bytes > self.translation.traits.atomic_bytes {
            return Unsupported::because(format!(
                "an element has {bytes} bytes; only sums of its parts are atomic on this target"
            ));
        }
        let ty = self.llvm().int(8 * bytes);
        let threads = self.threads_around(place);
        let seen = self.llvm().atomic_load(ty, place.pointer, place.alignment, threads);
        let before = self.llvm().current_block();
        let (head, attempt, after) = (self.new_block(), self.new_block(), self.new_block());
        self.llvm().branch(head);
        self.llvm().position_at_end(head);
        let expected = self.llvm().phi(ty);
        self.llvm().add_incoming(expected, seen, before);
        let bits = self.scoped(|this| {
            let old = this.decoded(expected, element)?;
            let new = this.updated(body, old)?;
            Ok(this.encoded(&new, element)?.0)
        })?;
        let llvm = self.llvm();
        let same = llvm.compare_int(crate::llvm::IntPredicate::LLVMIntEQ, bits, expected);
        llvm.branch_if(same, after, attempt);
        llvm.position_at_end(attempt);
        let (found, done) = llvm.compare_exchange(place.pointer, expected, bits, threads);
        llvm.add_incoming(expected, found, attempt);
        llvm.branch_if(done, after, head);
        llvm.position_at_end(after);
        Ok(())
    }

    /// The new element that the region gives for an old one.
    fn updated(&mut self, body: Block, old: Slot) -> Done<Slot> {
        self.bind(body.argument(0), old);
        let new = self.region(Some(body))?;
        match new.into_iter().next() {
            Some(new) => Ok(new),
            None => Unsupported::because("its body yields nothing"),
        }
    }

    /// An element as the bits it has in memory, and their type.
    fn encoded(&mut self, slot: &Slot, element: &Type) -> Done<(Val, Ty)> {
        let ty = self.llvm().int(8 * element.element_bytes().unwrap_or(0));
        let bits = match slot {
            Slot::Plain(value) => self.resized_as(self.as_bits(*value), self.llvm().int_bits(ty), false),
            Slot::Complex(re, im) => {
                let width = self.llvm().int_bits(ty);
                let re = self.resized_as(self.as_bits(*re), width, false);
                let im = self.resized_as(self.as_bits(*im), width, false);
                let shift = self.llvm().const_int(ty, i64::from(width / 2));
                let im = self.llvm().binary(Op::LLVMShl, im, shift);
                self.llvm().binary(Op::LLVMOr, im, re)
            }
            _ => return Unsupported::because("what it writes is no element"),
        };
        Ok((bits, ty))
    }

    /// The element of these bits.
    fn decoded(&mut self, bits: Val, element: &Type) -> Done<Slot> {
        let width = self.llvm().int_bits(self.llvm().type_of(bits));
        Ok(match element {
            Type::Integer(1) => {
                let zero = self.llvm().const_int(self.llvm().type_of(bits), 0);
                Slot::Plain(self.llvm().compare_int(crate::llvm::IntPredicate::LLVMIntNE, bits, zero))
            }
            Type::Integer(narrow) => Slot::Plain(self.resized(bits, *narrow)),
            Type::Complex(part) => {
                let ty = self.type_of(&Type::Float(*part))?;
                let shift = self.llvm().const_int(self.llvm().type_of(bits), i64::from(width / 2));
                let high = self.llvm().binary(Op::LLVMLShr, bits, shift);
                let [re, im] = [bits, high].map(|bits| self.of_bits(self.resized(bits, width / 2), ty));
                Slot::Complex(re, im)
            }
            other => Slot::Plain(self.of_bits(bits, self.type_of(other)?)),
        })
    }

    /// What the region does, if it is what one instruction of the target does.
    fn recognised(&self, element: &Type, old: Value, new: Value, dependent: &HashSet<ValueKey>) -> Update {
        if !dependent.contains(&new.key()) {
            return Update::Overwrite(new);
        }
        let Some(op) = new.definition() else { return Update::Other };
        match (element, op.name()) {
            (Type::Complex(part), "complex.create") => {
                let part_of = |position: usize, name: &str| {
                    let (op, value) = self.combination(op.operand(position), dependent, &|value| {
                        value.definition().is_some_and(|it| it.name() == name && it.operand(0).key() == old.key())
                    })?;
                    self.is_native(op, &Type::Float(*part)).then_some((op, value))
                };
                match (part_of(0, "complex.re"), part_of(1, "complex.im")) {
                    (Some((op, re)), Some((other, im))) if op == other => Update::Parts(op, [re, im]),
                    _ => Update::Other,
                }
            }
            (Type::Float(FloatFormat::F16 | FloatFormat::Bf16), "arith.truncf") => {
                let widened = |value: Value| {
                    let widens = |op: &Operation| op.name() == "arith.extf" && op.operand(0).ty() == *element;
                    value.definition().filter(widens).map(|op| op.operand(0))
                };
                let is_old = |value: Value| widened(value).is_some_and(|value| value.key() == old.key());
                match self.combination(op.operand(0), dependent, &is_old) {
                    Some((op, value)) if self.is_native(op, element) => widened(value)
                        .filter(|value| !dependent.contains(&value.key()))
                        .map_or(Update::Other, |value| Update::Combine(op, value)),
                    _ => Update::Other,
                }
            }
            _ => match self.combination(new, dependent, &|value| value.key() == old.key()) {
                Some((op, value)) if self.is_native(op, element) => Update::Combine(op, value),
                _ => Update::Other,
            },
        }
    }

    /// The operation that combines the old element with a value that does not depend on it, and the value.
    fn combination(
        &self,
        new: Value,
        dependent: &HashSet<ValueKey>,
        is_old: &dyn Fn(Value) -> bool,
    ) -> Option<(AtomicOp, Value)> {
        let op = new.definition()?;
        let combination = match op.name() {
            "arith.addf" => AtomicOp::LLVMAtomicRMWBinOpFAdd,
            "arith.addi" => AtomicOp::LLVMAtomicRMWBinOpAdd,
            "arith.andi" => AtomicOp::LLVMAtomicRMWBinOpAnd,
            "arith.ori" => AtomicOp::LLVMAtomicRMWBinOpOr,
            "arith.xori" => AtomicOp::LLVMAtomicRMWBinOpXor,
            "arith.maxsi" => AtomicOp::LLVMAtomicRMWBinOpMax,
            "arith.minsi" => AtomicOp::LLVMAtomicRMWBinOpMin,
            "arith.maxui" => AtomicOp::LLVMAtomicRMWBinOpUMax,
            "arith.minui" => AtomicOp::LLVMAtomicRMWBinOpUMin,
            _ => return None,
        };
        let (a, b) = (op.operand(0), op.operand(1));
        let free = |value: Value| !dependent.contains(&value.key());
        match (is_old(a) && free(b), is_old(b) && free(a)) {
            (true, _) => Some((combination, b)),
            (_, true) => Some((combination, a)),
            _ => None,
        }
    }

    /// Whether the target, or LLVM for it, does this to such an element in memory.
    fn is_native(&self, op: AtomicOp, element: &Type) -> bool {
        let adds = self.translation.traits.atomic_adds;
        match element {
            Type::Integer(bits) => matches!(bits, 8 | 16 | 32 | 64),
            Type::Float(format) if op == AtomicOp::LLVMAtomicRMWBinOpFAdd => match format {
                FloatFormat::F16 => adds.f16,
                FloatFormat::Bf16 => adds.bf16,
                FloatFormat::F32 => adds.f32,
                FloatFormat::F64 => adds.f64,
                _ => false,
            },
            _ => false,
        }
    }
}

/// The values in a region that depend on its argument, with the argument.
fn dependents(body: Block) -> HashSet<ValueKey> {
    let mut found: HashSet<ValueKey> = body.arguments().map(Value::key).collect();
    for op in body.operations() {
        let mut depends = false;
        op.walk(&mut |nested| depends |= nested.operands().any(|operand| found.contains(&operand.key())));
        if depends {
            found.extend(op.results().map(Value::key));
        }
    }
    found
}
