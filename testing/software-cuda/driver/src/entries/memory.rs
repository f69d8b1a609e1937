//! Allocations of devices and of the host.

use std::sync::{Arc, Mutex, PoisonError};

use super::entry::entries;
use crate::abi::{In, Out};
use crate::driver::{Driver, Pool};
use crate::status::{Answer, Status};
use crate::work::Work;

/// Allocates memory that work may access after the earlier work of a stream.
fn allocate(driver: &Driver, address: Out<u64>, bytes: usize, stream: usize) -> Answer {
    let stream = driver.stream(stream)?;
    if stream.capture().is_some() {
        return Err(Status::NOT_SUPPORTED);
    }
    let made = stream.space.allocate_asynchronously(bytes as u64)?;
    stream.submit(Work::Allocate(made))?;
    address.set(made)
}

/// Returns the start and the size of the allocation that contains an address.
fn allocation(driver: &Driver, address: u64) -> Answer<(u64, u64)> {
    driver.space_of(address)?.memory.allocation(address).ok_or(Status::INVALID_VALUE)
}

entries! {
    /// Allocates memory.
    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) |driver| {
        driver.check_captures()?;
        address.set(driver.current()?.space.allocate(bytes as u64)?)
    }

    /// Waits for all work of the current context, and frees memory.
    fn cuMemFree_v2(address: u64) |driver| {
        driver.check_captures()?;
        let context = driver.current()?;
        if address == 0 {
            return Ok(());
        }
        if context.space.memory.allocation(address).is_none_or(|(start, _)| start != address) {
            return Err(Status::INVALID_VALUE);
        }
        context.finish()?;
        context.default_stream.submit(Work::Free(address))?;
        context.default_stream.finish()
    }

    /// Allocates memory in the order of a stream.
    fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: usize) |driver| {
        allocate(driver, address, bytes, stream)
    }

    /// Allocates memory of a pool in the order of a stream.
    fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: usize, stream: usize) |driver| {
        driver.pools.get(pool)?;
        allocate(driver, address, bytes, stream)
    }

    /// Frees memory in the order of a stream.
    fn cuMemFreeAsync(address: u64, stream: usize) |driver| {
        let stream = driver.stream(stream)?;
        if address == 0 {
            return Ok(());
        }
        if stream.space.memory.allocation(address).is_none_or(|(start, _)| start != address) {
            return Err(Status::INVALID_VALUE);
        }
        stream.submit(Work::Free(address))
    }

    /// Returns the size of the free memory and of the whole memory, in bytes.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) |driver| {
        let space = driver.current()?.space.clone();
        free.set((space.memory.capacity() - space.memory.used()) as usize)?;
        total.set(space.memory.capacity() as usize)
    }

    /// Returns the start and the size of the allocation that contains an address.
    fn cuMemGetAddressRange_v2(start: Out<u64>, bytes: Out<usize>, address: u64) |driver| {
        let (found, size) = allocation(driver, address)?;
        start.set_if_wanted(found)?;
        bytes.set_if_wanted(size as usize)
    }

    /// Returns a property of an address. Property 2 is the kind of memory, 9 the device, 11 the
    /// start and 12 the size of the allocation. `cuda.h` numbers the properties.
    fn cuPointerGetAttribute(data: Out<u8>, attribute: u32, address: u64) |driver| {
        let space = driver.space_of(address)?;
        let found = space.memory.allocation(address);
        let is_pinned = driver.pinned.contains(address as usize);
        let is_known = found.is_some() || is_pinned;
        let bytes = match (attribute, found) {
            (2, Some(_)) => 2u32.to_le_bytes().to_vec(),
            (2, None) if is_pinned => 1u32.to_le_bytes().to_vec(),
            (3, Some(_)) | (4, None) if is_known => address.to_le_bytes().to_vec(),
            (8, _) if is_known => vec![0],
            (9, Some(_)) => {
                let all = driver.contexts.all();
                let owner = all.iter().find(|(_, context)| Arc::ptr_eq(&context.space, &space));
                owner.map_or(0, |(_, context)| context.device).to_le_bytes().to_vec()
            }
            (11, Some((start, _))) => start.to_le_bytes().to_vec(),
            (12, Some((_, size))) => size.to_le_bytes().to_vec(),
            (2..=4 | 8 | 9 | 11 | 12, _) => return Err(Status::INVALID_VALUE),
            _ => return Err(Status::NOT_SUPPORTED),
        };
        data.set_list(&bytes, bytes.len())
    }

    /// Makes a pool. The properties of a pool have no effect in the software driver.
    fn cuMemPoolCreate(pool: Out<usize>, _properties: In<u8>) |driver| {
        let device = driver.current()?.device;
        pool.set(driver.pools.add(Arc::new(Pool { device, release_threshold: Mutex::new(0) })))
    }

    /// Destroys a pool.
    fn cuMemPoolDestroy(pool: usize) |driver| {
        if driver.default_pools.contains(&pool) {
            return Err(Status::INVALID_VALUE);
        }
        driver.pools.remove(pool).map(|_| ())
    }

    /// Sets an attribute of a pool. The attributes of a pool choose when memory is reused; the
    /// software driver never reuses memory.
    fn cuMemPoolSetAttribute(pool: usize, attribute: u32, value: In<u64>) |driver| {
        let pool = driver.pools.get(pool)?;
        match attribute {
            1..=3 => Ok(()),
            4 => {
                *pool.release_threshold.lock().unwrap_or_else(PoisonError::into_inner) = value.get()?;
                Ok(())
            }
            // The greatest use of memory can only be set to zero.
            6 | 8 if value.get()? == 0 => Ok(()),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Returns an attribute of a pool.
    fn cuMemPoolGetAttribute(pool: usize, attribute: u32, value: Out<u64>) |driver| {
        let pool = driver.pools.get(pool)?;
        match attribute {
            4 => value.set(*pool.release_threshold.lock().unwrap_or_else(PoisonError::into_inner)),
            5 | 7 => value.set(driver.current()?.space.memory.used()),
            _ => Err(Status::NOT_SUPPORTED),
        }
    }

    /// Releases the free memory of a pool. The pools of the software driver have no free memory,
    /// because they release freed memory at once.
    fn cuMemPoolTrimTo(pool: usize, _keep: usize) |driver| { driver.pools.get(pool).map(|_| ()) }

    /// Allocates pinned memory of the host.
    fn cuMemHostAlloc(address: Out<usize>, bytes: usize, _flags: u32) |driver| {
        driver.current()?;
        address.set(driver.pinned.allocate(bytes)?)
    }

    /// Allocates pinned memory of the host.
    fn cuMemAllocHost_v2(address: Out<usize>, bytes: usize) |driver| {
        driver.current()?;
        address.set(driver.pinned.allocate(bytes)?)
    }

    /// Waits for all work of the current context, and frees pinned memory of the host.
    fn cuMemFreeHost(address: usize) |driver| {
        // The work of a failed context is dropped, so that the memory is unused in any case.
        _ = driver.current().and_then(|context| context.finish());
        driver.pinned.free(address)
    }

    /// Pins memory of the caller.
    fn cuMemHostRegister_v2(address: usize, bytes: usize, _flags: u32) |driver| {
        driver.current()?;
        driver.pinned.register(address, bytes)
    }

    /// Waits for all work of the current context, and unpins memory of the caller.
    fn cuMemHostUnregister(address: usize) |driver| {
        _ = driver.current().and_then(|context| context.finish());
        driver.pinned.unregister(address)
    }
}
