//! The size of a result's dimension, as a function of the sizes of the operands' dimensions.

use crate::{PaddingDim, WindowDim};

/// A dimension of an array operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Index of the operand.
    pub operand: usize,
    /// Dimension of the operand.
    pub dimension: usize,
}

/// The size of a result's dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The size is equal to the bound, whatever sizes the operands have.
    Bound,
    /// The size is equal to the size of each of these dimensions. If an operand's dimension is
    /// static, the operation ignores this operand's elements beyond the size of the dynamic
    /// dimensions.
    Same(Vec<Source>),
    /// The sum of the sizes of these dimensions.
    Sum(Vec<Source>),
    /// The size of this dimension after padding.
    Padded(Source, PaddingDim),
    /// The number of windows that fit into the dimension.
    Windows(Source, WindowDim),
    /// The size of `of`, multiplied by `times`, then divided by `per` and rounded down. If a
    /// reshape merges or splits dimensions, and only the outermost of these dimensions are dynamic,
    /// the result has an extent of this variant.
    Scaled {
        /// The outermost dimension before the reshape. The dimensions that the reshape merges or
        /// splits form a group.
        of: Source,
        /// Product of the inner dimensions of the group before the reshape.
        times: i64,
        /// Product of the inner dimensions of the group after the reshape.
        per: i64,
    },
    /// The product of the sizes of these dimensions. If a reshape merges several dimensions, and an
    /// inner one of these dimensions is dynamic, the result has an extent of this variant.
    Merged(Vec<Source>),
    /// The size is unknown, because HLO does not define where a reshape moves the elements.
    Unknown,
}

impl Extent {
    /// The dimensions that determine this size.
    pub fn sources(&self) -> &[Source] {
        match self {
            Extent::Bound | Extent::Unknown => &[],
            Extent::Same(sources) | Extent::Sum(sources) | Extent::Merged(sources) => sources,
            Extent::Padded(source, _) | Extent::Windows(source, _) | Extent::Scaled { of: source, .. } => {
                std::slice::from_ref(source)
            }
        }
    }
}
