//! Copies arrays, and changes the order of their elements in memory.

use crate::error::{Answer, Error};

/// Returns the number of elements of an array.
pub fn element_count(dims: &[i64]) -> Answer<usize> {
    let count = dims.iter().try_fold(1_usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?));
    count.ok_or_else(|| Error::invalid(format!("an array with the dimensions {dims:?} does not fit into memory")))
}

/// Returns the strides, in bytes, of a dense array whose dimensions have the order
/// `minor_to_major`.
pub fn dense(dims: &[i64], minor_to_major: &[i64], element: usize) -> Answer<Vec<i64>> {
    let mut strides = vec![0; dims.len()];
    let mut seen = vec![false; dims.len()];
    let mut stride = element as i64;
    for &dimension in minor_to_major {
        let at = usize::try_from(dimension).ok().filter(|&at| at < dims.len() && !seen[at]);
        let Some(at) = at else { return Err(not_a_layout(minor_to_major, dims)) };
        (strides[at], seen[at]) = (stride, true);
        stride = stride.saturating_mul(dims[at].max(1));
    }
    if minor_to_major.len() == dims.len() { Ok(strides) } else { Err(not_a_layout(minor_to_major, dims)) }
}

fn not_a_layout(minor_to_major: &[i64], dims: &[i64]) -> Error {
    Error::invalid(format!("{minor_to_major:?} is no layout of an array with the dimensions {dims:?}"))
}

/// Returns the dimensions of an array in the order that fusebox uses, from minor to major.
pub fn row_major(rank: usize) -> Vec<i64> {
    (0..rank as i64).rev().collect()
}

/// Whether every element has the same position with both lists of strides. The stride of a
/// dimension of size 1 does not matter, nor does any stride of an array without elements.
pub fn are_equal(dims: &[i64], first: &[i64], second: &[i64]) -> bool {
    dims.contains(&0) || dims.iter().zip(first.iter().zip(second)).all(|(&dim, (a, b))| dim == 1 || a == b)
}

/// Copies all elements from one array to another. Both arrays have the dimensions `dims`, and each
/// element has `element` bytes. `from` and `to` each contain the address of one array and the
/// strides of this array in bytes.
///
/// # Safety
/// Every element of both arrays is in memory that the caller may read or write, and the arrays do
/// not overlap.
pub unsafe fn copy(dims: &[i64], element: usize, from: (*const u8, &[i64]), to: (*mut u8, &[i64])) {
    if dims.contains(&0) {
        return;
    }
    let mut index = vec![0_i64; dims.len()];
    let (mut source, mut target) = (from.0, to.0);
    loop {
        // SAFETY: the caller's promise: both addresses are those of elements.
        unsafe { std::ptr::copy_nonoverlapping(source, target, element) };
        // The next index: the last dimension advances, and a dimension at its end begins again.
        let mut dimension = dims.len();
        loop {
            let Some(at) = dimension.checked_sub(1) else { return };
            dimension = at;
            index[at] += 1;
            let is_end = index[at] == dims[at];
            let steps = if is_end { 1 - dims[at] } else { 1 };
            source = source.wrapping_offset((steps * from.1[at]) as isize);
            target = target.wrapping_offset((steps * to.1[at]) as isize);
            if !is_end {
                break;
            }
            index[at] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{are_equal, copy, dense, element_count, row_major};

    #[test]
    fn strides_of_layouts() {
        assert_eq!(dense(&[2, 3, 5], &row_major(3), 4).unwrap(), [60, 20, 4]);
        assert_eq!(dense(&[2, 3], &[0, 1], 1).unwrap(), [1, 2]);
        for wrong in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2]] {
            assert!(dense(&[2, 3], wrong, 1).is_err(), "{wrong:?}");
        }
        assert!(are_equal(&[1, 3], &[7, 4], &[12, 4]) && !are_equal(&[2, 3], &[7, 4], &[12, 4]));
        assert_eq!((element_count(&[]), element_count(&[2, 0])), (Ok(1), Ok(0)));
        assert!(element_count(&[i64::MAX, 3]).is_err() && element_count(&[-1]).is_err());
    }

    #[test]
    fn elements_are_copied_between_layouts() {
        let rows: [u16; 6] = [0, 1, 2, 10, 11, 12];
        let mut columns = [0_u16; 6];
        let strides = (dense(&[2, 3], &[1, 0], 2).unwrap(), dense(&[2, 3], &[0, 1], 2).unwrap());
        // SAFETY: both arrays have six elements.
        unsafe {
            copy(&[2, 3], 2, (rows.as_ptr().cast(), &strides.0), (columns.as_mut_ptr().cast(), &strides.1));
        }
        assert_eq!(columns, [0, 10, 1, 11, 2, 12]);
        let (mut reversed, mut scalar) = ([0_u16; 3], [0_u16; 1]);
        // SAFETY: the last three elements are read backwards; then one element is copied.
        unsafe {
            copy(&[3], 2, (rows.as_ptr().add(5).cast(), &[-2]), (reversed.as_mut_ptr().cast(), &[2]));
            copy(&[], 2, (rows.as_ptr().add(4).cast(), &[]), (scalar.as_mut_ptr().cast(), &[]));
        }
        assert_eq!((reversed, scalar), ([12, 11, 10], [11]));
    }
}
