//! Stores arrays with dynamic sizes in larger arrays, whose sizes are the upper bounds. The dynamic
//! array occupies the first elements along each dimension of the larger array.

use fusebox_core::hlo::ArrayLiteral;

use crate::RunError;

/// Returns an array with the dimensions `bounds`. The first elements of the result along each
/// dimension are the elements of `array`. The remaining elements are zeros. Fails if memory is
/// short.
pub fn placed(array: &ArrayLiteral, bounds: &[i64]) -> Result<ArrayLiteral, RunError> {
    let bytes = array.element_type.byte_size();
    let count = bounds.iter().fold(bytes, |count, &bound| count.saturating_mul(bound as usize));
    let mut data = reserved(count)?;
    data.resize(count, 0);
    for BoundedLine { start, start_within, length } in lines(&array.dims, bounds) {
        let [start, start_within, length] = [start, start_within, length].map(|elements| elements * bytes);
        data[start_within..start_within + length].copy_from_slice(&array.data[start..start + length]);
    }
    Ok(ArrayLiteral { element_type: array.element_type, dims: bounds.to_vec(), data: data.into() })
}

/// Extracts the first elements along each dimension of an array. `within` holds the bytes of an
/// array with the dimensions `bounds`. The result holds the bytes of an array with the dimensions
/// `dims`. `bytes` is the size of one element in bytes. Fails if memory is short.
pub fn extracted(within: &[u8], bytes: usize, dims: &[i64], bounds: &[i64]) -> Result<Vec<u8>, RunError> {
    let mut data = reserved(dims.iter().fold(bytes, |count, &size| count.saturating_mul(size as usize)))?;
    for BoundedLine { start_within, length, .. } in lines(dims, bounds) {
        data.extend_from_slice(&within[start_within * bytes..(start_within + length) * bytes]);
    }
    Ok(data)
}

fn reserved(bytes: usize) -> Result<Vec<u8>, RunError> {
    let mut data = Vec::new();
    data.try_reserve_exact(bytes).map_err(|_| RunError::Memory { bytes: bytes as u64 })?;
    Ok(data)
}

/// A line of an array, which consists of the elements along its last dimension. Offsets and length
/// are in elements.
struct BoundedLine {
    /// Offset of the line in the array.
    start: usize,
    /// Offset of the line in the larger array.
    start_within: usize,
    length: usize,
}

/// Returns, in order, all lines of an array with the dimensions `dims`, which is stored in an array
/// with the dimensions `bounds`. No size in `dims` exceeds the corresponding size in `bounds`.
fn lines(dims: &[i64], bounds: &[i64]) -> impl Iterator<Item = BoundedLine> {
    let dims: Vec<usize> = dims.iter().map(|&size| size as usize).collect();
    let bounds: Vec<usize> = bounds.iter().map(|&bound| bound as usize).collect();
    let length = dims.last().copied().unwrap_or(1);
    let outer = dims.len().saturating_sub(1);
    let count = if length == 0 { 0 } else { dims[..outer].iter().product() };
    (0..count).map(move |line| {
        let (mut rest, mut place, mut stride) = (line, 0, bounds.last().copied().unwrap_or(1));
        for d in (0..outer).rev() {
            place += rest % dims[d] * stride;
            rest /= dims[d];
            stride *= bounds[d];
        }
        BoundedLine { start: line * length, start_within: place, length }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use fusebox_core::hlo::{ArrayLiteral, ElementType};

    use super::{extracted, placed};

    fn array(dims: &[i64]) -> ArrayLiteral {
        let count = dims.iter().product::<i64>() as u16;
        let data: Vec<u8> = (1..=count).flat_map(u16::to_le_bytes).collect();
        ArrayLiteral { element_type: ElementType::U16, dims: dims.to_vec(), data: data.into() }
    }

    #[test]
    fn lines_stand_at_the_beginning_of_longer_ones() {
        let within = placed(&array(&[2, 1, 3]), &[2, 2, 4]).unwrap();
        let expected: Vec<u8> =
            [1, 2, 3, 0, 0, 0, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0].into_iter().flat_map(u16::to_le_bytes).collect();
        assert_eq!((&within.data[..], &within.dims[..]), (&expected[..], &[2, 2, 4][..]));
    }

    #[test]
    fn what_was_placed_is_taken_out_again() {
        for (dims, bounds) in [
            (&[5][..], &[5][..]),
            (&[0], &[3]),
            (&[1, 4], &[3, 4]),
            (&[3, 0, 2], &[3, 5, 2]),
            (&[2, 3, 1, 2], &[2, 4, 3, 2]),
            (&[], &[]),
        ] {
            let array = array(dims);
            let within = placed(&array, bounds).unwrap();
            assert_eq!(extracted(&within.data, 2, dims, bounds).unwrap(), array.data[..], "{dims:?} in {bounds:?}");
        }
    }
}
