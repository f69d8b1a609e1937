//! Parts of arrays along a dimension.

/// The division of an array along one dimension into `outer` × `size` blocks of contiguous
/// elements. A block spans the dimensions after the divided dimension.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// Product of the sizes of the dimensions before the divided dimension.
    pub outer: usize,
    /// Size of the dimension.
    pub size: usize,
    /// Number of bytes of one block.
    pub bytes: usize,
}

impl Blocks {
    /// Returns the blocks of an array along a dimension, which must exist.
    pub fn along(dims: &[i64], dimension: usize, element_bytes: usize) -> Blocks {
        let product = |dims: &[i64]| dims.iter().product::<i64>() as usize;
        Blocks {
            outer: product(&dims[..dimension]),
            size: dims[dimension] as usize,
            bytes: product(&dims[dimension + 1..]) * element_bytes,
        }
    }
}

/// Copies the elements with `count` successive indices along the divided dimension, from index
/// `start` of `source` to index `place` of `target`. The two arrays may differ only in the size of
/// the divided dimension.
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
