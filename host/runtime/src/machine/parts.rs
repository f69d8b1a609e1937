//! Copies between whole arrays and their parts on devices.

use crate::executable::{ALIGNMENT, DevicePart};

/// Where a device finds its part of an array in the memory of the whole array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartPlace {
    /// The part is contiguous, and starts at this offset in bytes.
    Contiguous(usize),
    /// The part is not contiguous or not aligned, so it must be copied.
    Scattered,
}

/// Returns where a device finds its part of an array. `device` is the position of the device in the
/// list `part.starts`.
pub fn place(part: &DevicePart, device: usize) -> PartPlace {
    let mut rows = Rows::of(part, device);
    match (rows.next(), rows.next()) {
        (Some((whole, _, _)), None) if whole % ALIGNMENT == 0 => PartPlace::Contiguous(whole),
        (None, _) => PartPlace::Contiguous(0),
        _ => PartPlace::Scattered,
    }
}

/// Copies a device's part of an array out of the whole array.
///
/// # Safety
/// `whole` must be the address of the whole array. `to` must be the address of memory for the part.
/// The array and the memory must have the sizes that `part` states. During the call, no other code
/// may access the memory for the part, and no code may write to the elements of the part in the
/// whole array.
pub unsafe fn cut(part: &DevicePart, device: usize, whole: *const u8, to: *mut u8) {
    for (offset, place, bytes) in Rows::of(part, device) {
        // SAFETY: the rows lie in the two arrays, which do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(whole.add(offset), to.add(place), bytes) };
    }
}

/// Copies a device's part of an array into the whole array.
///
/// # Safety
/// `from` must be the address of the part. `whole` must be the address of memory for the whole
/// array. The part and the memory must have the sizes that `part` states. During the call, no other
/// code may access the elements of the part in the whole array, and no code may write to the part.
pub unsafe fn join(part: &DevicePart, device: usize, from: *const u8, whole: *mut u8) {
    for (offset, place, bytes) in Rows::of(part, device) {
        // SAFETY: the rows lie in the two arrays, which do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.add(place), whole.add(offset), bytes) };
    }
}

/// Whether no device before this device has the same part of the array. Only the first device that
/// has a part writes the part to a result.
pub fn is_first(part: &DevicePart, device: usize) -> bool {
    !part.starts[..device].contains(&part.starts[device])
}

/// Iterates over the contiguous rows of a part. Returns each row's offset in the whole array, its
/// offset in the part, and its length, all in bytes.
struct Rows {
    /// For each dimension that precedes the dimensions of a row, two numbers: the number of rows
    /// along this dimension, and the distance in bytes from one of these rows to the next in the
    /// whole array.
    outer: Vec<(usize, usize)>,
    /// Number of rows that the iterator has not returned.
    left: usize,
    index: Vec<usize>,
    start: usize,
    bytes: usize,
    place: usize,
}

impl Rows {
    fn of(part: &DevicePart, device: usize) -> Rows {
        let size = |list: &[u64], dimension: usize| list[dimension] as usize;
        let mut strides = vec![part.element_bytes as usize; part.whole.len()];
        for dimension in (0..part.whole.len().saturating_sub(1)).rev() {
            strides[dimension] = strides[dimension + 1] * size(&part.whole, dimension + 1);
        }
        let starts = part.starts[device].iter().zip(&strides).map(|(&start, stride)| start as usize * stride);
        // A row consists of the last dimensions that are whole, and of one more.
        let last = (0..part.whole.len()).rev().find(|&it| part.part[it] != part.whole[it]).unwrap_or(0);
        let bytes = match strides.get(last) {
            Some(stride) => size(&part.part, last) * stride,
            None => part.element_bytes as usize,
        };
        let outer: Vec<(usize, usize)> = (0..last).map(|it| (size(&part.part, it), strides[it])).collect();
        let left = if bytes == 0 { 0 } else { outer.iter().map(|(count, _)| count).product() };
        Rows { index: vec![0; outer.len()], outer, left, start: starts.sum(), bytes, place: 0 }
    }
}

impl Iterator for Rows {
    type Item = (usize, usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let row = (self.start, self.place, self.bytes);
        self.place += self.bytes;
        for ((count, stride), index) in self.outer.iter().zip(&mut self.index).rev() {
            *index += 1;
            self.start += stride;
            if *index < *count {
                break;
            }
            self.start -= stride * count;
            *index = 0;
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::{PartPlace, cut, is_first, join, place};
    use crate::Slice;
    use crate::executable::DevicePart;

    fn part(whole: &[u64], part: &[u64], starts: &[&[u64]]) -> DevicePart {
        let bytes = part.iter().product();
        let starts = starts.iter().map(|it| it.to_vec()).collect();
        let at = Slice { allocation: 0, offset: 0, bytes };
        DevicePart { at, element_bytes: 1, whole: whole.to_vec(), part: part.to_vec(), starts }
    }

    #[test]
    fn parts_of_all_forms_are_cut_and_joined() {
        for (whole, dims) in
            [(vec![4, 6], vec![2, 3]), (vec![2, 3, 4], vec![1, 3, 2]), (vec![8], vec![2]), (vec![], vec![])]
        {
            let counts: Vec<u64> = whole.iter().zip(&dims).map(|(whole, part)| whole / part).collect();
            let total: u64 = counts.iter().product();
            let starts = (0..total).map(|mut number| {
                let mut start = vec![0; dims.len()];
                for dimension in (0..dims.len()).rev() {
                    start[dimension] = number % counts[dimension] * dims[dimension];
                    number /= counts[dimension];
                }
                start
            });
            let starts: Vec<Vec<u64>> = starts.collect();
            let part = part(&whole, &dims, &starts.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let source: Vec<u8> = (0..whole.iter().product::<u64>() as u8).collect();
            let mut joined = vec![0xFF; source.len()];
            for device in 0..starts.len() {
                let mut own = vec![0; part.at.bytes as usize];
                // SAFETY: the arrays have the sizes of the part.
                unsafe {
                    cut(&part, device, source.as_ptr(), own.as_mut_ptr());
                    join(&part, device, own.as_ptr(), joined.as_mut_ptr());
                }
            }
            assert_eq!(joined, source, "{whole:?}");
        }
    }

    #[test]
    fn contiguous_parts_need_no_copy_if_they_are_aligned() {
        let rows = part(&[4, 64], &[1, 64], &[&[0, 0], &[2, 0]]);
        assert_eq!([place(&rows, 0), place(&rows, 1)], [PartPlace::Contiguous(0), PartPlace::Contiguous(128)]);
        let columns = part(&[4, 64], &[4, 32], &[&[0, 0], &[0, 32]]);
        assert_eq!(place(&columns, 0), PartPlace::Scattered);
        let small = part(&[4], &[1], &[&[0], &[1], &[1]]);
        assert_eq!(place(&small, 1), PartPlace::Scattered);
        assert_eq!([0, 1, 2].map(|device| is_first(&small, device)), [true, true, false]);
    }
}
