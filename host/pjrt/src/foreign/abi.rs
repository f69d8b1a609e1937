//! The structs of XLA's interface for foreign functions, version 0.3, as they are in memory.

use std::ffi::c_void;

use crate::abi::{Header, Text};

/// The version of the interface that fusebox implements.
pub const VERSION: (i32, i32) = (0, 3);

/// The stage of a call at which a function stores its state.
pub const INSTANTIATE: i32 = 0;
/// The stages that precede every execution, and the execution.
pub const PREPARE: i32 = 1;
pub const INITIALIZE: i32 = 2;
pub const EXECUTE: i32 = 3;

/// A function: takes a frame, returns null or an error of [`super::api`].
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

/// The only kind of operands and results.
pub const BUFFER: i32 = 1;

/// A number of an attribute.
#[repr(C)]
pub struct ScalarAttribute {
    pub element: i32,
    pub value: *const c_void,
}

/// The numbers of an attribute.
#[repr(C)]
pub struct ArrayAttribute {
    pub element: i32,
    pub count: usize,
    pub data: *const c_void,
}

/// A call of a function.
#[repr(C)]
pub struct CallFrame {
    pub header: Header,
    pub api: *const c_void,
    pub context: *mut c_void,
    pub stage: i32,
    pub operands: Arrays,
    pub results: Arrays,
    pub attributes: AttributeList,
    /// The function stores a future here, if it is not done when it returns.
    pub future: *mut c_void,
}

/// Size of a frame without its last field, which is a result. Functions compare it.
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

/// The extension of a frame that asks a function for its facts.
#[repr(C)]
pub struct MetadataExtension {
    pub size: usize,
    pub kind: i32,
    pub next: *mut c_void,
    pub metadata: *mut Metadata,
}

/// The kind of [`MetadataExtension`].
pub const METADATA: i32 = 1;

/// The number of booleans as elements.
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
