//! Appends instructions at the builder's position.

use std::ffi::c_uint;

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;
use llvm_sys::{LLVMInlineAsmDialect, LLVMOpcode, LLVMRealPredicate};

pub(crate) use llvm_sys::LLVMIntPredicate as IntPredicate;

use super::{Bb, Module, Ty, Val};

/// Opcode of a two-operand or conversion instruction.
pub(crate) type Op = LLVMOpcode;

/// Fast-math flags of a floating-point instruction, in LLVM's encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FastMath(pub(crate) c_uint);

const NAME: *const std::ffi::c_char = c"".as_ptr();

#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one reason for all: operands are values of this module whose types fit the instruction; callers derive them \
              from verified IR, and LLVM's own verifier checks the module before anything is generated from it"
)]
impl Module {
    pub(crate) fn position_at_end(&self, block: Bb) {
        unsafe { LLVMPositionBuilderAtEnd(self.builder, block.0) }
    }

    pub(crate) fn current_block(&self) -> Bb {
        unsafe { Bb(LLVMGetInsertBlock(self.builder)) }
    }

    /// Adds a block to the function that contains the builder's position.
    pub(crate) fn add_block_after_current(&self) -> Bb {
        unsafe { self.add_block(Val(LLVMGetBasicBlockParent(LLVMGetInsertBlock(self.builder)))) }
    }

    pub(crate) fn binary(&self, op: Op, a: Val, b: Val) -> Val {
        unsafe { Val(LLVMBuildBinOp(self.builder, op, a.0, b.0, NAME)) }
    }

    /// Like `binary`, for operations whose signed result does not overflow.
    pub(crate) fn binary_nsw(&self, op: Op, a: Val, b: Val) -> Val {
        let result = self.binary(op, a, b);
        unsafe {
            if !LLVMIsAInstruction(result.0).is_null() {
                LLVMSetNSW(result.0, 1);
            }
        }
        result
    }

    pub(crate) fn negate_float(&self, a: Val, flags: FastMath) -> Val {
        self.with_flags(unsafe { Val(LLVMBuildFNeg(self.builder, a.0, NAME)) }, flags)
    }

    /// Sets fast-math flags, unless LLVM has folded the instruction to a constant, which has no
    /// flags.
    pub(crate) fn with_flags(&self, value: Val, flags: FastMath) -> Val {
        unsafe {
            if flags.0 != 0 && !LLVMIsAInstruction(value.0).is_null() && LLVMCanValueUseFastMathFlags(value.0) != 0 {
                LLVMSetFastMathFlags(value.0, flags.0);
            }
        }
        value
    }

    pub(crate) fn cast(&self, op: Op, value: Val, ty: Ty) -> Val {
        unsafe { Val(LLVMBuildCast(self.builder, op, value.0, ty.0, NAME)) }
    }

    /// Extends an integer that is never negative to a wider type.
    pub(crate) fn zext_non_negative(&self, value: Val, ty: Ty) -> Val {
        let result = self.cast(Op::LLVMZExt, value, ty);
        unsafe {
            if !LLVMIsAInstruction(result.0).is_null() {
                LLVMSetNNeg(result.0, 1);
            }
        }
        result
    }

    pub(crate) fn compare_int(&self, predicate: IntPredicate, a: Val, b: Val) -> Val {
        unsafe { Val(LLVMBuildICmp(self.builder, predicate, a.0, b.0, NAME)) }
    }

    pub(crate) fn compare_float(&self, predicate: LLVMRealPredicate, a: Val, b: Val) -> Val {
        unsafe { Val(LLVMBuildFCmp(self.builder, predicate, a.0, b.0, NAME)) }
    }

    pub(crate) fn select(&self, condition: Val, a: Val, b: Val) -> Val {
        unsafe { Val(LLVMBuildSelect(self.builder, condition.0, a.0, b.0, NAME)) }
    }

