//! Casts byte slices to slices of elements, and allocates memory for intermediate values.

use bytemuck::{AnyBitPattern, NoUninit, Zeroable};

use crate::error::RoutineError;

/// Casts the bytes of an argument to elements.
///
/// # Errors
/// If the length of `bytes` is not a multiple of the size of `T`, or `bytes` is not aligned for
/// `T`.
pub fn elements<T: AnyBitPattern>(bytes: &[u8]) -> Result<&[T], RoutineError> {
    bytemuck::try_cast_slice(bytes).map_err(|_| RoutineError::Buffer)
}

/// Casts the bytes of a result to elements.
///
/// # Errors
/// If [`elements`] would fail for the same bytes.
pub fn elements_mut<T: AnyBitPattern + NoUninit>(bytes: &mut [u8]) -> Result<&mut [T], RoutineError> {
    bytemuck::try_cast_slice_mut(bytes).map_err(|_| RoutineError::Buffer)
}

/// Allocates `count` zero-initialised elements for intermediate values.
///
/// # Errors
/// If memory is short.
pub fn scratch<T: Zeroable>(count: usize) -> Result<Vec<T>, RoutineError> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| RoutineError::Memory { bytes })?;
    values.resize_with(count, T::zeroed);
    Ok(values)
}
