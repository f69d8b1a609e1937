//! The driver itself and its devices.

use std::ffi::c_char;
use std::sync::Once;

use super::entry::entries;
use crate::abi::{Out, Uuid};
use crate::calls;
use crate::driver::Driver;
use crate::status::{Answer, Status};

/// Writes the files of counts that the settings name, at the end of the process.
extern "C" fn at_exit() {
    if let Some(driver) = Driver::existing() {
        driver.counts.write();
        driver.settings.calls.as_deref().iter().for_each(|file| calls::write(file));
    }
}

static AT_EXIT: Once = Once::new();

fn write_at_exit() {
    AT_EXIT.call_once(|| {
        // SAFETY: the function lives as long as the library, and calls nothing that the end of the
        // process has destroyed: statics of Rust are never destroyed.
        let failed = unsafe { libc::atexit(at_exit) };
        if failed != 0 {
            eprintln!("software-cuda: counts will not be written: the process has too many functions for its end");
        }
    });
}

/// Writes a text and a zero byte, shortened to the size of the caller's buffer.
fn set_text(to: Out<u8>, text: &str, room: i32) -> Answer {
    let room = usize::try_from(room).ok().filter(|room| *room > 0).ok_or(Status::INVALID_VALUE)?;
    let bytes: Vec<u8> = text.bytes().take(room - 1).chain([0]).collect();
    to.set_list(&bytes, room)
}

/// Returns an identifier that differs between devices, and between kinds of devices.
fn uuid(driver: &Driver, device: i32) -> Answer<Uuid> {
    let kind = driver.device(device)?.kind.capability;
    let mut bytes = *b"software-cuda...";
    bytes[13..15].copy_from_slice(&(kind as u16).to_be_bytes());
    bytes[15] = device as u8;
    Ok(Uuid(bytes))
}

entries! {
    /// Initialises the driver.
    fn cuInit(flags: u32) |driver| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        write_at_exit();
        driver.initialize()
    }

    /// Returns the version of CUDA.
    fn cuDriverGetVersion(version: Out<i32>) |driver| { version.set(driver.settings.version) }

    /// Returns the name of a status.
    fn cuGetErrorName(status: u32, name: Out<*const c_char>) |_driver| {
        let found = Status::find(status).ok_or(Status::INVALID_VALUE)?;
        name.set(found.name().as_ptr().cast())
    }

    /// Returns a description of a status.
    fn cuGetErrorString(status: u32, text: Out<*const c_char>) |_driver| {
        let found = Status::find(status).ok_or(Status::INVALID_VALUE)?;
        text.set(found.description().as_ptr().cast())
    }

    /// Returns a device by its number.
    fn cuDeviceGet(device: Out<i32>, number: i32) |driver| {
        driver.device(number)?;
        device.set(number)
    }

    /// Returns the number of devices.
    fn cuDeviceGetCount(count: Out<i32>) |driver| {
        driver.check_initialized()?;
        count.set(driver.devices.len() as i32)
    }

    /// Returns the name of a device.
    fn cuDeviceGetName(name: Out<u8>, room: i32, device: i32) |driver| {
        set_text(name, &driver.device(device)?.name, room)
    }

    /// Returns the number that identifies a device.
    fn cuDeviceGetUuid(to: Out<Uuid>, device: i32) |driver| { to.set(uuid(driver, device)?) }

    /// Returns the number that identifies a device.
    fn cuDeviceGetUuid_v2(to: Out<Uuid>, device: i32) |driver| { to.set(uuid(driver, device)?) }

    /// Returns the size of a device's memory.
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) |driver| {
        bytes.set(driver.device(device)?.memory as usize)
    }

    /// Returns an attribute of a device.
    fn cuDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) |driver| {
        let device = driver.device(device)?;
        value.set(device.attribute(attribute).ok_or(Status::INVALID_VALUE)?)
    }

    /// Returns the compute capability of a device.
    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) |driver| {
        let capability = driver.device(device)?.kind.capability.cast_signed();
        major.set(capability / 10)?;
        minor.set(capability % 10)
    }

    /// Returns whether a device can access the memory of another device: always no.
    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, other: i32) |driver| {
        driver.device(device)?;
        driver.device(other)?;
        can.set(0)
    }

    /// Returns the default pool of a device.
    fn cuDeviceGetDefaultMemPool(pool: Out<usize>, device: i32) |driver| {
        driver.device(device)?;
        pool.set(driver.default_pools[device.unsigned_abs() as usize])
    }

    /// Returns the pool that a device uses: its default pool.
    fn cuDeviceGetMemPool(pool: Out<usize>, device: i32) |driver| {
        driver.device(device)?;
        pool.set(driver.default_pools[device.unsigned_abs() as usize])
    }
}
