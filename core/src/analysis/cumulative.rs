//! Recognises windows that reach from each element to an edge of the array, as in running sums,
//! products and maxima.

use crate::hlo::{Window, WindowDim};

/// The end of the array at which a cumulative reduction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The reduction begins at the first element.
    Forward,
    /// The reduction begins at the last element.
    Backward,
}

/// Returns the dimension and the direction in which a window is cumulative. The array has the
/// dimensions `dims`. In a forward window, element k of the result combines the elements up to and
/// including k. In a backward window, element k of the result combines the elements from k on.
/// Returns `None` for windows that are not cumulative.
pub fn cumulative(window: &Window, dims: &[i64]) -> Option<(usize, Direction)> {
    let trivial = WindowDim::default();
    let mut wide = (0..window.dims.len()).filter(|&d| window.dims[d] != trivial);
    let (Some(dimension), None) = (wide.next(), wide.next()) else { return None };
    let found = &window.dims[dimension];
    let size = *dims.get(dimension)?;
    let is_plain = found.size == size && found.stride == 1 && found.window_dilation == 1 && found.base_dilation == 1;
    let direction = match (found.padding_low, found.padding_high) {
        (low, 0) if low == size - 1 => Direction::Forward,
        (0, high) if high == size - 1 => Direction::Backward,
        _ => return None,
    };
    (is_plain && !found.reversal).then_some((dimension, direction))
}
