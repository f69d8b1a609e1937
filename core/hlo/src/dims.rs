//! Types for attributes that describe the dimensions of a slice, padding, window or convolution.

use crate::message::public_messages;

public_messages! {
    /// One dimension of a `slice`. The slice has the elements `start, start + stride, …` below
    /// `limit`.
    #[derive(Copy, Eq, Hash)]
    SliceDim {
        /// First element.
        start: i64 = 1 [int64],
        /// End, exclusive.
        limit: i64 = 2 [int64],
        /// Stride, at least 1.
        stride: i64 = 3 [int64],
    }
}

impl SliceDim {
    /// Returns the slice that has all elements of a dimension with this size.
    pub fn all(size: i64) -> SliceDim {
        SliceDim { start: 0, limit: size, stride: 1 }
    }

    /// Number of elements.
    pub fn length(&self) -> i64 {
        (self.limit - self.start + self.stride - 1) / self.stride
    }
}

public_messages! {
    /// One dimension of a `pad`. Negative values of `low` and `high` remove elements.
    #[derive(Copy, Eq, Hash)]
    PaddingDim {
        /// Number of padding elements before the first element.
        low: i64 = 1 [int64],
        /// Number of padding elements after the last element.
        high: i64 = 2 [int64],
        /// Number of padding elements between two adjacent elements.
        interior: i64 = 3 [int64],
    }
}

/// One dimension of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDim {
    /// Number of elements in the window.
    pub size: i64,
    /// Distance between the starts of adjacent windows.
    pub stride: i64,
    /// Number of padding elements before the first element; may be negative.
    pub padding_low: i64,
    /// Number of padding elements after the last element; may be negative.
    pub padding_high: i64,
    /// Distance between adjacent window elements.
    pub window_dilation: i64,
    /// Distance in the padded array between elements that are adjacent in the original array.
    pub base_dilation: i64,
    /// Whether the window is read backwards.
    pub reversal: bool,
}

impl Default for WindowDim {
    fn default() -> Self {
        WindowDim {
            size: 1,
            stride: 1,
            padding_low: 0,
            padding_high: 0,
            window_dilation: 1,
            base_dilation: 1,
            reversal: false,
        }
    }
}

/// A window, with one entry per dimension. The window of a convolution has one entry per spatial
/// dimension. If the instruction has no `window`, there are no entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Window {
    /// The dimensions.
    pub dims: Vec<WindowDim>,
}

public_messages! {
    /// `dim_labels` of a `convolution`, as dimension numbers.
    #[derive(Eq, Hash)]
    ConvDims {
        /// Batch dimension of the input.
        input_batch: i64 = 7 [int64],
        /// Feature dimension of the input.
        input_feature: i64 = 8 [int64],
        /// Spatial dimensions of the input.
        input_spatial: Vec<i64> = 11 [int64, repeated],
        /// Input feature dimension of the kernel.
        kernel_input_feature: i64 = 3 [int64],
        /// Output feature dimension of the kernel.
        kernel_output_feature: i64 = 4 [int64],
        /// Spatial dimensions of the kernel.
        kernel_spatial: Vec<i64> = 6 [int64, repeated],
        /// Batch dimension of the output.
        output_batch: i64 = 9 [int64],
        /// Feature dimension of the output.
        output_feature: i64 = 10 [int64],
        /// Spatial dimensions of the output.
        output_spatial: Vec<i64> = 12 [int64, repeated],
    }
}
