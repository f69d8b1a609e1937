//! Builds atomic instructions. A fence orders other memory accesses. Atomic loads, stores and
//! updates do not order other memory accesses.

use llvm_sys::core::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp};

use super::module::c_string;
use super::{Module, Ty, Val};

/// Operation by which an atomic instruction combines a value with an element in memory.
pub(crate) type AtomicOp = LLVMAtomicRMWBinOp;

const RELAXED: LLVMAtomicOrdering = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;

#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one reason for all: that of `builder`; sizes and alignments are what the target does in one instruction, or \
              LLVM expands to a loop, and callers see to that"
)]
impl Module {
    /// Returns LLVM's number for a sync scope: the set of threads that see an access as atomic.
    /// `scope` is the target's name for the sync scope. An empty `scope` stands for all threads.
    fn threads(&self, scope: &str) -> u32 {
        unsafe { LLVMGetSyncScopeID(self.context, c_string(scope).as_ptr(), scope.len()) }
    }

    pub(crate) fn atomic_load(&self, ty: Ty, pointer: Val, alignment: u32, scope: &str) -> Val {
        let load = self.load(ty, pointer, alignment);
        unsafe {
            // Only this weakest ordering lets LLVM drop an unused load. NVIDIA's code generator
            // crashes on unused loads of a stronger ordering.
            LLVMSetOrdering(load.0, LLVMAtomicOrdering::LLVMAtomicOrderingUnordered);
            LLVMSetAtomicSyncScopeID(load.0, self.threads(scope));
        }
        load
    }

    pub(crate) fn atomic_store(&self, value: Val, pointer: Val, alignment: u32, scope: &str) {
        unsafe {
            let store = LLVMBuildStore(self.builder, value.0, pointer.0);
            LLVMSetAlignment(store, alignment);
            LLVMSetOrdering(store, RELAXED);
            LLVMSetAtomicSyncScopeID(store, self.threads(scope));
        }
    }

    /// Appends a fence. The fence makes earlier writes of the executing thread visible to the
    /// threads of `scope`. After the fence, the executing thread also sees all writes that the
    /// threads of `scope` made before their own fences.
    pub(crate) fn fence(&self, scope: &str) {
        let scope = self.threads(scope);
        let ordering = LLVMAtomicOrdering::LLVMAtomicOrderingAcquireRelease;
        unsafe { LLVMBuildFenceSyncScope(self.builder, ordering, scope, c"".as_ptr()) };
    }

    /// Executes `*pointer = op(*pointer, value)`.
    pub(crate) fn atomic_update(&self, op: AtomicOp, pointer: Val, value: Val, scope: &str) {
        let scope = self.threads(scope);
        unsafe { LLVMBuildAtomicRMWSyncScope(self.builder, op, pointer.0, value.0, RELAXED, scope) };
    }

    /// Executes `*pointer = new` if `*pointer` equals `expected`. Returns the old value, and
    /// whether it equalled `expected`.
    pub(crate) fn compare_exchange(&self, pointer: Val, expected: Val, new: Val, scope: &str) -> (Val, Val) {
        let scope = self.threads(scope);
        let pair = unsafe {
            let (builder, pointer) = (self.builder, pointer.0);
            Val(LLVMBuildAtomicCmpXchgSyncScope(builder, pointer, expected.0, new.0, RELAXED, RELAXED, scope))
        };
        (self.field(pair, 0), self.field(pair, 1))
    }
}
