//! Measures of the accesses to an array.

/// Measures of the accesses to an array.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    /// Number of cache lines per point that are requested from the nearest cache.
    pub near: f64,
    /// Number of cache lines per point that come from memory, because no earlier access has brought
    /// them into a cache.
    pub far: f64,
    /// Number of cache lines per point that miss the nearest cache.
    pub missed: f64,
    /// Fraction of the points that constraints do not exclude.
    pub active: f64,
    /// Number of elements in one access of a thread.
    pub lanes: f64,
    /// Number of pieces of cache lines that one access of a warp reads.
    pub pieces: f64,
    /// Whether all points of a group access the same element.
    pub is_fixed: bool,
    /// Number of accesses per vector: 1 if the elements are contiguous, more if they are shuffled,
    /// 0 if they are far apart.
    pub shuffled: f64,
    /// Bytes of an element.
    pub element: i64,
}

impl Touched {
    /// Whether adjacent iterations of the innermost loop access adjacent elements in memory, or the
    /// same element.
    pub fn is_vector(&self) -> bool {
        self.is_fixed || self.shuffled > 0.0
    }
}