    pub(crate) fn load(&self, ty: Ty, pointer: Val, alignment: u32) -> Val {
        unsafe {
            let load = LLVMBuildLoad2(self.builder, ty.0, pointer.0, NAME);
            LLVMSetAlignment(load, alignment);
            Val(load)
        }
    }

    pub(crate) fn store(&self, value: Val, pointer: Val, alignment: u32) -> Val {
        unsafe {
            let store = LLVMBuildStore(self.builder, value.0, pointer.0);
            LLVMSetAlignment(store, alignment);
            Val(store)
        }
    }

    /// Copies `bytes` bytes between places that do not overlap. A place is a pointer with its
    /// alignment in bytes.
    pub(crate) fn copy_memory(&self, to: (Val, u32), from: (Val, u32), bytes: Val) {
        unsafe { LLVMBuildMemCpy(self.builder, to.0.0, to.1, from.0.0, from.1, bytes.0) };
    }

    /// Sets `bytes` bytes to zero, from a place on. A place is a pointer with its alignment in
    /// bytes.
    pub(crate) fn fill_with_zeros(&self, to: (Val, u32), bytes: Val) {
        unsafe { LLVMBuildMemSet(self.builder, to.0.0, self.const_int(self.int(8), 0).0, bytes.0, to.1) };
    }

    /// Marks a store as non-temporal, so that it bypasses the caches. Other threads may see the
    /// store late; [`Module::settle_stores`] waits until they see it.
    pub(crate) fn mark_past_caches(&self, store: Val) {
        self.set_metadata(store, "nontemporal", &[self.const_int(self.int(32), 1)]);
    }

    /// Appends a fence that waits until other threads see every earlier store, including
    /// non-temporal stores.
    pub(crate) fn settle_stores(&self) {
        let ordering = llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
        unsafe { LLVMBuildFence(self.builder, ordering, 0, NAME) };
    }

    /// Appends a copy of `bytes` bytes between memory regions that do not overlap.
    pub(crate) fn copy(&self, from: Val, to: Val, bytes: Val, alignment: u32) {
        unsafe { LLVMBuildMemCpy(self.builder, to.0, alignment, from.0, alignment, bytes.0) };
    }

    /// Computes the address of the element with index `index` in an array. The elements have type
    /// `element`. The caller guarantees that the index is in bounds.
    pub(crate) fn element_pointer(&self, element: Ty, pointer: Val, index: Val) -> Val {
        let mut indices = [index.0];
        unsafe { Val(LLVMBuildInBoundsGEP2(self.builder, element.0, pointer.0, indices.as_mut_ptr(), 1, NAME)) }
    }

    /// Allocates an array on the stack. The array lives until the function returns.
    pub(crate) fn stack_array(&self, element: Ty, length: u64, alignment: u32) -> Val {
        unsafe {
            let slot = LLVMBuildAlloca(self.builder, self.array(element, length).0, NAME);
            LLVMSetAlignment(slot, alignment);
            Val(slot)
        }
    }

    /// Adds a phi node: a value that depends on the preceding block. [`Module::add_incoming`] adds
    /// the operands of the phi node.
    pub(crate) fn phi(&self, ty: Ty) -> Val {
        unsafe { Val(LLVMBuildPhi(self.builder, ty.0, NAME)) }
    }

    pub(crate) fn add_incoming(&self, phi: Val, value: Val, from: Bb) {
        let (mut values, mut blocks) = ([value.0], [from.0]);
        unsafe { LLVMAddIncoming(phi.0, values.as_mut_ptr(), blocks.as_mut_ptr(), 1) }
    }

    pub(crate) fn branch(&self, to: Bb) {
        unsafe { LLVMBuildBr(self.builder, to.0) };
    }

    /// Adds the jump that closes a loop whose body LLVM must not copy: LLVM may vectorise the loop
    /// but neither unroll nor interleave it.
    pub(crate) fn branch_back_in_one_copy(&self, to: Bb) {
        self.branch_with_wish(to, "llvm.loop.unroll.disable", None);
    }

