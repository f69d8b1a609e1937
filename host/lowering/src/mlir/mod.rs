//! The part of MLIR's C API that lowering reads and rewrites, as small copyable handles.
//!
//! Handles carry no lifetime: they are made from a [`Source`](source::Source) and used while it lives, on
//! its thread. Nothing outside this crate sees one.

mod attribute;
mod grammar;
mod sizes;
pub(crate) mod source;
mod tokens;
mod types;

use std::ffi::c_void;

use mlir_sys::*;

pub(crate) use attribute::Attribute;
pub(crate) use types::{FloatFormat, Type};

/// An operation in a live module.
#[derive(Clone, Copy)]
pub(crate) struct Operation(pub(crate) MlirOperation);

/// A value in a live module.
#[derive(Clone, Copy)]
pub(crate) struct Value(pub(crate) MlirValue);

/// A block in a live module.
#[derive(Clone, Copy)]
pub(crate) struct Block(pub(crate) MlirBlock);

/// Identity of a value, for maps.
pub(crate) type ValueKey = *const c_void;

pub(crate) fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}

fn text_of(raw: MlirStringRef) -> &'static str {
    if raw.length == 0 {
        return "";
    }
    // SAFETY: used for interned identifiers and uniqued attributes only, which live as long as the context.
    let bytes = unsafe { std::slice::from_raw_parts(raw.data.cast::<u8>(), raw.length) };
    std::str::from_utf8(bytes).unwrap_or("<not UTF-8>")
}

unsafe extern "C" fn append(text: MlirStringRef, target: *mut c_void) {
    // SAFETY: `printed` passes a live `String`, MLIR a valid range of bytes.
    let (target, bytes) =
        unsafe { (&mut *target.cast::<String>(), std::slice::from_raw_parts(text.data.cast::<u8>(), text.length)) };
    target.push_str(&String::from_utf8_lossy(bytes));
}

pub(crate) fn printed(print: impl FnOnce(MlirStringCallback, *mut c_void)) -> String {
    let mut text = String::new();
    print(Some(append), (&raw mut text).cast());
    text
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        // SAFETY: the operation is alive; identifiers are interned in the context.
        unsafe { text_of(mlirIdentifierStr(mlirOperationGetName(self.0))) }
    }

    pub(crate) fn location(self) -> String {
        // SAFETY: the operation is alive.
        let location = unsafe { mlirOperationGetLocation(self.0) };
        let text = printed(|callback, data| {
            // SAFETY: `append` matches the callback type and `data` is its string.
            unsafe { mlirLocationPrint(location, callback, data) }
        });
        text.strip_prefix("loc(").and_then(|text| text.strip_suffix(')')).unwrap_or(&text).replace('"', "")
    }

    pub(crate) fn text(self) -> String {
        printed(|callback, data| {
            // SAFETY: as in `location`.
            unsafe { mlirOperationPrint(self.0, callback, data) }
        })
    }

    /// In generic form, with locations.
    pub(crate) fn generic_text(self) -> String {
        // SAFETY: the operation is alive; the flags are made, used and destroyed here.
        unsafe {
            let flags = mlirOpPrintingFlagsCreate();
            mlirOpPrintingFlagsPrintGenericOpForm(flags);
            mlirOpPrintingFlagsEnableDebugInfo(flags, true, false);
            mlirOpPrintingFlagsUseLocalScope(flags);
            let text = printed(|callback, data| mlirOperationPrintWithFlags(self.0, flags, callback, data));
            mlirOpPrintingFlagsDestroy(flags);
            text
        }
    }

    pub(crate) fn operand_count(self) -> usize {
        // SAFETY: the operation is alive.
        unsafe { mlirOperationGetNumOperands(self.0) as usize }
    }

    pub(crate) fn operand(self, index: usize) -> Value {
        debug_assert!(index < self.operand_count());
        // SAFETY: verified IR has this operand; callers go by the operation's definition or by the count.
        unsafe { Value(mlirOperationGetOperand(self.0, index as isize)) }
    }

    pub(crate) fn operands(self) -> impl DoubleEndedIterator<Item = Value> + ExactSizeIterator {
        (0..self.operand_count()).map(move |index| self.operand(index))
    }

    pub(crate) fn set_operand(self, index: usize, value: Value) {
        // SAFETY: `index` is below the count; both are alive and belong to the same module.
        unsafe { mlirOperationSetOperand(self.0, index as isize, value.0) }
    }

    pub(crate) fn result_count(self) -> usize {
        // SAFETY: the operation is alive.
        unsafe { mlirOperationGetNumResults(self.0) as usize }
    }

    pub(crate) fn result(self, index: usize) -> Value {
        debug_assert!(index < self.result_count());
        // SAFETY: as for `operand`.
        unsafe { Value(mlirOperationGetResult(self.0, index as isize)) }
    }

    pub(crate) fn results(self) -> impl ExactSizeIterator<Item = Value> {
        (0..self.result_count()).map(move |index| self.result(index))
    }

    pub(crate) fn region_count(self) -> usize {
        // SAFETY: the operation is alive.
        unsafe { mlirOperationGetNumRegions(self.0) as usize }
    }

    /// The first block of a region, if the region has one.
    pub(crate) fn block(self, region: usize) -> Option<Block> {
        debug_assert!(region < self.region_count());
        // SAFETY: the region exists; a null block is filtered out.
        unsafe {
            let block = mlirRegionGetFirstBlock(mlirOperationGetRegion(self.0, region as isize));
            (!block.ptr.is_null()).then_some(Block(block))
        }
    }

    pub(crate) fn attribute(self, name: &str) -> Option<Attribute> {
        // SAFETY: the operation is alive; a null attribute is filtered out.
        let raw = unsafe { mlirOperationGetAttributeByName(self.0, string_ref(name)) };
        (!raw.ptr.is_null()).then_some(Attribute(raw))
    }

    /// Sets an attribute that means nothing to MLIR.
    pub(crate) fn set_number(self, name: &str, value: i64) {
        // SAFETY: the operation and its context are alive.
        unsafe {
            let ty = mlirIntegerTypeGet(mlirOperationGetContext(self.0), 64);
            mlirOperationSetDiscardableAttributeByName(self.0, string_ref(name), mlirIntegerAttrGet(ty, value));
        }
    }

    pub(crate) fn erase(self) {
        // SAFETY: the caller has replaced all uses; the handle is not used again.
        unsafe { mlirOperationDestroy(self.0) }
    }

    /// The operation this one is nested in.
    pub(crate) fn parent(self) -> Option<Operation> {
        // SAFETY: the operation is alive; a null parent is filtered out.
        let raw = unsafe { mlirOperationGetParentOperation(self.0) };
        (!raw.ptr.is_null()).then_some(Operation(raw))
    }

    /// A copy that belongs to no block yet.
    pub(crate) fn duplicate(self) -> Operation {
        // SAFETY: the operation is alive; the caller inserts the copy into a block, which then owns it.
        unsafe { Operation(mlirOperationClone(self.0)) }
    }

    /// Puts `detached` before this operation.
    pub(crate) fn insert_before(self, detached: Operation) {
        // SAFETY: this operation is in a block; `detached` is in none.
        unsafe { mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(self.0), self.0, detached.0) }
    }

    /// Calls `visit` for this operation and everything nested in it, outer ones first.
    pub(crate) fn walk(self, visit: &mut dyn FnMut(Operation)) {
        visit(self);
        for region in 0..self.region_count() {
            // SAFETY: the region exists; null ends the list of blocks.
            let mut block = unsafe { mlirRegionGetFirstBlock(mlirOperationGetRegion(self.0, region as isize)) };
            while !block.ptr.is_null() {
                Block(block).operations().for_each(|op| op.walk(visit));
                // SAFETY: the block is alive.
                block = unsafe { mlirBlockGetNextInRegion(block) };
            }
        }
    }
}

