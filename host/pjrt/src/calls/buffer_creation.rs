//! Creation of buffers.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_core::hlo::ElementType;

use crate::abi::{Call, Handle, List, MemoryLayout, NamedValue, Reference, Text, arguments, read_struct};
use crate::buffer::{Buffer, Contents};
use crate::client::{Client, Device, Memory};
use crate::device::{Array, Machine};
use crate::element::{BufferType, extend, is_narrow};
use crate::error::{Answer, Code, Error};
use crate::event::Event;
use crate::strides::{self, element_count, row_major};

/// Alignment of memory that programs can use without a copy.
const ALIGNMENT: usize = 64;
/// Smallest size of an array, in bytes, at which copying the array takes longer than the
/// bookkeeping for sharing the caller's memory.
const LEAST_SHARED: usize = 4096;

/// A function that the caller passes. When fusebox no longer uses the caller's memory, it calls the
/// function with the address of the memory and an argument of the caller.
pub type OnDelete = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Time until which the caller does not change the memory of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct HostBufferSemantics(i32);

impl HostBufferSemantics {
    /// Whether the memory stays unchanged until the buffer no longer uses it.
    fn can_be_shared(self) -> bool {
        self.0 == 2 || self.0 == 3
    }
}

arguments! {
    ClientBufferFromHostBuffer("PJRT_Client_BufferFromHostBuffer") {
        client: Handle<Client>,
        data: *const u8,
        kind: BufferType,
        dims: List<i64>,
        strides: List<i64>,
        semantics: HostBufferSemantics,
        device: Reference<Device>,
        memory: Reference<Memory>,
        layout: *const MemoryLayout,
        done: Handle<Event>,
        buffer: Handle<Buffer>,
    }
    ClientCreateViewOfDeviceBuffer("PJRT_Client_CreateViewOfDeviceBuffer") {
        client: Handle<Client>,
        data: *mut c_void,
        dims: List<i64>,
        kind: BufferType,
        layout: *const MemoryLayout,
        device: Reference<Device>,
        on_delete: Option<OnDelete>,
        on_delete_argument: *mut c_void,
        stream: usize,
        buffer: Handle<Buffer>,
        memory: Reference<Memory>,
    }
    ClientCreateUninitializedBuffer("PJRT_Client_CreateUninitializedBuffer") {
        client: Handle<Client>,
        dims: List<i64>,
        kind: BufferType,
        layout: *const MemoryLayout,
        device: Reference<Device>,
        memory: Reference<Memory>,
        buffer: Handle<Buffer>,
    }
    ClientCreateErrorBuffer("PJRT_Client_CreateErrorBuffer") {
        client: Handle<Client>,
        code: i32,
        message: Text,
        dims: List<i64>,
        kind: BufferType,
        layout: *const MemoryLayout,
        memory: Reference<Memory>,
        buffer: Handle<Buffer>,
        payload: List<NamedValue>,
    }
}

/// Returns the memory for a new buffer: `memory` or, if `memory` is null, the first memory of the
/// device.
fn place(client: &Client, device: Reference<Device>, memory: Reference<Memory>) -> Answer<Reference<Memory>> {
    if !memory.is_null() {
        return Ok(memory);
    }
    let number = if device.is_null() { 0 } else { device.get()?.number };
    let memory = client.memories_of(number).first().copied();
    memory.ok_or_else(|| Error::invalid(format!("there is no device {number}")))
}

/// Checks that the layout that a caller asks for is row-major. A layout without dimensions counts
/// as row-major: for the array of a random key's numbers, JAX passes the layout of the key, which
/// is a scalar.
fn check_layout(layout: *const MemoryLayout, dims: &[i64], element: usize) -> Answer {
    if layout.is_null() {
        return Ok(());
    }
    // SAFETY: the caller passes a layout; any bytes are valid for its fields.
    let layout = unsafe { read_struct(layout) }?;
    let usual = strides::dense(dims, &row_major(dims.len()), element)?;
    let given = layout.numbers.elements()?;
    let is_usual = match layout.kind {
        0 if given.is_empty() => layout.tiles == 0,
        0 => layout.tiles == 0 && strides::are_equal(dims, &strides::dense(dims, given, element)?, &usual),
        _ => strides::are_equal(dims, given, &usual),
    };
    if is_usual { Ok(()) } else { Err(Error::unimplemented("arrays of fusebox are row-major, without tiles")) }
}

/// A function of the caller, and the function's two arguments. If the last field is true, dropping
/// this value calls the function.
struct Deletion(OnDelete, *mut c_void, *mut c_void, Arc<AtomicBool>);

// SAFETY: the caller allows its function to be called from any thread.
unsafe impl Send for Deletion {}
impl Drop for Deletion {
    fn drop(&mut self) {
        let Deletion(function, data, argument, is_due) = self;
        if is_due.load(Ordering::Acquire) {
            // SAFETY: the caller registers the function for these arguments. It is called once.
            unsafe { function(*data, *argument) }
        }
    }
}

