//! Executes the code of manual computations: each device is a thread with its own memory.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::collectives::Connection;
use super::frame::Frame;
use super::parts::{PartPlace, cut, is_first, join, place};
use crate::code::Watchdog;
use crate::executable::{AllocationKind, DevicePart, PerDevice};
use crate::values::HostMemory;
use crate::{LoadError, RunError, Slice};

/// Size in bytes of the stack of a device's thread. Only the part of the stack that the thread uses
/// occupies memory.
const STACK: usize = 8 << 20;

/// The loaded code of a manual computation.
#[derive(Debug)]
pub struct DeviceCode {
    /// The code.
    pub code: PerDevice,
    /// For each allocation, its memory if the allocation is a constant.
    constants: Vec<Option<HostMemory>>,
    /// Memory for devices, which no device uses at present.
    arenas: Mutex<Vec<DeviceArena>>,
    watchdog: Option<Watchdog>,
    limit: Duration,
}

/// The memory of a device.
#[derive(Debug)]
struct DeviceArena {
    frame: Frame,
    /// Temporary memory and memory for results. The frame holds addresses in this memory.
    _memory: Vec<HostMemory>,
    /// For each operand, the memory of the device's part, if the part must be copied.
    operands: Vec<Option<HostMemory>>,
}

/// The addresses of the operands and results of an execution. All devices access the same arrays.
#[derive(Clone, Copy)]
struct Arrays<'a> {
    operands: &'a [usize],
    results: &'a [usize],
}

impl DeviceCode {
    /// Allocates the constants. A device waits at most as long as `limit` for other devices.
    pub fn load(code: &PerDevice, watchdog: Option<&Watchdog>, limit: Duration) -> Result<DeviceCode, LoadError> {
        let constant = |kind: &AllocationKind| match kind {
            AllocationKind::Constant(data) => {
                let mut memory =
                    HostMemory::zeroed(data.len()).ok_or(LoadError::Memory { bytes: data.len() as u64 })?;
                memory.as_mut_slice().copy_from_slice(data);
                Ok(Some(memory))
            }
            _ => Ok(None),
        };
        let constants = code.allocations.iter().map(|it| constant(&it.kind)).collect::<Result<_, LoadError>>()?;
        Ok(DeviceCode { code: code.clone(), constants, arenas: Mutex::default(), watchdog: watchdog.cloned(), limit })
    }

    /// Executes the code on all devices. `execute` executes the thunks with the memory of a device.
    ///
    /// # Safety
    /// `surrounding` must hold the addresses of `operands` and `results`, which have the sizes that
    /// the code states. During the call, no code may write to the operands, and no other code may
    /// access the results.
    pub unsafe fn run(
        &self,
        surrounding: &Frame,
        (operands, results): (&[Slice], &[Slice]),
        execute: &(dyn Fn(&mut Frame) -> Result<(), RunError> + Sync),
    ) -> Result<(), RunError> {
        let addresses = |slices: &[Slice]| slices.iter().map(|it| surrounding.address(it) as usize).collect();
        let (operands, results): (Vec<usize>, Vec<usize>) = (addresses(operands), addresses(results));
        let arrays = Arrays { operands: &operands, results: &results };
        let connections = Connection::all(surrounding.connection(), &self.code.devices, self.limit);
        if let [connection] = &connections[..] {
            // SAFETY: the caller's promise.
            return unsafe { self.on_device(0, connection, arrays, execute) };
        }
        std::thread::scope(|scope| {
            for (number, connection) in connections.iter().enumerate() {
                // SAFETY: the caller's promise, and devices write different elements.
                let work = move || drop(unsafe { self.on_device(number, connection, arrays, execute) });
                let name = format!("device {number}");
                let started = std::thread::Builder::new().name(name).stack_size(STACK).spawn_scoped(scope, work);
                if let Err(error) = started {
                    connection.end(&Err(RunError::Device(format!("starting a thread for a device: {error}"))));
                }
            }
        });
        connections.first().and_then(Connection::failure).map_or(Ok(()), Err)
    }

