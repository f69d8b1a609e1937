//! Allocates workspace for functions of the crate faer.

use faer::dyn_stack::{MemBuffer, StackReq};

use crate::RoutineError;

/// Allocates a workspace. Fails if memory is short.
pub(super) fn allocate(need: StackReq) -> Result<MemBuffer, RoutineError> {
    MemBuffer::try_new(need).map_err(|_| RoutineError::Memory { bytes: need.size_bytes() as u64 })
}
