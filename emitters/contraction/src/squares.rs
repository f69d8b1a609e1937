//! The shape of the squares that the kernel transposes in registers.

/// The shape of a square, which has as many rows as a register holds words. A word consists of a
/// few neighbouring elements.
#[derive(Clone, Copy)]
pub struct SquareShape {
    /// Number of words per register, and of rows per square.
    pub size: i64,
    /// Number of elements per word.
    pub word: i64,
}

impl SquareShape {
    /// Returns the number of elements of a row.
    pub fn row(self) -> i64 {
        self.size * self.word
    }
}