    /// Executes the code on one device, and tells the other devices how the execution ended.
    ///
    /// # Safety
    /// The caller must guarantee the same as for [`DeviceCode::run`].
    unsafe fn on_device(
        &self,
        number: usize,
        connection: &Connection,
        arrays: Arrays<'_>,
        execute: &(dyn Fn(&mut Frame) -> Result<(), RunError> + Sync),
    ) -> Result<(), RunError> {
        let mut ending = Ending { connection, outcome: Err(RunError::Abandoned) };
        // SAFETY: the caller's promise.
        ending.outcome = unsafe { self.execute(number, connection, arrays, execute) };
        ending.outcome.clone()
    }

    /// Executes the code on one device.
    ///
    /// # Safety
    /// The caller must guarantee the same as for [`DeviceCode::run`].
    unsafe fn execute(
        &self,
        number: usize,
        connection: &Connection,
        arrays: Arrays<'_>,
        execute: &(dyn Fn(&mut Frame) -> Result<(), RunError> + Sync),
    ) -> Result<(), RunError> {
        let mut arena = self.arena()?;
        arena.frame.connect(connection.clone());
        for ((operand, &whole), copy) in self.code.operands.iter().zip(arrays.operands).zip(&mut arena.operands) {
            // SAFETY: the caller's promise; the memory of the copy belongs to this device.
            let address = unsafe { operand_address(operand, number, whole as *mut u8, copy)? };
            arena.frame.set(operand.at.allocation, address);
        }
        let outcome = execute(&mut arena.frame);
        if outcome.is_ok() {
            for (result, &whole) in self.code.results.iter().zip(arrays.results) {
                if is_first(result, number) {
                    // SAFETY: the caller's promise; only this device writes these elements.
                    unsafe { join(result, number, arena.frame.address(&result.at), whole as *mut u8) };
                }
            }
        }
        self.arenas.lock().unwrap_or_else(PoisonError::into_inner).push(arena);
        outcome
    }

    /// Returns the memory for a device.
    fn arena(&self) -> Result<DeviceArena, RunError> {
        let kept = self.arenas.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut arena) = kept {
            arena.frame.restart();
            return Ok(arena);
        }
        let launches = self.watchdog.as_ref().map(Watchdog::observe);
        let mut frame = Frame::new(self.code.allocations.len(), launches);
        let mut memory = Vec::new();
        for (number, (allocation, constant)) in (0..).zip(self.code.allocations.iter().zip(&self.constants)) {
            match (&allocation.kind, constant) {
                (_, Some(constant)) => frame.set(number, constant.as_slice().as_ptr().cast_mut()),
                (AllocationKind::Parameter, None) => {}
                _ => {
                    let mut own = zeroed(allocation.bytes)?;
                    frame.set(number, own.as_mut_slice().as_mut_ptr());
                    memory.push(own);
                }
            }
        }
        let operands = self.code.operands.iter().map(|_| None).collect();
        Ok(DeviceArena { frame, _memory: memory, operands })
    }
}

/// Tells other devices how the execution on a device ended, even if the thread of the device
/// panics.
struct Ending<'c> {
    connection: &'c Connection,
    outcome: Result<(), RunError>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.connection.end(&self.outcome);
    }
}

/// Returns the address of a device's part of an operand. If the part is not contiguous, copies the
/// part to memory of the device.
///
/// # Safety
/// The whole operand must be at the address `whole`, and no code may write to the operand.
unsafe fn operand_address(
    operand: &DevicePart,
    device: usize,
    whole: *mut u8,
    copy: &mut Option<HostMemory>,
) -> Result<*mut u8, RunError> {
    if let PartPlace::Contiguous(offset) = place(operand, device) {
        return Ok(whole.wrapping_add(offset));
    }
    let memory = match copy {
        Some(memory) => memory,
        None => copy.insert(zeroed(operand.at.bytes)?),
    };
    let address = memory.as_mut_slice().as_mut_ptr();
    // SAFETY: the memory has the size of the part and belongs to this device; the caller's promise.
    unsafe { cut(operand, device, whole, address) };
    Ok(address)
}

fn zeroed(bytes: u64) -> Result<HostMemory, RunError> {
    let memory = usize::try_from(bytes).ok().and_then(HostMemory::zeroed);
    memory.ok_or(RunError::Memory { bytes })
}
