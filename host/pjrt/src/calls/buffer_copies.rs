//! Functions that copy buffers to the host, to other devices or to other memories, and a function
//! that interprets a buffer's bytes as elements of another type.

use std::sync::Arc;

use fusebox_core::hlo::ElementType;

use crate::abi::{Call, Handle, List, MemoryLayout, Reference, arguments, read_struct};
use crate::buffer::{Buffer, Contents};
use crate::client::{Device, Memory};
use crate::element::{BufferType, extend};
use crate::error::{Answer, Error};
use crate::event::Event;
use crate::strides::{self, element_count, row_major};

arguments! {
    /// If the target is null, the function only returns the size of the copy in bytes.
    BufferToHostBuffer("PJRT_Buffer_ToHostBuffer") {
        buffer: Handle<Buffer>,
        layout: *const MemoryLayout,
        target: *mut u8,
        target_bytes: usize,
        event: Handle<Event>,
    }
    BufferCopyRawToHost("PJRT_Buffer_CopyRawToHost") {
        buffer: Handle<Buffer>,
        target: *mut u8,
        offset: i64,
        bytes: i64,
        event: Handle<Event>,
    }
    BufferCopyToDevice("PJRT_Buffer_CopyToDevice") {
        buffer: Handle<Buffer>,
        device: Reference<Device>,
        copy: Handle<Buffer>,
    }
    BufferCopyToMemory("PJRT_Buffer_CopyToMemory") {
        buffer: Handle<Buffer>,
        memory: Reference<Memory>,
        copy: Handle<Buffer>,
    }
    BufferBitcast("PJRT_Buffer_Bitcast") {
        buffer: Handle<Buffer>,
        kind: BufferType,
        dims: List<i64>,
        layout: *const MemoryLayout,
        copy: Handle<Buffer>,
    }
}

impl Call for BufferToHostBuffer {
    fn call(&mut self) -> Answer {
        let buffer = self.buffer.get()?;
        let bytes = buffer.byte_size()?;
        if self.target.is_null() {
            (self.target_bytes, self.event) = (bytes, Handle::NULL);
            return Ok(());
        }
        if self.target_bytes < bytes {
            let given = self.target_bytes;
            return Err(Error::invalid(format!("the target has {given} bytes, the array {bytes}")));
        }
        let array = match buffer.array() {
            Ok(array) => array,
            Err(error) if buffer.is_deleted() => return Err(error),
            Err(error) => {
                self.event = Handle::of(Event::done(Err(error)))?;
                return Ok(());
            }
        };
        if buffer.kind == BufferType::TOKEN {
            self.event = Handle::of(Event::done(Ok(())))?;
            return Ok(());
        }
        let element = buffer.kind.element()?;
        let usual = strides::dense(&buffer.dims, buffer.minor_to_major(), element.byte_size())?;
        let wanted = target_strides(self.layout, &buffer.dims, element.byte_size())?;
        let target = Target { start: self.target, bytes, dims: buffer.dims.clone(), element, usual, wanted };
        let event = Event::pending();
        let own = Arc::clone(&event);
        array.when_computed(move |bytes| {
            own.complete(bytes.map(|bytes| target.copy(&bytes)));
        });
        self.event = Handle::of(event)?;
        Ok(())
    }
}

/// Memory of the caller that receives an array. The caller keeps the memory until the event of the
/// copy completes.
struct Target {
    start: *mut u8,
    bytes: usize,
    dims: Arc<[i64]>,
    element: ElementType,
    usual: Vec<i64>,
    /// Strides that the caller asks for, or `None` for those of a row-major array.
    wanted: Option<Vec<i64>>,
}

// SAFETY: the caller allows any thread to write to the memory.
unsafe impl Send for Target {}

