//! Copies and fills.

use super::entry::entries;
use crate::abi::{Copy2d, Copy3d, FillNode, In, Side2d, Side3d};
use crate::driver::Driver;
use crate::status::{Answer, Status};
use crate::work::{Copy, Fill, HostAddress, Place, Side, Work};

/// The kinds of memory in the C interface.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const UNIFIED: u32 = 4;

/// Returns a `Place` for an address in device memory.
fn on_device(driver: &Driver, address: u64) -> Answer<Place> {
    Ok(Place::Device(driver.space_of(address)?, address))
}

/// Returns a `Place` for an address in host memory. Returns an error if the address belongs to
/// device memory.
fn on_host(driver: &Driver, address: usize) -> Answer<Place> {
    if address == 0 {
        return Err(Status::INVALID_VALUE);
    }
    if driver.space_of(address as u64)?.memory.allocation(address as u64).is_some() {
        driver.reporter.report(&format!("a copy takes {address:#x} for an address of the host, but it is a device's"));
        return Err(Status::INVALID_VALUE);
    }
    Ok(Place::Host(HostAddress(address)))
}

/// Returns a `Place` for an address in device memory or in host memory.
fn anywhere(driver: &Driver, address: u64) -> Answer<Place> {
    let space = driver.space_of(address)?;
    if space.memory.allocation(address).is_some() {
        return Ok(Place::Device(space, address));
    }
    on_host(driver, address as usize)
}

/// Whether a place is host memory that is not pinned.
fn is_pageable(driver: &Driver, place: &Place) -> bool {
    matches!(place, Place::Host(address) if !driver.pinned.contains(address.0))
}

/// Issues a copy to a stream. If `waits` is true, returns only after the copy is finished.
fn issue(driver: &Driver, copy: Copy, stream: usize, waits: bool) -> Answer {
    if waits {
        driver.check_captures()?;
    }
    let stream = driver.stream(stream)?;
    let pageable = is_pageable(driver, &copy.from.place) || is_pageable(driver, &copy.to.place);
    stream.copy(copy, pageable)?;
    if waits { stream.finish() } else { Ok(()) }
}

/// Issues a copy from device memory to device memory, and never waits for it. The driver's
/// functions without a stream wait only for copies to or from the host.
fn issue_on_devices(driver: &Driver, [to, from]: [u64; 2], bytes: usize, stream: usize) -> Answer {
    let copy = Copy::linear(on_device(driver, from)?, on_device(driver, to)?, bytes as u64);
    issue(driver, copy, stream, false)
}

fn side_2d(driver: &Driver, side: &Side2d) -> Answer<Side> {
    let place = place(driver, side.memory_type, side.host, side.device, side.x_bytes + side.y * side.pitch)?;
    Ok(Side { place, pitch: [side.pitch as u64, 0] })
}

fn side_3d(driver: &Driver, side: &Side3d) -> Answer<Side> {
    let plane = side.pitch * side.height;
    let offset = side.x_bytes + side.y * side.pitch + side.z * plane;
    let place = place(driver, side.memory_type, side.host, side.device, offset)?;
    Ok(Side { place, pitch: [side.pitch as u64, plane as u64] })
}

/// Returns a `Place` that begins `offset` bytes after the address `host` or the address `device`.
/// The kind of memory decides which of the two addresses applies.
fn place(driver: &Driver, memory_type: u32, host: usize, device: u64, offset: usize) -> Answer<Place> {
    match memory_type {
        HOST => on_host(driver, host + offset),
        DEVICE => on_device(driver, device + offset as u64),
        UNIFIED => anywhere(driver, device + offset as u64),
        _ => Err(Status::NOT_SUPPORTED),
    }
}

fn copy_2d(driver: &Driver, copy: &Copy2d) -> Answer<Copy> {
    let extent = [copy.width as u64, copy.height as u64, 1];
    Ok(Copy { from: side_2d(driver, &copy.from)?, to: side_2d(driver, &copy.to)?, extent })
}

/// Returns the work that copies a box of bytes.
pub fn copy_3d(driver: &Driver, copy: &Copy3d) -> Answer<Copy> {
    let extent = [copy.width as u64, copy.height as u64, copy.depth as u64];
    Ok(Copy { from: side_3d(driver, &copy.from)?, to: side_3d(driver, &copy.to)?, extent })
}

/// Returns the work that fills rows of memory.
pub fn fill_rows(fill: &FillNode) -> Answer<Fill> {
    let FillNode { address, pitch, value, width, columns, rows } = *fill;
    if !matches!(width, 1 | 2 | 4) || address % u64::from(width) != 0 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Fill { address, value, width, extent: [columns as u64, rows as u64], pitch: pitch as u64 })
}

/// Issues a fill to a stream.
fn issue_fill(driver: &Driver, fill: &FillNode, stream: usize) -> Answer {
    driver.stream(stream)?.submit(Work::Fill(fill_rows(fill)?))
}

/// Returns a fill of one row.
fn row(address: u64, value: u32, width: u32, columns: usize) -> FillNode {
    FillNode { address, pitch: 0, value, width, columns, rows: 1 }
}