impl Value {
    pub(crate) fn key(self) -> ValueKey {
        self.0.ptr
    }

    pub(crate) fn ty(self) -> Type {
        // SAFETY: the value is alive.
        unsafe { Type::of(mlirValueGetType(self.0)) }
    }

    /// The operation this is a result of; nothing for block arguments.
    pub(crate) fn definition(self) -> Option<Operation> {
        // SAFETY: the value is alive; the owner is read only if it is an operation.
        unsafe { mlirValueIsAOpResult(self.0).then(|| Operation(mlirOpResultGetOwner(self.0))) }
    }

    pub(crate) fn replace_uses(self, with: Value) {
        // SAFETY: both are alive and of the same type.
        unsafe { mlirValueReplaceAllUsesOfWith(self.0, with.0) }
    }
}

impl Block {
    pub(crate) fn argument_count(self) -> usize {
        // SAFETY: the block is alive.
        unsafe { mlirBlockGetNumArguments(self.0) as usize }
    }

    pub(crate) fn argument(self, index: usize) -> Value {
        debug_assert!(index < self.argument_count());
        // SAFETY: as for operands.
        unsafe { Value(mlirBlockGetArgument(self.0, index as isize)) }
    }

    pub(crate) fn arguments(self) -> impl ExactSizeIterator<Item = Value> {
        (0..self.argument_count()).map(move |index| self.argument(index))
    }

    /// The operations, in order. The one yielded last may be erased or moved meanwhile.
    pub(crate) fn operations(self) -> impl Iterator<Item = Operation> {
        // SAFETY: the block is alive; null ends the list; the successor is read before its predecessor is yielded.
        let mut next = unsafe { mlirBlockGetFirstOperation(self.0) };
        std::iter::from_fn(move || {
            let current = next;
            if current.ptr.is_null() {
                return None;
            }
            // SAFETY: `current` is alive.
            next = unsafe { mlirOperationGetNextInBlock(current) };
            Some(Operation(current))
        })
    }

    pub(crate) fn terminator(self) -> Option<Operation> {
        // SAFETY: the block is alive; null is filtered out.
        let raw = unsafe { mlirBlockGetTerminator(self.0) };
        (!raw.ptr.is_null()).then_some(Operation(raw))
    }
}
