//! The structs of XLA's interface for foreign functions, version 0.3, as they are in memory.

use std::ffi::c_void;

use crate::abi::{Header, Text};

/// The version of the interface that fusebox implements.
pub const VERSION: (i32, i32) = (0, 3);

/// Number of the stage that precedes all executions of a call. All executions share the state that
/// a function stores at this stage.
pub const INSTANTIATE: i32 = 0;
/// Numbers of the stages of each execution. `PREPARE` and `INITIALIZE` precede the execution
/// itself.
pub const PREPARE: i32 = 1;
pub const INITIALIZE: i32 = 2;
pub const EXECUTE: i32 = 3;

/// A foreign function. The function gets a call frame, and returns null or an error that
/// [`super::api`] has created.
pub type Handler = unsafe extern "C" fn(*mut CallFrame) -> *mut c_void;

/// An array in memory.
#[repr(C)]
pub struct Buffer {
    pub header: Header,
    pub element: i32,
    pub data: *mut c_void,
    pub rank: i64,
    pub dims: *const i64,
}

/// Operands or results: pointers to [`Buffer`].
#[repr(C)]
pub struct Arrays {
    pub header: Header,
    pub count: i64,
    pub kinds: *const i32,
    pub arrays: *const *const c_void,
}

/// Attributes with their names, in the order of the names.
#[repr(C)]
pub struct AttributeList {
    pub header: Header,
    pub count: i64,
    pub kinds: *const i32,
    pub names: *const *const Text,
    pub values: *const *const c_void,
}

/// Kinds of attributes.
pub const ARRAY: i32 = 1;
pub const DICTIONARY: i32 = 2;
pub const SCALAR: i32 = 3;
pub const STRING: i32 = 4;

/// Number of the only kind of operands and results: buffers.
pub const BUFFER: i32 = 1;

/// The value of an attribute that is a number.
#[repr(C)]
pub struct ScalarAttribute {
    pub element: i32,
    pub value: *const c_void,
}

/// The value of an attribute that is an array of numbers.
#[repr(C)]
pub struct ArrayAttribute {
    pub element: i32,
    pub count: usize,
    pub data: *const c_void,
}

/// The frame of a call, which contains all data that a foreign function gets.
#[repr(C)]
pub struct CallFrame {
    pub header: Header,
    pub api: *const c_void,
    pub context: *mut c_void,
    pub stage: i32,
    pub operands: Arrays,
    pub results: Arrays,
    pub attributes: AttributeList,
    /// The future that the function stores here if it returns before its work is complete.
    pub future: *mut c_void,
}

/// Size of a call frame without its last field, which is a result. Foreign functions compare this
/// constant with the size that a frame states.
pub const CALL_FRAME_SIZE: usize = std::mem::offset_of!(CallFrame, future);

/// A version of the interface.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Version {
    pub header: Header,
    pub major: i32,
    pub minor: i32,
}

/// Facts about a function.
#[repr(C)]
pub struct Metadata {
    pub size: usize,
    pub version: Version,
    pub traits: u32,
    pub state_type: i64,
}

/// The extension of a call frame that asks a foreign function for its metadata.
#[repr(C)]
pub struct MetadataExtension {
    pub size: usize,
    pub kind: i32,
    pub next: *mut c_void,
    pub metadata: *mut Metadata,
}

/// The number that identifies extensions of type [`MetadataExtension`].
pub const METADATA: i32 = 1;

/// Number of the element type of booleans.
pub const BOOLEAN: i32 = 1;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::{Buffer, CALL_FRAME_SIZE, CallFrame, MetadataExtension};

    #[test]
    fn fields_are_where_the_interface_has_them() {
        assert_eq!(CALL_FRAME_SIZE, 168);
        assert_eq!((offset_of!(CallFrame, operands), offset_of!(CallFrame, attributes)), (40, 120));
        assert_eq!((offset_of!(Buffer, data), size_of::<Buffer>()), (24, 48));
        assert_eq!(offset_of!(MetadataExtension, metadata), 24);
    }
}