entries! {
    /// Copies bytes from any address to any address, on the host or on devices.
    fn cuMemcpy(to: u64, from: u64, bytes: usize) |driver| {
        let copy = Copy::linear(anywhere(driver, from)?, anywhere(driver, to)?, bytes as u64);
        issue(driver, copy, 0, true)
    }

    /// Copies bytes from any address to any address, on the host or on devices, in a stream.
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: usize) |driver| {
        let copy = Copy::linear(anywhere(driver, from)?, anywhere(driver, to)?, bytes as u64);
        issue(driver, copy, stream, false)
    }

    /// Copies bytes from the host to a device.
    fn cuMemcpyHtoD_v2(to: u64, from: usize, bytes: usize) |driver| {
        issue(driver, Copy::linear(on_host(driver, from)?, on_device(driver, to)?, bytes as u64), 0, true)
    }

    /// Copies bytes from the host to a device, in a stream.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, bytes: usize, stream: usize) |driver| {
        issue(driver, Copy::linear(on_host(driver, from)?, on_device(driver, to)?, bytes as u64), stream, false)
    }

    /// Copies bytes from a device to the host.
    fn cuMemcpyDtoH_v2(to: usize, from: u64, bytes: usize) |driver| {
        issue(driver, Copy::linear(on_device(driver, from)?, on_host(driver, to)?, bytes as u64), 0, true)
    }

    /// Copies bytes from a device to the host, in a stream.
    fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, bytes: usize, stream: usize) |driver| {
        issue(driver, Copy::linear(on_device(driver, from)?, on_host(driver, to)?, bytes as u64), stream, false)
    }

    /// Copies bytes on a device.
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) |driver| {
        driver.check_captures()?;
        issue_on_devices(driver, [to, from], bytes, 0)
    }

    /// Copies bytes on a device, in a stream.
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) |driver| {
        issue_on_devices(driver, [to, from], bytes, stream)
    }

    /// Copies bytes from one device to another.
    fn cuMemcpyPeer(to: u64, _to_context: usize, from: u64, _from_context: usize, bytes: usize) |driver| {
        issue_on_devices(driver, [to, from], bytes, 0)
    }

    /// Copies bytes from one device to another, in a stream.
    fn cuMemcpyPeerAsync(
        to: u64, _to_context: usize, from: u64, _from_context: usize, bytes: usize, stream: usize,
    ) |driver| {
        issue_on_devices(driver, [to, from], bytes, stream)
    }

    /// Copies a rectangle of bytes.
    fn cuMemcpy2D_v2(copy: In<Copy2d>) |driver| { issue(driver, copy_2d(driver, &copy.get()?)?, 0, true) }

    /// Copies a rectangle of bytes.
    fn cuMemcpy2DUnaligned_v2(copy: In<Copy2d>) |driver| {
        issue(driver, copy_2d(driver, &copy.get()?)?, 0, true)
    }

    /// Copies a rectangle of bytes, in a stream.
    fn cuMemcpy2DAsync_v2(copy: In<Copy2d>, stream: usize) |driver| {
        issue(driver, copy_2d(driver, &copy.get()?)?, stream, false)
    }

    /// Copies a box of bytes.
    fn cuMemcpy3D_v2(copy: In<Copy3d>) |driver| { issue(driver, copy_3d(driver, &copy.get()?)?, 0, true) }

    /// Copies a box of bytes, in a stream.
    fn cuMemcpy3DAsync_v2(copy: In<Copy3d>, stream: usize) |driver| {
        issue(driver, copy_3d(driver, &copy.get()?)?, stream, false)
    }

    /// Fills memory with a byte.
    fn cuMemsetD8_v2(address: u64, value: u8, count: usize) |driver| {
        issue_fill(driver, &row(address, u32::from(value), 1, count), 0)
    }

    /// Fills memory with a value of 16 bits.
    fn cuMemsetD16_v2(address: u64, value: u16, count: usize) |driver| {
        issue_fill(driver, &row(address, u32::from(value), 2, count), 0)
    }

    /// Fills memory with a value of 32 bits.
    fn cuMemsetD32_v2(address: u64, value: u32, count: usize) |driver| {
        issue_fill(driver, &row(address, value, 4, count), 0)
    }

    /// Fills memory with a byte, in a stream.
    fn cuMemsetD8Async(address: u64, value: u8, count: usize, stream: usize) |driver| {
        issue_fill(driver, &row(address, u32::from(value), 1, count), stream)
    }

    /// Fills memory with a value of 16 bits, in a stream.
    fn cuMemsetD16Async(address: u64, value: u16, count: usize, stream: usize) |driver| {
        issue_fill(driver, &row(address, u32::from(value), 2, count), stream)
    }

    /// Fills memory with a value of 32 bits, in a stream.
    fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: usize) |driver| {
        issue_fill(driver, &row(address, value, 4, count), stream)
    }

    /// Fills rows of memory with a value of 32 bits, in a stream.
    fn cuMemsetD2D32Async(
        address: u64, pitch: usize, value: u32, columns: usize, rows: usize, stream: usize,
    ) |driver| {
        issue_fill(driver, &FillNode { address, pitch, value, width: 4, columns, rows }, stream)
    }
}
