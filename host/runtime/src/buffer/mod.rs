//! Buffers: arrays in the memory of a device, which do not belong to an executable.
//!
//! ```text
//! completion   pending, then ready or failed                 sync
//! array        the bytes of a buffer
//! promise      the obligation to fill a buffer
//! host_bytes   the bytes of a buffer, for reading on the host
//! ```

mod array;
mod completion;
mod host_bytes;
mod promise;
mod sync;

pub use array::Array;
pub use completion::Completion;
pub use host_bytes::HostBytes;
pub use promise::{PendingArray, Promise};

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType};

use crate::executable::ALIGNMENT;
use crate::machine::{DeviceMemory, ForeignMemory};
use crate::values::{canonical, copy, describe, extracted};
use crate::{Device, RunError};

/// An array in the memory of a device. A clone refers to the same buffer.
///
/// A buffer is *pending* until its bytes are computed. After the computation, the buffer is *ready*
/// or *failed*. A buffer is *deleted* when the caller deletes it or donates it to an execution. The
/// memory is freed when neither a buffer nor an execution nor [`HostBytes`] uses it any more.
#[derive(Clone)]
pub struct Buffer(Arc<BufferHandle>);

struct BufferHandle {
    device: Device,
    shape: Arc<ArrayShape>,
    content: Mutex<Content>,
}

/// The content of a buffer.
#[derive(Clone)]
pub enum Content {
    /// The bytes.
    Ready(Array),
    /// The state of bytes that were computed, or are to be computed, after the creation of the
    /// buffer.
    Pending(Arc<PendingArray>),
    /// Nothing, because the buffer was deleted or donated.
    Deleted,
}

/// The state of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferState {
    /// The bytes are not computed yet.
    Pending,
    /// The bytes can be read.
    Ready,
    /// The bytes could not be computed.
    Failed(RunError),
    /// The buffer was deleted, or donated to an execution.
    Deleted,
}

/// The obligation to fill a buffer with bytes of the host. If the promise is dropped before the
/// buffer is filled, the buffer fails with [`RunError::Abandoned`].
pub struct BufferPromise {
    device: Device,
    shape: Arc<ArrayShape>,
    promise: Promise,
}

impl Content {
    /// Whether the bytes are not computed yet.
    pub fn is_pending(&self) -> bool {
        matches!(self, Content::Pending(pending) if !pending.is_done())
    }

    /// Waits until the bytes are computed, and returns them.
    pub fn wait(&self) -> Result<Array, RunError> {
        match self {
            Content::Ready(array) => Ok(array.clone()),
            Content::Pending(pending) => pending.wait(),
            Content::Deleted => Err(RunError::Deleted),
        }
    }

    /// Waits until the bytes are computed, and returns them. If `self` is the only reference to the
    /// bytes, the returned array is the only reference to them, too.
    pub fn into_array(self) -> Result<Array, RunError> {
        match self {
            Content::Ready(array) => Ok(array),
            Content::Pending(pending) => {
                if !pending.is_done() {
                    drop(pending.wait());
                }
                pending.into_outcome().unwrap_or(Err(RunError::Abandoned))
            }
            Content::Deleted => Err(RunError::Deleted),
        }
    }
}

impl Buffer {
    /// Creates a buffer that holds a copy of `bytes`: the elements in row-major order, as in an
    /// [`ArrayLiteral`].
    ///
    /// # Errors
    /// If the number of bytes is wrong, memory is short, or the GPU fails.
    pub fn from_bytes(
        device: &Device,
        element_type: ElementType,
        dims: &[i64],
        bytes: &[u8],
    ) -> Result<Buffer, RunError> {
        let shape = ArrayShape::new(element_type, dims);
        check_size(&shape, bytes.len())?;
        let memory = device.hardware().holding(bytes)?;
        Ok(Buffer::ready(device, Arc::new(shape), Array::whole(Arc::new(memory))))
    }

    /// Creates a buffer that holds a copy of an array.
    ///
    /// # Errors
    /// If memory is short or the GPU fails.
    pub fn from_literal(device: &Device, array: &ArrayLiteral) -> Result<Buffer, RunError> {
        Buffer::from_bytes(device, array.element_type, &array.dims, &array.data)
    }