    /// Adds the jump that closes a loop of few iterations. The vectoriser rewrites a loop with this
    /// jump as a loop over full vectors and a scalar loop for the remaining iterations.
    pub(crate) fn branch_back_in_whole_vectors(&self, to: Bb) {
        self.branch_with_wish(to, "llvm.loop.vectorize.enable", Some(self.const_int(self.int(1), 1)));
    }

    /// Adds the jump that closes a loop to which the vectoriser adds no scalar loop for remaining
    /// iterations. The loop's number of iterations fills whole vectors, so that the vectoriser
    /// masks no lanes.
    pub(crate) fn branch_back_without_remainder(&self, to: Bb) {
        self.branch_with_wish(to, "llvm.loop.vectorize.predicate.enable", Some(self.const_int(self.int(1), 1)));
    }

    /// Adds the jump that closes a loop of which LLVM computes `count` iterations together: LLVM
    /// unrolls the loop and joins the copies of its inner loop.
    pub(crate) fn branch_back_jammed(&self, to: Bb, count: i64) {
        self.branch_with_wish(to, "llvm.loop.unroll_and_jam.count", Some(self.const_int(self.int(32), count)));
    }

    /// Adds the jump that closes a loop of which the vectoriser computes `count` vectors in each
    /// iteration.
    pub(crate) fn branch_back_interleaved(&self, to: Bb, count: i64) {
        self.branch_with_wish(to, "llvm.loop.interleave.count", Some(self.const_int(self.int(32), count)));
    }

    /// Adds the jump that closes a loop whose iterations run in order. LLVM does not vectorise a
    /// loop with this jump.
    pub(crate) fn branch_back_in_order(&self, to: Bb) {
        // LLVM merges an empty block into its predecessor and moves the metadata there. If the
        // predecessor closes an inner loop, the metadata would apply to the inner loop. This call
        // keeps the block non-empty and generates no machine instruction.
        self.call_intrinsic("llvm.sideeffect", &[], &[]);
        self.branch_with_wish(to, "llvm.loop.isvectorized", Some(self.const_int(self.int(32), 1)));
    }

    fn branch_with_wish(&self, to: Bb, flag: &str, value: Option<Val>) {
        // SAFETY: all values belong to this context. A loop's metadata node refers to itself, so it
        // is created with a temporary operand, which is then replaced.
        unsafe {
            let branch = LLVMBuildBr(self.builder, to.0);
            let text = LLVMMDStringInContext2(self.context, flag.as_ptr().cast(), flag.len());
            let value = value.map(|value| LLVMValueAsMetadata(value.0));
            let mut wish: Vec<LLVMMetadataRef> = [text].into_iter().chain(value).collect();
            let wish = LLVMMDNodeInContext2(self.context, wish.as_mut_ptr(), wish.len());
            let stand_in = LLVMTemporaryMDNode(self.context, std::ptr::null_mut(), 0);
            let node = LLVMMDNodeInContext2(self.context, [stand_in, wish].as_mut_ptr(), 2);
            LLVMMetadataReplaceAllUsesWith(stand_in, node);
            let kind = LLVMGetMDKindIDInContext(self.context, c"llvm.loop".as_ptr(), 9);
            LLVMSetMetadata(branch, kind, LLVMMetadataAsValue(self.context, node));
        }
    }

    /// Returns the value of a constant integer, `None` for other values.
    pub(crate) fn as_constant(&self, value: Val) -> Option<i64> {
        // SAFETY: the value is alive; only constant integers are read, and callers pass loop bounds
        // of at most 64 bits.
        unsafe {
            let constant = LLVMIsAConstantInt(value.0);
            (!constant.is_null()).then(|| LLVMConstIntGetSExtValue(constant))
        }
    }

    pub(crate) fn branch_if(&self, condition: Val, then: Bb, otherwise: Bb) {
        unsafe { LLVMBuildCondBr(self.builder, condition.0, then.0, otherwise.0) };
    }

