//! Implements a stable merge sort, which accepts any comparator.

use crate::{RoutineError, scratch};

/// Returns the indices `0..count` in sorted order. `before` takes two indices, and returns whether
/// the element at the first index must come before the element at the second index. If `before`
/// contradicts itself, the order is unspecified but deterministic.
///
/// # Errors
/// If memory is short.
pub fn order(count: u32, mut before: impl FnMut(usize, usize) -> bool) -> Result<Vec<u32>, RoutineError> {
    let mut sorted: Vec<u32> = scratch(count as usize)?;
    let mut merged: Vec<u32> = scratch(count as usize)?;
    sorted.iter_mut().zip(0..).for_each(|(place, number)| *place = number);
    let mut width = 1;
    while width < sorted.len() {
        for (pair, merged) in sorted.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, merged, &mut before);
        }
        std::mem::swap(&mut sorted, &mut merged);
        width *= 2;
    }
    Ok(sorted)
}

fn merge(mut left: &[u32], mut right: &[u32], merged: &mut [u32], before: &mut impl FnMut(usize, usize) -> bool) {
    let mut places = merged.iter_mut();
    while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
        // Equal elements must keep their order. So take the right element first only if it must
        // come before the left one.
        let first = if before(*r as usize, *l as usize) {
            right = right_rest;
            r
        } else {
            left = left_rest;
            l
        };
        places.by_ref().take(1).for_each(|place| *place = *first);
    }
    places.zip(left.iter().chain(right)).for_each(|(place, rest)| *place = *rest);
}