    /// Creates a buffer from memory of the host that fusebox has not allocated. If the device works
    /// in the host's memory, the buffer uses the given memory without a copy. If the device is a
    /// GPU, the bytes are copied to the GPU.
    ///
    /// # Errors
    /// If the size is wrong, or the address is not a multiple of the alignment that kernels assume,
    /// 64 bytes. If the device is a GPU, the function also fails if memory is short or the GPU
    /// fails.
    pub fn from_foreign(
        device: &Device,
        element_type: ElementType,
        dims: &[i64],
        memory: ForeignMemory,
    ) -> Result<Buffer, RunError> {
        let shape = ArrayShape::new(element_type, dims);
        check_size(&shape, memory.len())?;
        if !memory.address().addr().is_multiple_of(ALIGNMENT) {
            return Err(RunError::Alignment { alignment: ALIGNMENT });
        }
        let foreign = DeviceMemory::Foreign(memory);
        let memory = if device.hardware().is_host() {
            foreign
        } else {
            device.hardware().holding(foreign.in_host(0..shape.byte_size() as usize).unwrap_or_default())?
        };
        Ok(Buffer::ready(device, Arc::new(shape), Array::whole(Arc::new(memory))))
    }

    /// Creates a pending buffer that the caller fills later.
    pub fn pending(device: &Device, element_type: ElementType, dims: &[i64]) -> (Buffer, BufferPromise) {
        let shape = Arc::new(ArrayShape::new(element_type, dims));
        let (pending, promise) = Promise::new();
        let buffer = Buffer::new(device, shape.clone(), Content::Pending(pending));
        (buffer, BufferPromise { device: device.clone(), shape, promise })
    }

    /// Creates a buffer that holds an array.
    pub(crate) fn ready(device: &Device, shape: Arc<ArrayShape>, array: Array) -> Buffer {
        Buffer::new(device, shape, Content::Ready(array))
    }

    pub(crate) fn new(device: &Device, shape: Arc<ArrayShape>, content: Content) -> Buffer {
        Buffer(Arc::new(BufferHandle { device: device.clone(), shape, content: Mutex::new(content) }))
    }

    /// Returns the device whose memory holds the buffer.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Returns the type of the elements.
    pub fn element_type(&self) -> ElementType {
        self.0.shape.element_type
    }

    /// Returns the shape of the array in memory. For a result with dynamic dimensions, the shape
    /// contains the bounds of these dimensions.
    pub fn shape(&self) -> &ArrayShape {
        &self.0.shape
    }

    /// Returns the sizes of the dimensions. If the shape has a dynamic dimension, waits until the
    /// buffer is ready.
    ///
    /// # Errors
    /// If the shape has a dynamic dimension, and the buffer has failed or was deleted.
    pub fn dims(&self) -> Result<Vec<i64>, RunError> {
        let shape = &self.0.shape;
        if shape.has_dynamic_size() { Ok(self.array()?.dims(shape).to_vec()) } else { Ok(shape.dims.clone()) }
    }

    /// Returns the size of the array in memory, in bytes.
    pub fn byte_size(&self) -> usize {
        self.0.shape.byte_size() as usize
    }

    /// Returns another buffer with the same elements in the same memory. Deleting or donating one
    /// of the two buffers does not delete the other. If one of the two buffers is donated to an
    /// execution, this execution overwrites a copy of the memory.
    pub fn share(&self) -> Buffer {
        Buffer::new(&self.0.device, self.0.shape.clone(), self.content())
    }

