//! Parts of arrays along a dimension.

/// An array as blocks of elements that are contiguous in the dimensions after one dimension.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// Number of index combinations of the dimensions before.
    pub outer: usize,
    /// Size of the dimension.
    pub size: usize,
    /// Bytes per index of the dimension.
    pub bytes: usize,
}

impl Blocks {
    /// Returns the blocks of an array along a dimension, which exists.
    pub fn along(dims: &[i64], dimension: usize, element_bytes: usize) -> Blocks {
        let product = |dims: &[i64]| dims.iter().product::<i64>() as usize;
        Blocks {
            outer: product(&dims[..dimension]),
            size: dims[dimension] as usize,
            bytes: product(&dims[dimension + 1..]) * element_bytes,
        }
    }
}

/// Copies `count` indices along the dimension, from index `start` of `source` to index `place` of
/// `target`. Both arrays differ only in the size of the dimension.
pub fn copy(
    (source, from, start): (&[u8], Blocks, usize),
    (target, to, place): (&mut [u8], Blocks, usize),
    count: usize,
) -> Option<()> {
    let length = count * from.bytes;
    for outer in 0..from.outer {
        let first = (outer * from.size + start) * from.bytes;
        let written = (outer * to.size + place) * to.bytes;
        target.get_mut(written..written + length)?.copy_from_slice(source.get(first..first + length)?);
    }
    Some(())
}
