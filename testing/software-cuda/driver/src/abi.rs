//! Types of the C interface. The fields of structs have the order and the sizes that NVIDIA's
//! header `cuda.h` states.

use std::ffi::{CStr, c_char, c_void};

use crate::status::{Answer, Status};

/// A pointer to the memory to which a function writes its result.
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Wraps a pointer that the caller has stored in a list.
    pub fn from_pointer(pointer: *mut T) -> Out<T> {
        Out(pointer)
    }

    /// Writes the result. Returns an error if the caller passed a null pointer.
    pub fn set(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: C callers pass a pointer to memory for a value of this type. The memory may hold
        // no value yet, so that the old value is not dropped.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes the result, unless the caller passed a null pointer because it needs no result.
    pub fn set_if_wanted(self, value: T) -> Answer {
        if self.0.is_null() { Ok(()) } else { self.set(value) }
    }

    /// Writes the values of a list, but at most `room` values: the caller's memory has room for
    /// this many.
    pub fn set_list(self, values: &[T], room: usize) -> Answer
    where
        T: Copy,
    {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        for (number, value) in values.iter().take(room).enumerate() {
            // SAFETY: the caller passes a pointer to memory for `room` values.
            unsafe { self.0.add(number).write(*value) };
        }
        Ok(())
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T: Copy> Out<T> {
    /// Reads the value that the caller has stored at the pointer.
    pub fn get(self) -> Answer<T> {
        In(self.0.cast_const()).get()
    }
}

/// A pointer to values of the caller.
#[derive(Debug)]
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> In<T> {
    pub const NULL: In<T> = In(std::ptr::null());

    /// Wraps a pointer that the caller has stored in a list or a struct.
    pub fn from_pointer(pointer: *const T) -> In<T> {
        In(pointer)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T: Copy> In<T> {
    /// Returns the value.
    pub fn get(self) -> Answer<T> {
        self.at(0)
    }

    /// Returns the value with this number in the caller's list.
    pub fn at(self, number: usize) -> Answer<T> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: C callers pass a pointer to as many values as the function reads.
        Ok(unsafe { self.0.add(number).read() })
    }

    /// Returns the first `length` values of the caller's list.
    pub fn list(self, length: usize) -> Answer<Vec<T>> {
        (0..length).map(|number| self.at(number)).collect()
    }
}

impl In<c_char> {
    /// Returns the caller's text, which ends with a zero byte.
    pub fn text(self) -> Answer<&'static CStr> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: C callers pass a text with a zero byte at its end, which lives during the call.
        // The text does not leave the call.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// The parameters of a kernel as a launch passes them: pointers to the values, or a buffer that
/// contains all values.
#[derive(Clone, Copy, Debug)]
pub struct KernelParameters {
    pub values: In<In<u8>>,
    pub extra: In<*const c_void>,
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub stream: usize,
    pub attributes: In<LaunchAttribute>,
    pub attribute_count: u32,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchAttribute {
    pub number: u32,
    padding: u32,
    /// The value, whose type depends on the attribute.
    pub value: [u32; 16],
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelNode {
    pub function: usize,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub values: In<In<u8>>,
    pub extra: In<*const c_void>,
    kernel: usize,
    context: usize,
}

/// `CUgraphNodeParams` of a conditional node. Nodes of other kinds have other fields after the
/// first field.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ConditionalNode {
    pub kind: u32,
    pub reserved: [u32; 3],
    pub condition: u64,
    pub repetition: u32,
    /// Number of the node's graphs. The driver provides the memory for their handles.
    pub size: u32,
    pub graphs: *const usize,
    pub context: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostNode {
    pub function: Option<unsafe extern "C" fn(*mut c_void)>,
    pub argument: usize,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FillNode {
    pub address: u64,
    pub pitch: usize,
    pub value: u32,
    pub width: u32,
    pub columns: usize,
    pub rows: usize,
}

/// The fields of `CUDA_MEMCPY2D` that describe the source, or the target.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Side2d {
    pub x_bytes: usize,
    pub y: usize,
    pub memory_type: u32,
    pub host: usize,
    pub device: u64,
    array: usize,
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Copy2d {
    pub from: Side2d,
    pub to: Side2d,
    pub width: usize,
    pub height: usize,
}

/// The fields of `CUDA_MEMCPY3D` that describe the source, or the target.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Side3d {
    pub x_bytes: usize,
    pub y: usize,
    pub z: usize,
    level: usize,
    pub memory_type: u32,
    pub host: usize,
    pub device: u64,
    array: usize,
    reserved: usize,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Copy3d {
    pub from: Side3d,
    pub to: Side3d,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UpdateResult {
    pub result: u32,
    pub node: usize,
    pub from_node: usize,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InstantiateParameters {
    pub flags: u64,
    pub upload_stream: usize,
    pub error_node: usize,
    pub result: u32,
}

/// `CUuuid`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Uuid(pub [u8; 16]);
