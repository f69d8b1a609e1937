//! Description of a dot or convolution as a matrix product.

use fusebox_core::indexing::IndexingMap;

use crate::operand::Operand;

/// Largest number of products that the emitters accept. No processor computes more products, and
/// counts up to `MOST_POINTS` do not overflow.
pub const MOST_POINTS: i64 = 1 << 48;

/// An operand, and the numbers of its batches, lines and steps.
pub type SizedOperand = (Operand, [i64; 3]);

/// A dot or convolution as a matrix product.
pub struct ProductForm {
    pub sides: [SizedOperand; 2],
    /// Map from `(batch, left line, right line)` to the index of the result.
    pub result: IndexingMap,
}
