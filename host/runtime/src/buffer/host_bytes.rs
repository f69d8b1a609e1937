//! The bytes of a buffer, for reading on the host.

use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::machine::DeviceMemory;

/// The bytes of a buffer on the host. If the buffer is in the host's memory, the bytes are not
/// copied: this value keeps the memory alive, and keeps executions from overwriting it.
#[derive(Clone, Debug)]
pub struct HostBytes(Source);

#[derive(Clone, Debug)]
enum Source {
    Shared { memory: Arc<DeviceMemory>, range: Range<usize> },
    Copied(Arc<[u8]>),
}

impl HostBytes {
    /// Returns the bytes in a range of memory of the host.
    pub(crate) fn shared(memory: Arc<DeviceMemory>, range: Range<usize>) -> HostBytes {
        HostBytes(Source::Shared { memory, range })
    }

    /// Returns bytes that were copied from a device.
    pub(crate) fn copied(bytes: Vec<u8>) -> HostBytes {
        HostBytes(Source::Copied(bytes.into()))
    }
}

impl Deref for HostBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Source::Shared { memory, range } => memory.in_host(range.clone()).unwrap_or_default(),
            Source::Copied(bytes) => bytes,
        }
    }
}