    /// Whether both handles refer to the same buffer.
    pub fn is_same(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the state.
    pub fn state(&self) -> BufferState {
        match &*self.lock() {
            Content::Ready(_) => BufferState::Ready,
            Content::Deleted => BufferState::Deleted,
            Content::Pending(pending) => match pending.get() {
                None => BufferState::Pending,
                Some(Ok(_)) => BufferState::Ready,
                Some(Err(error)) => BufferState::Failed(error),
            },
        }
    }

    /// Whether the buffer is not pending, so that reading it does not wait.
    pub fn is_ready(&self) -> bool {
        !self.lock().is_pending()
    }

    /// Waits until the buffer is not pending.
    ///
    /// # Errors
    /// If the buffer has failed or was deleted.
    pub fn wait(&self) -> Result<(), RunError> {
        self.array().map(drop)
    }

    /// Calls a function when the buffer is not pending any more. If the buffer is not pending now,
    /// this thread calls the function. Otherwise the thread that completes the buffer calls the
    /// function. The argument of the function is the error if the buffer has failed or was deleted.
    /// The function is called even if the buffer was deleted or all its handles were dropped
    /// meanwhile. The calling thread holds no lock during the call. If another thread calls the
    /// function, a panic of the function is ignored.
    pub fn on_ready(&self, callback: impl FnOnce(Result<(), RunError>) + Send + 'static) {
        let pending = match &*self.lock() {
            Content::Pending(pending) => Ok(pending.clone()),
            Content::Ready(_) => Err(Ok(())),
            Content::Deleted => Err(Err(RunError::Deleted)),
        };
        match pending {
            Ok(pending) => pending.on_done(move |error| callback(error.map_or(Ok(()), |error| Err(error.clone())))),
            Err(outcome) => callback(outcome),
        }
    }

    /// Returns the bytes on the host, in the layout of [`Buffer::shape`]. Waits until the buffer is
    /// ready. Copies the bytes only if they are in the memory of a GPU. Integers narrower than a
    /// byte may have any value in the unused bits of their bytes.
    ///
    /// # Errors
    /// If the buffer has failed or was deleted, memory is short, or the GPU fails.
    pub fn bytes(&self) -> Result<HostBytes, RunError> {
        let array = self.array()?;
        let range = array.range(&self.0.shape);
        if array.memory.in_host(range.clone()).is_some() {
            return Ok(HostBytes::shared(array.memory, range));
        }
        Ok(HostBytes::copied(self.0.device.hardware().fetched(&array.memory, range)?))
    }

    /// Copies the array to the host. Waits until the buffer is ready. The result has the actual
    /// sizes of dynamic dimensions.
    ///
    /// # Errors
    /// If [`Buffer::bytes`] fails.
    pub fn to_literal(&self) -> Result<ArrayLiteral, RunError> {
        let (shape, array, bytes) = (&*self.0.shape, self.array()?, self.bytes()?);
        let (element_type, dims) = (shape.element_type, array.dims(shape).to_vec());
        let data = if dims == shape.dims {
            copy(&bytes)?
        } else {
            extracted(&bytes, element_type.byte_size(), &dims, &shape.dims)?
        };
        let data = match canonical(element_type, &data)? {
            std::borrow::Cow::Owned(extended) => extended,
            std::borrow::Cow::Borrowed(_) => data,
        };
        Ok(ArrayLiteral { element_type, dims, data: data.into() })
    }

    /// Deletes the buffer. Executions that already use the buffer are not affected. The memory of
    /// the buffer is freed when nothing uses it any more.
    pub fn delete(&self) {
        // The memory is freed after the lock is released.
        let content = self.take();
        drop(content);
    }

    /// Whether the buffer was deleted, or donated to an execution.
    pub fn is_deleted(&self) -> bool {
        matches!(*self.lock(), Content::Deleted)
    }

    /// Returns the content of the buffer.
    pub(crate) fn content(&self) -> Content {
        self.lock().clone()
    }

    /// Returns the content of the buffer, and deletes the buffer.
    pub(crate) fn take(&self) -> Content {
        std::mem::replace(&mut *self.lock(), Content::Deleted)
    }

    /// Undoes [`Buffer::take`].
    pub(crate) fn put_back(&self, content: Content) {
        *self.lock() = content;
    }

    /// Returns a counted reference to the shape. Callers can clone this reference.
    pub(crate) fn shared_shape(&self) -> &Arc<ArrayShape> {
        &self.0.shape
    }

    fn array(&self) -> Result<Array, RunError> {
        let content = self.content();
        content.wait()
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer {{ {}, {:?} }}", describe(&self.0.shape), self.state())
    }
}

impl BufferPromise {
    /// Fills the buffer with a copy of `bytes`. If the copy fails, the buffer fails with the same
    /// error.
    ///
    /// # Errors
    /// If the number of bytes is wrong, memory is short, or the GPU fails.
    pub fn set(self, bytes: &[u8]) -> Result<(), RunError> {
        let BufferPromise { device, shape, promise } = self;
        let memory = check_size(&shape, bytes.len()).and_then(|()| device.hardware().holding(bytes));
        let outcome = memory.as_ref().map(drop).map_err(Clone::clone);
        promise.complete(memory.map(|memory| Array::whole(Arc::new(memory))));
        outcome
    }

    /// Marks the buffer as failed. All executions that use the buffer fail with the same error.
    pub fn fail(self, error: RunError) {
        self.promise.complete(Err(error));
    }
}

impl fmt::Debug for BufferPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferPromise {{ {} }}", describe(&self.shape))
    }
}

/// Checks that `bytes` is the size in bytes of an array of this shape.
fn check_size(shape: &ArrayShape, bytes: usize) -> Result<(), RunError> {
    let (expected, found) = (shape.byte_size().max(0) as u64, bytes as u64);
    if expected == found && shape.dims.iter().all(|&size| size >= 0) {
        return Ok(());
    }
    Err(RunError::ByteCount { shape: describe(shape), expected, found })
}
