//! A loop nest, the values that it computes, and their destinations.

use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::IndexingMap;
use fusebox_core::launch::Nest;

/// A loop nest.
pub struct ConcatenateVisit {
    /// Points of the nest.
    pub nest: Nest,
    /// Bundles that are computed at each point, in order.
    pub bundles: Vec<Bundle>,
}

/// A group of values with equal dimensions, computed by one function.
pub struct Bundle {
    /// Instructions that compute the values, without duplicates.
    pub values: Vec<InstrId>,
    /// Map from a point of the nest to an index of the values. If a point has several elements of
    /// each value, range variables select the element.
    pub index: IndexingMap,
    /// Whether the kernel writes the values of a point by unrolled code instead of a loop.
    pub unrolled: bool,
    /// Destinations of the values.
    pub writes: Vec<ValueTarget>,
}

/// The destination of a value.
#[derive(Clone, Copy)]
pub enum ValueTarget {
    /// The value is an element of a concatenate.
    Element {
        /// Position of the value in the list of all leaves of the bundle's values.
        value: usize,
        /// Position of the concatenate in `KernelVisits::concatenates`.
        concatenate: usize,
        /// Index in the concatenate, along the concatenated dimension, at which the operand starts.
        offset: i64,
    },
    /// The value is an element of an output.
    Output {
        /// Position of the value in the list of all leaves of the bundle's values.
        value: usize,
        /// Index of the output.
        output: usize,
    },
}
