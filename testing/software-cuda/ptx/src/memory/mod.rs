//! The memory of a device: allocations, their bytes, and a shadow that knows the accesses.

use thiserror::Error;

use crate::fault::Fault;
use crate::stamp::Stamp;

/// The memory of a device.
#[derive(Debug)]
pub struct Memory {
    capacity: u64,
}

/// The device has too little free memory.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{bytes} bytes requested, {free} bytes free")]
pub struct OutOfMemory {
    pub bytes: u64,
    pub free: u64,
}

impl Memory {
    /// Returns memory with a size in bytes, without allocations.
    pub fn new(capacity: u64) -> Memory {
        Memory { capacity }
    }

    /// Allocates memory whose bytes count as never written. The alignment is a power of two.
    /// Returns the address.
    pub fn allocate(&self, bytes: u64, alignment: u64) -> Result<u64, OutOfMemory> {
        _ = alignment;
        Err(OutOfMemory { bytes, free: 0 })
    }

    /// Frees an allocation. Fails if the address is not the start of a live allocation, or if an
    /// access to it is not ordered before the free.
    pub fn free(&self, address: u64, when: &Stamp) -> Result<(), Fault> {
        _ = (address, when);
        Ok(())
    }

    /// Copies bytes from the device to the host. Bytes that were never written are a fault.
    pub fn read(&self, address: u64, bytes: &mut [u8], when: &Stamp) -> Result<(), Fault> {
        _ = (address, bytes, when);
        Ok(())
    }

    /// Copies bytes from the host to the device.
    pub fn write(&self, address: u64, bytes: &[u8], when: &Stamp) -> Result<(), Fault> {
        _ = (address, bytes, when);
        Ok(())
    }

    /// Writes a pattern `count` times.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64, when: &Stamp) -> Result<(), Fault> {
        _ = (address, pattern, count, when);
        Ok(())
    }

    /// Copies bytes on the device. The copy of a byte that was never written counts as never
    /// written.
    pub fn copy(&self, from: u64, to: u64, bytes: u64, when: &Stamp) -> Result<(), Fault> {
        _ = (from, to, bytes, when);
        Ok(())
    }

    /// Returns the start and the size of the live allocation that contains an address.
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        _ = address;
        None
    }

    /// Returns the size of the memory in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the bytes of all live allocations.
    pub fn used(&self) -> u64 {
        0
    }
}