impl Target {
    fn copy(&self, source: &[u8]) {
        let Target { start, bytes, dims, element, usual, wanted } = self;
        let wanted = wanted.as_ref().filter(|wanted| !strides::are_equal(dims, usual, wanted));
        // SAFETY: the caller's target has at least `bytes` bytes, and both arrays are dense.
        unsafe {
            match wanted {
                Some(wanted) => {
                    strides::copy(dims, element.byte_size(), (source.as_ptr(), usual), (*start, wanted));
                }
                None => std::ptr::copy_nonoverlapping(source.as_ptr(), *start, *bytes),
            }
            if *bytes > 0 {
                extend(*element, std::slice::from_raw_parts_mut(*start, *bytes));
            }
        }
    }
}

/// Returns the strides of a dense array with the layout that the caller asks for. Returns `None` if
/// the caller passes no layout, or the strides of a row-major array. A layout without dimensions
/// counts as row-major: JAX passes a layout without dimensions in some cases, when it copies a
/// divided array to another backend.
fn target_strides(layout: *const MemoryLayout, dims: &[i64], element: usize) -> Answer<Option<Vec<i64>>> {
    if layout.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller passes a layout; any bytes are valid for its fields.
    let layout = unsafe { read_struct(layout) }?;
    let numbers = layout.numbers.elements()?;
    if layout.kind == 0 {
        if layout.tiles > 0 {
            return Err(Error::unimplemented("arrays of fusebox have no tiles"));
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        return strides::dense(dims, numbers, element).map(Some);
    }
    // Other strides could lead out of the target.
    let usual = strides::dense(dims, &row_major(dims.len()), element)?;
    let is_usual = strides::are_equal(dims, numbers, &usual);
    if is_usual { Ok(None) } else { Err(Error::unimplemented("copies to arrays with gaps")) }
}

impl Call for BufferCopyRawToHost {
    fn call(&mut self) -> Answer {
        let array = self.buffer.get()?.array()?.bytes()?;
        let range = usize::try_from(self.offset).ok().zip(usize::try_from(self.bytes).ok());
        let source = range.and_then(|(offset, bytes)| array.get(offset..offset.checked_add(bytes)?));
        let source = source.ok_or_else(|| Error::invalid("the array does not have these bytes"))?;
        if self.target.is_null() {
            return Err(Error::misuse("the target is null"));
        }
        // SAFETY: the caller's target has room for the bytes that it asks for.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), self.target, source.len()) };
        self.event = Handle::of(Event::done(Ok(())))?;
        Ok(())
    }
}

impl Call for BufferCopyToDevice {
    fn call(&mut self) -> Answer {
        self.copy = Handle::NULL;
        let device = self.device.get()?;
        let client = device.client()?;
        let memory = client.memories_of(device.number).first().copied();
        let memory = memory.ok_or_else(|| Error::internal("the device has no memory"))?;
        self.copy = Handle::of(self.buffer.get()?.copy_to(memory.get()?)?)?;
        Ok(())
    }
}

impl Call for BufferCopyToMemory {
    fn call(&mut self) -> Answer {
        self.copy = Handle::NULL;
        self.copy = Handle::of(self.buffer.get()?.copy_to(self.memory.get()?)?)?;
        Ok(())
    }
}

impl Call for BufferBitcast {
    /// The result shares the memory of the buffer, because neither of the two buffers can change
    /// this memory.
    fn call(&mut self) -> Answer {
        self.copy = Handle::NULL;
        let buffer = self.buffer.get()?;
        let dims = self.dims.elements()?;
        let bytes = element_count(dims)? * self.kind.element()?.byte_size();
        let own = buffer.byte_size()?;
        if bytes != own {
            return Err(Error::invalid(format!("an array of {own} bytes cannot become one of {bytes}")));
        }
        target_strides(self.layout, dims, self.kind.element()?.byte_size())?;
        let array = buffer.client.machine.reinterpreted(&buffer.array()?, self.kind.element()?, dims)?;
        let contents = Contents::Array(array);
        self.copy = Handle::of(Buffer::create(buffer.memory()?, self.kind, dims.into(), contents)?)?;
        Ok(())
    }
}
