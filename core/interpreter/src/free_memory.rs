//! Checks that memory is free.
//!
//! Operations allocate their results and temporaries with an allocator that aborts the process if
//! memory runs out. The check therefore tries a test allocation first.

use fusebox_core::hlo::ElementType;

use crate::error::{Fault, Outcome};

/// Least number of bytes for which the check is worthwhile.
const LARGE: u64 = 64 << 10;
/// Number of bytes that must remain free for allocations that the check does not count.
const SPARE: u64 = 128 << 10;

/// Checks that this number of bytes is available. Fails with [`Fault::Memory`].
pub(crate) fn ensure(bytes: u64) -> Outcome<()> {
    if bytes < LARGE {
        return Ok(());
    }
    let wanted = usize::try_from(bytes.saturating_add(SPARE)).unwrap_or(usize::MAX);
    Vec::<u8>::new().try_reserve_exact(wanted).map_err(|_| Fault::Memory { bytes })
}

/// Returns the number of bytes that `count` elements take in the interpreter's representation.
pub(crate) fn bytes_of_elements(ty: ElementType, count: u64) -> u64 {
    count.saturating_mul(if ty.is_complex() { 16 } else { 8 })
}
