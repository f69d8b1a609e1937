//! Writes the results of LAPACK calls to their buffers.

use bytemuck::Pod;

use crate::{RoutineError, elements_mut};

/// Writes an integer result, such as a status, as the 32-bit integer that LAPACK returns.
pub(super) fn write_status(result: &mut [u8], status: usize) -> Result<(), RoutineError> {
    write(result, &[i32::try_from(status).unwrap_or(i32::MAX)])
}

/// Writes all elements of a result. Fails if the number of `values` differs from the number of
/// elements of the result.
pub(super) fn write<T: Pod>(result: &mut [u8], values: &[T]) -> Result<(), RoutineError> {
    let result = elements_mut::<T>(result)?;
    if result.len() != values.len() {
        return Err(RoutineError::Buffer);
    }
    result.copy_from_slice(values);
    Ok(())
}

/// Sets all elements of a result to `value`.
pub(super) fn fill<T: Pod>(result: &mut [u8], value: T) -> Result<(), RoutineError> {
    elements_mut::<T>(result)?.fill(value);
    Ok(())
}
