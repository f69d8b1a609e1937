//! Defines the code that every device of a program executes with its own parts of arrays.

use serde::{Deserialize, Serialize};

use super::allocation::{Allocation, Slice};
use super::thunk::Thunk;

/// A manual computation: several devices execute the same thunks, each device with its own memory.
/// All devices are threads of the host. Slices in this structure refer to the memory of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerDevice {
    /// The number of each device. If a device of another manual computation starts this
    /// computation, the number of that device is added to these numbers.
    pub devices: Vec<u32>,
    /// For each array leaf of the operands, the part of the array that each device receives.
    pub operands: Vec<DevicePart>,
    /// For each array leaf of the result, the part of the array that each device computes.
    pub results: Vec<DevicePart>,
    /// The memory of a device.
    pub allocations: Vec<Allocation>,
    /// The thunks that each device executes.
    pub thunks: Vec<Thunk>,
}

/// The part of an array that a device holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePart {
    /// The memory of the part.
    pub at: Slice,
    /// Size of an element in bytes.
    pub element_bytes: u32,
    /// Sizes of the dimensions of the whole array.
    pub whole: Vec<u64>,
    /// Sizes of the dimensions of the part.
    pub part: Vec<u64>,
    /// For each device, the index of the part's first element in each dimension.
    pub starts: Vec<Vec<u64>>,
}

impl DevicePart {
    /// Returns the size of the whole array in bytes, or `None` if the size overflows.
    pub fn whole_bytes(&self) -> Option<u64> {
        self.whole.iter().try_fold(u64::from(self.element_bytes), |product, &size| product.checked_mul(size))
    }

    /// Whether each device holds the whole array.
    pub fn is_whole(&self) -> bool {
        self.whole == self.part
    }

    /// Checks all fields except whether the slice lies inside its allocation.
    pub(super) fn check(&self, devices: usize) -> Result<(), String> {
        let bytes =
            self.part.iter().try_fold(u64::from(self.element_bytes), |product, &size| product.checked_mul(size));
        let rank = self.whole.len();
        let is_inside = |starts: &Vec<u64>| {
            let ends = starts.iter().zip(&self.part).map(|(start, size)| start.checked_add(*size));
            starts.len() == rank && ends.zip(&self.whole).all(|(end, size)| end.is_some_and(|end| end <= *size))
        };
        let fits = self.element_bytes > 0
            && self.part.len() == rank
            && bytes == Some(self.at.bytes)
            && self.whole_bytes().is_some()
            && self.starts.len() == devices
            && self.starts.iter().all(is_inside);
        if fits { Ok(()) } else { Err("a part of an array on a device has the wrong size".into()) }
    }
}
