//! Structs that the arguments of several functions contain.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::error::{Answer, Error};

/// The first fields of every struct that states its own size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Offset, in bytes, of the end of the last field that the struct has in the caller's version
    /// of the interface.
    pub size: usize,
    extension: *mut c_void,
}

impl Header {
    /// Returns the header of a struct of `size` bytes with an extension.
    pub const fn with(size: usize, extension: *const c_void) -> Header {
        Header { size, extension: extension.cast_mut() }
    }

    /// Returns the header of a struct of `size` bytes.
    pub const fn of(size: usize) -> Header {
        Header { size, extension: std::ptr::null_mut() }
    }

    /// Returns the header of a struct of `size` bytes with an extension.
    pub const fn with_extension(size: usize, extension: *mut c_void) -> Header {
        Header { size, extension }
    }
}

/// A text, or other bytes. The two fields are a pointer to the bytes and the number of bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    start: *const u8,
    bytes: usize,
}

impl Text {
    /// Returns a text for the caller. The owner of `text` must keep the text for as long as the
    /// caller may use it. The interface states for each text how long the caller may use it.
    pub const fn of(text: &str) -> Text {
        Text::of_bytes(text.as_bytes())
    }

    /// Returns bytes for the caller. As for [`Text::of`], the owner must keep the bytes for as long
    /// as the caller may use them.
    pub const fn of_bytes(bytes: &[u8]) -> Text {
        Text { start: bytes.as_ptr(), bytes: bytes.len() }
    }

    /// Returns the text at an address that the caller passes.
    pub(super) const fn at(start: *const u8, bytes: usize) -> Text {
        Text { start, bytes }
    }

    /// Whether the caller passes no text.
    pub fn is_absent(&self) -> bool {
        self.start.is_null()
    }

    /// Returns the caller's bytes.
    pub fn bytes(&self) -> Answer<&[u8]> {
        // SAFETY: bytes and their count come from the caller, which keeps them for the call.
        unsafe { slice(self.start, self.bytes) }
    }

    /// Returns the caller's text. Replaces invalid characters.
    pub fn text(&self) -> Answer<String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

/// An array. The two fields are a pointer to the elements and the number of elements.
#[repr(C)]
#[derive(Debug)]
pub struct List<T> {
    start: *const T,
    count: usize,
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<T> {}

impl<T> List<T> {
    /// Returns an array for the caller. As for [`Text::of`], the owner must keep the array for as
    /// long as the caller may use it.
    pub fn of(elements: &[T]) -> List<T> {
        List { start: elements.as_ptr(), count: elements.len() }
    }

    /// Returns the array at an address that the caller passes.
    pub(super) const fn at(start: *const T, count: usize) -> List<T> {
        List { start, count }
    }

    /// Whether the caller passes no array.
    pub fn is_absent(&self) -> bool {
        self.start.is_null()
    }

