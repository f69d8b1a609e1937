//! Buffers: the arrays of a client.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::abi::{Kind, Object};
use crate::client::{Client, Device, Memory};
use crate::device::{Array, HostBytes};
use crate::element::BufferType;
use crate::error::{Answer, Error};
use crate::event::Event;
use crate::strides::{element_count, row_major};

/// An array in a memory of a device. The elements are dense and in row-major order.
pub struct Buffer {
    pub client: Arc<Client>,
    memory: i32,
    pub kind: BufferType,
    pub dims: Arc<[i64]>,
    /// Numbers of the dimensions, from minor to major, if the caller has asked for them.
    minor_to_major: OnceLock<Box<[i64]>>,
    state: Mutex<State>,
}

struct State {
    contents: Contents,
    /// Number of views of the memory that the caller has begun and not yet ended.
    views: usize,
    /// The memory that views use. Views use this memory even after the buffer has been deleted.
    viewed: Option<HostBytes>,
}

/// The elements of a buffer.
pub enum Contents {
    Array(Array),
    /// The operation that computes the elements has failed.
    Failed(Error),
    Deleted,
}

impl Object for Buffer {
    const KIND: Kind = Kind::Buffer;
}

impl Buffer {
    /// Creates a buffer in a memory.
    pub fn create(memory: &Memory, kind: BufferType, dims: Arc<[i64]>, contents: Contents) -> Answer<Arc<Buffer>> {
        Ok(Arc::new(Buffer {
            client: memory.client()?,
            memory: memory.number,
            kind,
            dims,
            minor_to_major: OnceLock::new(),
            state: Mutex::new(State { contents, views: 0, viewed: None }),
        }))
    }

    /// Returns the numbers of the dimensions, from minor to major.
    pub fn minor_to_major(&self) -> &[i64] {
        self.minor_to_major.get_or_init(|| row_major(self.dims.len()).into())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the memory of the buffer.
    pub fn memory(&self) -> Answer<&Memory> {
        self.client.memory(self.memory)
    }

    /// Returns the device of the buffer.
    pub fn device(&self) -> Answer<&Device> {
        self.client.device(self.memory()?.device)
    }

    /// Returns the array, or the error of the operation that computes it.
    pub fn array(&self) -> Answer<Array> {
        match &self.lock().contents {
            Contents::Array(array) if !array.is_deleted() => Ok(array.clone()),
            Contents::Failed(error) => Err(error.clone()),
            Contents::Array(_) | Contents::Deleted => Err(deleted()),
        }
    }

    /// Returns an event that completes when the elements are computed.
    pub fn ready(&self) -> Arc<Event> {
        let array = match self.array() {
            Ok(array) => array,
            Err(error) => return Event::done(Err(error)),
        };
        if let Some(outcome) = array.outcome() {
            return Event::done(outcome);
        }
        let event = Event::pending();
        let own = Arc::clone(&event);
        array.when_ready(move |outcome| {
            own.complete(outcome);
        });
        event
    }

    pub fn is_deleted(&self) -> bool {
        match &self.lock().contents {
            Contents::Array(array) => array.is_deleted(),
            Contents::Failed(_) => false,
            Contents::Deleted => true,
        }
    }

    /// Drops the buffer's reference to its memory. Views of the caller keep the memory until they
    /// end.
    pub fn delete(&self) {
        // The memory may belong to the caller, and freeing it may call functions of the caller. So
        // the lock must be released first.
        let before = std::mem::replace(&mut self.lock().contents, Contents::Deleted);
        drop(before);
    }

    /// Number of bytes of the elements.
    pub fn byte_size(&self) -> Answer<usize> {
        match self.kind {
            BufferType::TOKEN => Ok(0),
            kind => Ok(element_count(&self.dims)? * kind.element()?.byte_size()),
        }
    }

    /// Begins a view, through which the caller reads the buffer's memory. Waits until the elements
    /// are computed.
    pub fn begin_view(&self) -> Answer {
        let bytes = self.array()?.bytes()?;
        let mut state = self.lock();
        state.views += 1;
        state.viewed.get_or_insert(bytes);
        Ok(())
    }

    /// Ends one view that the caller has begun.
    pub fn end_view(&self) -> Answer {
        let mut state = self.lock();
        let left = state.views.checked_sub(1);
        state.views = left.ok_or_else(|| Error::misuse("the buffer has no further view"))?;
        let unused = if state.views == 0 { state.viewed.take() } else { None };
        drop(state);
        drop(unused);
        Ok(())
    }

    /// Returns the address of the first element. The address is valid as long as the buffer or a
    /// view of the buffer exists. Waits until the elements are computed.
    pub fn address(&self) -> Answer<*const u8> {
        if let Some(bytes) = &self.lock().viewed {
            return Ok(bytes.as_ptr());
        }
        Ok(self.array()?.bytes()?.as_ptr())
    }

    /// Copies the buffer to a memory.
    pub fn copy_to(&self, memory: &Memory) -> Answer<Arc<Buffer>> {
        let contents = match self.array() {
            Ok(array) => Contents::Array(memory.client()?.machine.copy_of(&array)),
            Err(error) if self.is_deleted() => return Err(error),
            Err(error) => Contents::Failed(error),
        };
        Buffer::create(memory, self.kind, Arc::clone(&self.dims), contents)
    }
}

fn deleted() -> Error {
    Error::invalid("the buffer has been deleted or donated")
}
