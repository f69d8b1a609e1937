//! Chooses the instruction of x86 that multiplies words of narrow numbers and adds the products to
//! sums. The lowerings `fusebox` and `mlir` both use this choice.

use fusebox_core::device::NarrowProducts;
use fusebox_core::ir::{OpKind, Operation, Type};

use crate::error::{Done, Unsupported};

/// Bytes of a register.
pub(crate) const REGISTER_BYTES: usize = 64;
const WORD_BYTES: usize = 4;

/// An instruction for products of words.
pub(crate) struct WordProduct {
    /// LLVM's name of the intrinsic.
    pub intrinsic: &'static str,
    /// Whether the right factor is the first operand of the instruction.
    pub is_turned: bool,
}

impl WordProduct {
    /// Returns the instruction for an operation whose sums have the type `sums`. Fails if a target
    /// with the instructions `available` has no instruction for the operation.
    pub(crate) fn of(op: &Operation, sums: &Type, available: NarrowProducts) -> Done<WordProduct> {
        // The instruction for bytes multiplies unsigned by signed bytes.
        let (intrinsic, is_available, is_turned) = match (op.kind, are_unsigned(op)) {
            (OpKind::WordMulF, _) => ("llvm.x86.avx512bf16.dpbf16ps.512", available.bf16, false),
            (_, [true, false]) => ("llvm.x86.avx512.vpdpbusd.512", available.int8, false),
            (_, [false, true]) => ("llvm.x86.avx512.vpdpbusd.512", available.int8, true),
            _ => {
                return Unsupported::because(
                    "there is no instruction for two signed or two unsigned bytes, only for one of each",
                );
            }
        };
        let bytes = sums.element_count().unwrap_or(0) * WORD_BYTES;
        if !is_available || bytes != REGISTER_BYTES {
            return Unsupported::because("the target has no instruction for it");
        }
        Ok(WordProduct { intrinsic, is_turned })
    }
}

/// Returns whether the left and the right factors of a product are unsigned integers.
pub(crate) fn are_unsigned(op: &Operation) -> [bool; 2] {
    ["isZextLhs", "isZextRhs"].map(|name| op.attribute(name).is_some())
}
