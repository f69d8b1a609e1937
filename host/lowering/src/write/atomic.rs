//! Writes atomic updates.

use fusebox_core::ir::{Attribute, Float, OpKind, Operation, Scalar, Type};

use super::function::Body;
use crate::error::{Done, Unsupported};
use crate::llvm::{AtomicOp, IntPredicate, Op};

/// Returns LLVM's atomic operation for the kernel IR's operation with this name.
fn combination(name: &str) -> Option<AtomicOp> {
    Some(match OpKind::of_name(name)? {
        OpKind::AddF => AtomicOp::LLVMAtomicRMWBinOpFAdd,
        OpKind::AddI => AtomicOp::LLVMAtomicRMWBinOpAdd,
        OpKind::AndI => AtomicOp::LLVMAtomicRMWBinOpAnd,
        OpKind::OrI => AtomicOp::LLVMAtomicRMWBinOpOr,
        OpKind::XorI => AtomicOp::LLVMAtomicRMWBinOpXor,
        OpKind::MaxSI => AtomicOp::LLVMAtomicRMWBinOpMax,
        OpKind::MinSI => AtomicOp::LLVMAtomicRMWBinOpMin,
        OpKind::MaxUI => AtomicOp::LLVMAtomicRMWBinOpUMax,
        OpKind::MinUI => AtomicOp::LLVMAtomicRMWBinOpUMin,
        _ => return None,
    })
}

/// Returns the target's name of the sync scope that contains all threads that may update the
/// element.
fn threads(op: &Operation) -> &str {
    match op.attribute("threads") {
        Some(Attribute::Str(threads)) => threads,
        _ => "",
    }
}

impl<'s> Body<'_, '_, 's> {
    pub(super) fn atomic_combine(&mut self, op: &'s Operation) -> Done {
        let by = match op.attribute("by") {
            Some(Attribute::Str(name)) => combination(name),
            _ => None,
        };
        let Some(by) = by else { return Unsupported::because("its combining operation is unknown") };
        let value = self.value(op.operands[0])?;
        let address = self.address(op, 1, op.operands[0])?;
        let llvm = self.llvm();
        let value = match op.attribute("element") {
            Some(Attribute::Type(Type::Scalar(Scalar::Float(float @ (Float::F16 | Float::BF16))))) => {
                llvm.float(*float).map_or(value, |ty| llvm.cast(Op::LLVMBitCast, value, ty))
            }
            _ => value,
        };
        llvm.atomic_update(by, address.pointer, value, threads(op));
        Ok(())
    }

    pub(super) fn atomic_store(&mut self, op: &'s Operation) -> Done {
        let value = self.value(op.operands[0])?;
        let address = self.address(op, 1, op.operands[0])?;
        self.llvm().atomic_store(value, address.pointer, address.alignment, threads(op));
        Ok(())
    }

    /// Writes a compare-and-exchange loop. The loop computes the new bits of the element from the
    /// old bits. The loop stores the new bits if no other thread has changed the element meanwhile.
    /// The loop ends early if the new bits equal the old bits.
    pub(super) fn exchange_loop(&mut self, op: &'s Operation) -> Done {
        let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
        let Some(&old) = body.arguments.first() else { return Unsupported::because("its body takes nothing") };
        let address = self.address(op, 0, old)?;
        let ty = self.type_of(old)?;
        let threads = threads(op);
        let seen = self.llvm().atomic_load(ty, address.pointer, address.alignment, threads);
        let before = self.llvm().current_block();
        let [head, attempt, after] = [(); 3].map(|()| self.llvm().add_block_after_current());
        self.llvm().branch(head);
        self.llvm().position_at_end(head);
        let expected = self.llvm().phi(ty);
        self.llvm().add_incoming(expected, seen, before);
        self.bind(old, expected);
        let new = self.region(body)?;
        let Some(&bits) = new.first() else { return Unsupported::because("its body yields nothing") };
        let llvm = self.llvm();
        let same = llvm.compare_int(IntPredicate::LLVMIntEQ, bits, expected);
        llvm.branch_if(same, after, attempt);
        llvm.position_at_end(attempt);
        let (found, done) = llvm.compare_exchange(address.pointer, expected, bits, threads);
        llvm.add_incoming(expected, found, attempt);
        llvm.branch_if(done, after, head);
        llvm.position_at_end(after);
        Ok(())
    }
}