    /// Returns the caller's elements.
    pub fn elements(&self) -> Answer<&[T]> {
        // SAFETY: elements and their count come from the caller, which keeps them for the call.
        unsafe { slice(self.start, self.count) }
    }
}

/// Returns the elements at an address.
///
/// # Safety
/// `start` is null, or points to `count` elements that exist during `'a`.
unsafe fn slice<'a, T>(start: *const T, count: usize) -> Answer<&'a [T]> {
    match (count, start.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Error::misuse(format!("a pointer to {count} elements is null"))),
        // SAFETY: the caller's promise; the pointer is not null.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts(start, count) }),
    }
}

/// Reads a struct that may be shorter than this version of the interface defines it. In the result,
/// the fields that the struct lacks are zero.
///
/// # Safety
/// `from` is null, or points to a struct that begins with its size. Any bytes are valid fields of
/// `T`.
pub unsafe fn read_struct<T>(from: *const T) -> Answer<T> {
    if from.is_null() {
        return Err(Error::misuse("a pointer to a struct is null"));
    }
    // SAFETY: the struct begins with its size.
    let size = unsafe { from.cast::<usize>().read_unaligned() }.min(size_of::<T>());
    let mut own = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller's struct has at least `size` bytes, and `own` has at least that many.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), own.as_mut_ptr().cast::<u8>(), size) };
    // SAFETY: any bytes are valid fields of `T`.
    Ok(unsafe { own.assume_init() })
}

/// A program with the name of its format.
#[repr(C)]
pub struct Program {
    pub header: Header,
    pub code: Text,
    pub format: Text,
}

/// The order of an array's elements in memory.
#[repr(C)]
pub struct MemoryLayout {
    pub header: Header,
    pub inner: Header,
    /// Dimensions from minor to major, or the strides of the dimensions in bytes.
    pub numbers: List<i64>,
    pub tile_dims: *const i64,
    pub tile_dim_sizes: *const usize,
    pub tiles: usize,
    /// 0 if `numbers` contains dimensions, 1 if it contains strides.
    pub kind: i32,
}

impl MemoryLayout {
    /// Returns the layout that lists these dimensions from minor to major.
    pub fn of(minor_to_major: &[i64]) -> MemoryLayout {
        MemoryLayout {
            header: Header::of(std::mem::offset_of!(MemoryLayout, kind) + size_of::<i32>()),
            inner: Header::of(std::mem::offset_of!(MemoryLayout, kind) - size_of::<Header>()),
            numbers: List::of(minor_to_major),
            tile_dims: std::ptr::null(),
            tile_dim_sizes: std::ptr::null(),
            tiles: 0,
            kind: 0,
        }
    }
}

/// Options of an execution, up to the last field that fusebox reads.
#[repr(C)]
pub struct ExecuteOptions {
    pub header: Header,
    send_callbacks: *const c_void,
    receive_callbacks: *const c_void,
    pub sends: usize,
    pub receives: usize,
    launch_id: i32,
    /// Numbers of the arguments that must not be donated.
    pub not_donated: List<i64>,
}

/// A function that frees what a [`Holder`] owns.
pub type Deleter = unsafe extern "C" fn(*mut c_void);

/// Bytes and their owner. A caller frees the owner and the bytes by calling `deleter`. This type
/// stands for three successive fields in a struct of arguments.
#[repr(C)]
pub struct Holder {
    pub bytes: Text,
    owner: *mut c_void,
    deleter: Option<Deleter>,
}

impl Holder {
    /// Hands bytes over to the caller.
    pub fn of(bytes: Vec<u8>) -> Holder {
        let owner = Box::new(bytes);
        let bytes = Text::of_bytes(&owner);
        Holder { bytes, owner: Box::into_raw(owner).cast(), deleter: Some(free_bytes) }
    }
}

unsafe extern "C" fn free_bytes(owner: *mut c_void) {
    // SAFETY: the owner is that of `Holder::of`, and the caller frees it once.
    drop(unsafe { Box::from_raw(owner.cast::<Vec<u8>>()) });
}

/// A deleter that does nothing, for values that live as long as the library.
pub unsafe extern "C" fn keep_static(_: *mut c_void) {}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::{ExecuteOptions, Header, MemoryLayout, read_struct};

    #[test]
    fn fields_are_where_the_interface_has_them() {
        assert_eq!(size_of::<Header>(), 16);
        assert_eq!((offset_of!(MemoryLayout, numbers), offset_of!(MemoryLayout, kind)), (32, 72));
        assert_eq!(offset_of!(ExecuteOptions, not_donated), 56);
    }

    #[test]
    fn missing_fields_are_zero() {
        #[repr(C)]
        struct Two {
            header: Header,
            first: u64,
            second: u64,
        }
        let given = Two { header: Header::of(24), first: 7, second: 8 };
        // SAFETY: the struct begins with its size.
        let read = unsafe { read_struct(&raw const given) }.unwrap();
        assert_eq!((given.second, read.first, read.second), (8, 7, 0));
        // SAFETY: null is refused.
        assert!(unsafe { read_struct::<Two>(std::ptr::null()) }.is_err());
    }
}