impl Call for ClientBufferFromHostBuffer {
    fn call(&mut self) -> Answer {
        (self.done, self.buffer) = (Handle::NULL, Handle::NULL);
        let client = self.client.shared()?;
        let element = self.kind.element()?;
        let (dims, given) = (self.dims.elements()?, self.strides.elements()?);
        let bytes = element_count(dims)? * element.byte_size();
        if bytes > 0 && self.data.is_null() {
            return Err(Error::misuse("the data of the array is null"));
        }
        check_layout(self.layout, dims, element.byte_size())?;
        let usual = strides::dense(dims, &row_major(dims.len()), element.byte_size())?;
        let is_dense = self.strides.is_absent() || strides::are_equal(dims, given, &usual);
        if !is_dense && given.len() != dims.len() {
            return Err(Error::misuse("the numbers of strides and of dimensions differ"));
        }
        let is_shared = self.semantics.can_be_shared()
            && is_dense
            && !is_narrow(element)
            && bytes >= LEAST_SHARED
            && self.data.align_offset(ALIGNMENT) == 0;
        let (array, done) = if is_shared {
            let done = Event::pending();
            let owner = Completed(Arc::clone(&done));
            // SAFETY: the caller keeps the data until `done` completes.
            (unsafe { client.machine.viewed(element, dims, (self.data, bytes), owner) }?, done)
        } else {
            let source = if is_dense { &usual } else { given };
            // SAFETY: the caller's array has these dimensions and strides.
            let array = unsafe { copied(&client.machine, element, dims, (self.data, source), &usual) }?;
            (array, Event::done(Ok(())))
        };
        let memory = place(&client, self.device, self.memory)?;
        self.buffer = Handle::of(Buffer::create(memory.get()?, self.kind, dims.into(), Contents::Array(array))?)?;
        self.done = Handle::of(done)?;
        Ok(())
    }
}

/// Completes an event when it is dropped.
struct Completed(Arc<Event>);

impl Drop for Completed {
    fn drop(&mut self) {
        self.0.complete(Ok(()));
    }
}

/// Copies a caller's array.
///
/// # Safety
/// An array with these dimensions and strides is at the address.
unsafe fn copied(
    machine: &Machine,
    element: ElementType,
    dims: &[i64],
    (start, strides): (*const u8, &[i64]),
    usual: &[i64],
) -> Answer<Array> {
    let bytes = element_count(dims)? * element.byte_size();
    if bytes == 0 {
        return machine.copied(element, dims, &[]);
    }
    if strides == usual && !is_narrow(element) {
        // SAFETY: the array is dense, and not empty.
        return machine.copied(element, dims, unsafe { std::slice::from_raw_parts(start, bytes) });
    }
    let mut dense = zeroed(bytes)?;
    // SAFETY: the caller's promise; the target is a dense array of the same size.
    unsafe { strides::copy(dims, element.byte_size(), (start, strides), (dense.as_mut_ptr(), usual)) };
    extend(element, &mut dense);
    machine.copied(element, dims, &dense)
}

/// Returns `bytes` zero bytes.
fn zeroed(bytes: usize) -> Answer<Vec<u8>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(bytes).map_err(|_| Error::memory(bytes as u64))?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

impl Call for ClientCreateViewOfDeviceBuffer {
    fn call(&mut self) -> Answer {
        self.buffer = Handle::NULL;
        let client = self.client.shared()?;
        let dims = self.dims.elements()?;
        let element = self.kind.element()?;
        check_layout(self.layout, dims, element.byte_size())?;
        let bytes = element_count(dims)? * element.byte_size();
        let memory = place(&client, self.device, self.memory)?;
        let memory = memory.get()?;
        // If this call fails, the memory stays the caller's, and the function is not called.
        let has_succeeded = Arc::new(AtomicBool::new(false));
        let deletion = self
            .on_delete
            .map(|function| Deletion(function, self.data, self.on_delete_argument, Arc::clone(&has_succeeded)));
        let data = self.data.cast_const().cast::<u8>();
        if data.is_null() && bytes > 0 {
            return Err(Error::misuse("the data of the array is null"));
        }
        let is_usable = !data.is_null() && data.align_offset(ALIGNMENT) == 0 && !is_narrow(element);
        let (array, unused) = if is_usable {
            // SAFETY: the caller keeps the data until its function is called.
            (unsafe { client.machine.viewed(element, dims, (data, bytes), deletion) }?, None)
        } else {
            let usual = strides::dense(dims, &row_major(dims.len()), element.byte_size())?;
            // SAFETY: the caller's array is dense.
            (unsafe { copied(&client.machine, element, dims, (data, &usual), &usual) }?, Some(deletion))
        };
        let buffer = Buffer::create(memory, self.kind, dims.into(), Contents::Array(array))?;
        has_succeeded.store(true, Ordering::Release);
        drop(unused);
        self.buffer = Handle::of(buffer)?;
        Ok(())
    }
}

impl Call for ClientCreateUninitializedBuffer {
    fn call(&mut self) -> Answer {
        self.buffer = Handle::NULL;
        let client = self.client.shared()?;
        let dims = self.dims.elements()?;
        let element = self.kind.element()?;
        check_layout(self.layout, dims, element.byte_size())?;
        let bytes = zeroed(element_count(dims)? * element.byte_size())?;
        let array = client.machine.copied(element, dims, &bytes)?;
        let memory = place(&client, self.device, self.memory)?;
        self.buffer = Handle::of(Buffer::create(memory.get()?, self.kind, dims.into(), Contents::Array(array))?)?;
        Ok(())
    }
}

impl Call for ClientCreateErrorBuffer {
    fn call(&mut self) -> Answer {
        self.buffer = Handle::NULL;
        let client = self.client.shared()?;
        let dims = self.dims.elements()?;
        let error = Error::new(Code(self.code), self.message.text()?);
        let memory = place(&client, Reference::NULL, self.memory)?;
        self.buffer = Handle::of(Buffer::create(memory.get()?, self.kind, dims.into(), Contents::Failed(error))?)?;
        Ok(())
    }
}
