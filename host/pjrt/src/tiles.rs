//! Copies elements between an array and its tiles. A tile is the part of an array that one device
//! has.

use std::ops::Range;

/// Returns the size of a tile in bytes.
pub fn byte_size(element: usize, part: &[Range<i64>]) -> usize {
    part.iter().map(|it| (it.end - it.start) as usize).product::<usize>() * element
}

/// Returns a copy of a tile of an array. `part` contains the tile's range in each dimension.
pub fn cut(whole: &[u8], dims: &[i64], element: usize, part: &[Range<i64>]) -> Vec<u8> {
    let mut tile = Vec::with_capacity(byte_size(element, part));
    each_row(dims, element, part, &mut |row| tile.extend_from_slice(&whole[row]));
    tile
}

/// Copies a tile into an array.
pub fn join(whole: &mut [u8], dims: &[i64], element: usize, part: &[Range<i64>], tile: &[u8]) {
    let mut rest = tile;
    each_row(dims, element, part, &mut |row| {
        let (own, others) = rest.split_at(row.len());
        whole[row].copy_from_slice(own);
        rest = others;
    });
}

/// Calls a function with the range of bytes of each contiguous row of a tile, in order.
fn each_row(dims: &[i64], element: usize, part: &[Range<i64>], f: &mut dyn FnMut(Range<usize>)) {
    let whole = |dimension: &usize| part[*dimension] != (0..dims[*dimension]);
    let last = (0..dims.len()).rev().find(whole);
    let inner = |from: usize| dims[from..].iter().product::<i64>() as usize * element;
    let Some(last) = last else { return f(0..inner(0)) };
    let stride = inner(last + 1);
    let own = part[last].start as usize * stride..part[last].end as usize * stride;
    let outer = &part[..last];
    if outer.iter().any(Range::is_empty) || own.is_empty() {
        return;
    }
    let mut index: Vec<i64> = outer.iter().map(|range| range.start).collect();
    loop {
        let row = index.iter().zip(dims).fold(0, |row, (at, size)| row * size + at) as usize;
        let first = row * inner(last);
        f(first + own.start..first + own.end);
        let Some(next) = (0..outer.len()).rev().find(|&it| index[it] + 1 < outer[it].end) else { return };
        index[next] += 1;
        (next + 1..outer.len()).for_each(|it| index[it] = outer[it].start);
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, join};

    #[test]
    fn tiles_are_cut_and_joined() {
        let whole: Vec<u8> = (0..48).collect();
        assert_eq!(cut(&whole, &[4, 6], 2, &[1..3, 2..4]), [16, 17, 18, 19, 28, 29, 30, 31]);
        assert_eq!(cut(&whole, &[2, 3, 8], 1, &[1..2, 0..3, 6..8]), [30, 31, 38, 39, 46, 47]);
        assert!(cut(&whole, &[48], 1, std::slice::from_ref(&(5..5))).is_empty());
        assert_eq!(cut(&whole[..1], &[], 1, &[]), [0]);
        let mut joined = vec![0; 48];
        for part in [[0..2, 0..3, 0..4], [0..2, 0..3, 4..8]] {
            let tile = cut(&whole, &[2, 3, 8], 1, &part);
            join(&mut joined, &[2, 3, 8], 1, &part, &tile);
        }
        assert_eq!(joined, whole);
    }
}
