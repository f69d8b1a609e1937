//! The part of a context that work on streams touches: its memory and its first error.

use std::sync::{Arc, OnceLock};

use fusebox_ptx::{Fault, FaultKind, Memory, OutOfMemory, Settings, Stamp};

use crate::calls;
use crate::counts::KernelCounts;
use crate::device::Device;
use crate::engine::Ticket;
use crate::reporter::Reporter;
use crate::status::{Answer, Status};

/// The memory of a context and its first error.
#[derive(Debug)]
pub struct Space {
    /// The number of the context.
    pub number: usize,
    pub device: Arc<Device>,
    pub memory: Memory,
    pub reporter: Arc<Reporter>,
    pub counts: Arc<KernelCounts>,
    /// How the interpreter executes kernels.
    pub settings: Settings,
    /// The first error of the context, which all later calls return.
    failure: OnceLock<Status>,
}

impl Space {
    pub fn new(
        number: usize,
        device: Arc<Device>,
        reporter: Arc<Reporter>,
        counts: Arc<KernelCounts>,
        settings: Settings,
    ) -> Space {
        let memory = Memory::new(device.memory);
        Space { number, device, memory, reporter, counts, settings, failure: OnceLock::new() }
    }

    /// Returns the first error of the context, if there is one.
    pub fn check(&self) -> Answer {
        self.failure.get().map_or(Ok(()), |status| Err(*status))
    }

    /// Reports an error, and stores it as the error of the context. Does not report later errors,
    /// because they are consequences of the first error.
    pub fn fail(&self, status: Status, report: &str) {
        if self.failure.set(status).is_ok() {
            let name = status.name().trim_end_matches('\0');
            self.reporter.report(&format!("{report}\n  every later call in this context returns {name}"));
        }
    }

    /// Reports a fault of work, and stores it as the error of the context.
    pub fn fault(&self, fault: &Fault, work: &str) {
        self.fail(status(&fault.kind), &format!("{fault}\n  during {work}"));
    }

    /// Allocates memory whose bytes count as never written.
    pub fn allocate(&self, bytes: u64) -> Answer<u64> {
        self.allocate_by(Memory::allocate, bytes)
    }

    /// Allocates memory that work may access after [`Work::Allocate`](crate::work::Work::Allocate).
    pub fn allocate_asynchronously(&self, bytes: u64) -> Answer<u64> {
        self.allocate_by(Memory::allocate_asynchronously, bytes)
    }

    fn allocate_by(&self, by: fn(&Memory, u64, u64) -> Result<u64, OutOfMemory>, bytes: u64) -> Answer<u64> {
        self.check()?;
        if bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let address = by(&self.memory, bytes, ALIGNMENT).map_err(|_| Status::OUT_OF_MEMORY)?;
        calls::raise("most bytes allocated", self.memory.used());
        Ok(address)
    }
}

/// The alignment of allocations.
const ALIGNMENT: u64 = 256;

/// Returns the stamp by which the shadow of the memory identifies the work that accesses the
/// memory.
pub fn stamp(ticket: &Ticket) -> Stamp {
    Stamp { stream: ticket.lane, position: ticket.position, clock: ticket.before.positions() }
}

/// Returns the status that a GPU would return for a fault. For a fault that a GPU does not notice,
/// returns the status of a failed launch.
fn status(kind: &FaultKind) -> Status {
    match kind {
        FaultKind::OutOfBounds { .. } | FaultKind::UseAfterFree { .. } | FaultKind::NotYetAllocated { .. } => {
            Status::ILLEGAL_ADDRESS
        }
        FaultKind::Misaligned { .. } => Status::MISALIGNED_ADDRESS,
        FaultKind::Trap => Status::ASSERT,
        _ => Status::LAUNCH_FAILED,
    }
}
