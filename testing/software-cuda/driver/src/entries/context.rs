//! Contexts.

use super::entry::entries;
use crate::abi::{In, Out};
use crate::driver::Driver;
use crate::status::{Answer, Status};

/// Creates a context and makes it the thread's current context.
fn create(driver: &Driver, context: Out<usize>, flags: u32, device: i32) -> Answer {
    let handle = driver.new_context(device, flags, false)?;
    driver.set_current(Some(handle), true)?;
    context.set(handle)
}

entries! {
    /// Returns the primary context of a device.
    fn cuDevicePrimaryCtxRetain(context: Out<usize>, device: i32) |driver| {
        context.set(driver.retain_primary(device)?)
    }

    /// Ends a use of the primary context of a device.
    fn cuDevicePrimaryCtxRelease_v2(device: i32) |driver| { driver.release_primary(device, false) }

    /// Destroys the primary context of a device.
    fn cuDevicePrimaryCtxReset_v2(device: i32) |driver| { driver.release_primary(device, true) }

    /// Says whether a device has a primary context.
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) |driver| {
        active.set(i32::from(driver.has_primary(device)?))?;
        flags.set(0)
    }

    /// Accepts flags that choose how the host waits. The flags have no effect in the software
    /// driver.
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, _flags: u32) |driver| { driver.device(device).map(|_| ()) }

    /// Makes a context.
    fn cuCtxCreate_v2(context: Out<usize>, flags: u32, device: i32) |driver| {
        create(driver, context, flags, device)
    }

    /// Makes a context.
    fn cuCtxCreate_v3(context: Out<usize>, affinity: In<u8>, count: i32, flags: u32, device: i32) |driver| {
        if !affinity.is_null() || count != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        create(driver, context, flags, device)
    }

    /// Makes a context.
    fn cuCtxCreate_v4(context: Out<usize>, parameters: In<u8>, flags: u32, device: i32) |driver| {
        if !parameters.is_null() {
            return Err(Status::NOT_SUPPORTED);
        }
        create(driver, context, flags, device)
    }

    /// Destroys a context.
    fn cuCtxDestroy_v2(context: usize) |driver| {
        if driver.contexts.get(context).is_ok_and(|found| found.is_primary) {
            return Err(Status::INVALID_CONTEXT);
        }
        driver.destroy_context(context)
    }

    /// Returns the thread's current context.
    fn cuCtxGetCurrent(context: Out<usize>) |driver| { context.set(driver.current_handle()?.unwrap_or(0)) }

    /// Replaces the thread's current context.
    fn cuCtxSetCurrent(context: usize) |driver| { driver.set_current((context != 0).then_some(context), false) }

    /// Pushes a context onto the thread's stack of contexts, which makes it the current context.
    fn cuCtxPushCurrent_v2(context: usize) |driver| { driver.set_current(Some(context), true) }

    /// Pops the current context from the thread's stack of contexts.
    fn cuCtxPopCurrent_v2(context: Out<usize>) |driver| { context.set_if_wanted(driver.pop_current()?) }

    /// Returns the device of the current context.
    fn cuCtxGetDevice(device: Out<i32>) |driver| { device.set(driver.current()?.device as i32) }

    /// Waits for all work of the current context.
    fn cuCtxSynchronize() |driver| {
        driver.check_captures()?;
        driver.current()?.finish()
    }

    /// Returns the flags of the current context.
    fn cuCtxGetFlags(flags: Out<u32>) |driver| { flags.set(driver.current()?.flags) }

    /// Accepts flags that choose how the host waits. The flags have no effect in the software
    /// driver.
    fn cuCtxSetFlags(_flags: u32) |driver| { driver.current().map(|_| ()) }

    /// Returns the version of the interface of a context.
    fn cuCtxGetApiVersion(_context: usize, version: Out<u32>) |driver| {
        driver.check_initialized()?;
        version.set(3020)
    }

    /// Returns the least and the greatest priority of streams.
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) |driver| {
        driver.current()?;
        least.set_if_wanted(0)?;
        greatest.set_if_wanted(-5)
    }

    /// Sets a limit. The limits of the interpreter do not depend on the limits that a caller sets.
    fn cuCtxSetLimit(limit: u32, _value: usize) |driver| {
        driver.current()?;
        if limit <= 6 { Ok(()) } else { Err(Status::UNSUPPORTED_LIMIT) }
    }

    /// Returns a limit: the size of a thread's stack, of the buffer for `printf`, or of the heap.
    fn cuCtxGetLimit(value: Out<usize>, limit: u32) |driver| {
        driver.current()?;
        let known = [1 << 10, 1 << 20, 8 << 20];
        value.set(known.get(limit as usize).copied().ok_or(Status::UNSUPPORTED_LIMIT)?)
    }

    /// Returns the preferred division between cache and shared memory: always 0, no preference.
    fn cuCtxGetCacheConfig(configuration: Out<u32>) |driver| {
        driver.current()?;
        configuration.set(0)
    }

    /// Accepts a preferred division between cache and shared memory. The preference has no effect
    /// in the software driver.
    fn cuCtxSetCacheConfig(_configuration: u32) |driver| { driver.current().map(|_| ()) }
}
