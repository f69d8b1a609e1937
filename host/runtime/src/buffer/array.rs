//! The bytes of a buffer: a range of a piece of memory.

use std::ops::Range;
use std::sync::Arc;

use fusebox_core::hlo::ArrayShape;

use crate::machine::DeviceMemory;

/// The bytes of an array. A clone refers to the same memory.
#[derive(Clone, Debug)]
pub struct Array {
    /// The memory. Several arrays may share the memory, and the memory may be larger than the
    /// array.
    pub memory: Arc<DeviceMemory>,
    /// Offset of the first byte in the memory.
    pub offset: usize,
    /// The sizes of the dimensions, if any of them is smaller than its bound in the array's shape.
    pub sizes: Option<Arc<[i64]>>,
}

impl Array {
    /// Returns the array that occupies the whole memory.
    pub fn whole(memory: Arc<DeviceMemory>) -> Array {
        Array { memory, offset: 0, sizes: None }
    }

    /// Returns the address of the first byte, on the device.
    pub fn address(&self) -> *mut u8 {
        self.memory.address().wrapping_add(self.offset)
    }

    /// Returns the range of the memory that holds the bytes of the array, which has the shape
    /// `shape`.
    pub fn range(&self, shape: &ArrayShape) -> Range<usize> {
        self.offset..self.offset + shape.byte_size() as usize
    }

    /// Returns the sizes of the dimensions of an array of this shape.
    pub fn dims<'a>(&'a self, shape: &'a ArrayShape) -> &'a [i64] {
        self.sizes.as_deref().unwrap_or(&shape.dims)
    }

    /// Whether a program may overwrite the array: the memory must be writable, and nothing else may
    /// use it.
    pub fn is_exclusive(&mut self) -> bool {
        Arc::get_mut(&mut self.memory).is_some_and(|memory| memory.is_writable())
    }
}