    pub(crate) fn switch(&self, value: Val, cases: &[(Val, Bb)], default: Bb) {
        unsafe {
            let switch = LLVMBuildSwitch(self.builder, value.0, default.0, cases.len() as c_uint);
            cases.iter().for_each(|(value, block)| LLVMAddCase(switch, value.0, block.0));
        }
    }

    pub(crate) fn call(&self, signature: Ty, function: Val, arguments: &[Val]) -> Val {
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|argument| argument.0).collect();
        unsafe {
            Val(LLVMBuildCall2(self.builder, signature.0, function.0, raw.as_mut_ptr(), raw.len() as c_uint, NAME))
        }
    }

    /// Calls an intrinsic whose overload is selected by `types`.
    pub(crate) fn call_intrinsic(&self, name: &str, types: &[Ty], arguments: &[Val]) -> Val {
        let (function, signature) = self.intrinsic(name, types);
        self.call(signature, function, arguments)
    }

    /// Calls inline assembly of the target. All threads execute the assembly together, and LLVM
    /// does not drop the call.
    pub(crate) fn call_assembly(&self, text: &str, constraints: &str, result: Ty, arguments: &[Val]) -> Val {
        let parameters: Vec<Ty> = arguments.iter().map(|&argument| self.type_of(argument)).collect();
        let signature = self.signature(result, &parameters);
        let assembly = unsafe {
            let (text, constraints) = (text.as_bytes(), constraints.as_bytes());
            Val(LLVMGetInlineAsm(
                signature.0,
                text.as_ptr().cast(),
                text.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                1,
                0,
                LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            ))
        };
        let call = self.call(signature, assembly, arguments);
        self.add_call_attribute(call, "convergent");
        call
    }

    pub(crate) fn return_value(&self, value: Option<Val>) {
        unsafe {
            match value {
                Some(value) => LLVMBuildRet(self.builder, value.0),
                None => LLVMBuildRetVoid(self.builder),
            }
        };
    }

    pub(crate) fn field(&self, aggregate: Val, index: usize) -> Val {
        unsafe { Val(LLVMBuildExtractValue(self.builder, aggregate.0, index as c_uint, NAME)) }
    }

    pub(crate) fn with_field(&self, aggregate: Val, value: Val, index: usize) -> Val {
        unsafe { Val(LLVMBuildInsertValue(self.builder, aggregate.0, value.0, index as c_uint, NAME)) }
    }

    pub(crate) fn lane(&self, vector: Val, index: Val) -> Val {
        unsafe { Val(LLVMBuildExtractElement(self.builder, vector.0, index.0, NAME)) }
    }

    /// Builds a vector with this value in all `lanes` lanes.
    pub(crate) fn splat(&self, value: Val, lanes: u32) -> Val {
        let ty = self.vector(self.type_of(value), lanes);
        let first = self.with_lane(self.undefined(ty), value, self.const_int(self.int(32), 0));
        self.shuffled(first, first, &vec![0; lanes as usize])
    }

    /// Builds a vector from lanes of two vectors that have the same type. `lanes` lists the numbers
    /// of the selected lanes. The lanes of `first` have the numbers from 0 on, and the lanes of
    /// `second` have the numbers after them.
    pub(crate) fn shuffled(&self, first: Val, second: Val, lanes: &[i64]) -> Val {
        let mut numbers: Vec<LLVMValueRef> = lanes.iter().map(|&lane| self.const_int(self.int(32), lane).0).collect();
        unsafe {
            let mask = LLVMConstVector(numbers.as_mut_ptr(), numbers.len() as c_uint);
            Val(LLVMBuildShuffleVector(self.builder, first.0, second.0, mask, NAME))
        }
    }

    pub(crate) fn with_lane(&self, vector: Val, value: Val, index: Val) -> Val {
        unsafe { Val(LLVMBuildInsertElement(self.builder, vector.0, value.0, index.0, NAME)) }
    }
}
