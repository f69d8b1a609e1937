//! Work: what a stream executes.
//!
//! ```text
//! copy.rs    copies and fills
//! launch.rs  launches of kernels
//! ```

mod copy;
mod launch;

pub use copy::{Copy, Fill, HostAddress, Place, Side};
pub use launch::{Launch, Shape};

use std::ffi::c_void;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use fusebox_ptx::Fault;

use crate::engine::{Task, Ticket};
use crate::signal::Moment;
use crate::space::{Space, stamp};
use crate::status::Status;

/// A piece of work.
#[derive(Clone, Debug)]
pub enum Work {
    Launch(Launch),
    Copy(Copy),
    Fill(Fill),
    /// Work that makes an allocation accessible to later work.
    Allocate(u64),
    /// Work that frees an allocation.
    Free(u64),
    /// Work that records an event.
    Record(Moment),
    Call(HostCall),
    /// Work that issues other work: a conditional node of a graph.
    Issuing(Arc<dyn IssuingWork>),
    /// A point that orders other work.
    Nothing,
}

/// Work that issues other work during its own execution, and waits for the end of the issued work.
pub trait IssuingWork: fmt::Debug + Send + Sync {
    fn perform(&self, ticket: &Ticket) -> Result<(), Fault>;
}

/// A function of the host that a stream calls.
#[derive(Clone, Copy, Debug)]
pub struct HostCall {
    pub function: HostFunction,
    /// The argument of the function.
    pub argument: usize,
}

/// The two kinds of functions that a stream can call.
#[derive(Clone, Copy, Debug)]
pub enum HostFunction {
    /// A function that the caller passed to `cuLaunchHostFunc`.
    Plain(unsafe extern "C" fn(*mut c_void)),
    /// A function that the caller passed to `cuStreamAddCallback`, and the handle of the stream.
    WithStatus(unsafe extern "C" fn(usize, Status, *mut c_void), usize),
}

impl HostCall {
    fn perform(self) {
        let argument = self.argument as *mut c_void;
        match self.function {
            // SAFETY: the caller of the driver passed the function and its argument, and promised
            // that both stay valid until the call.
            HostFunction::Plain(function) => unsafe { function(argument) },
            // SAFETY: as above.
            HostFunction::WithStatus(function, stream) => unsafe { function(stream, Status::SUCCESS, argument) },
        }
    }
}

thread_local! {
    /// Whether the thread executes a function of the host that a stream calls. A function that a
    /// stream calls must not call the driver.
    static IN_HOST_CALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether the thread executes a function of the host that a stream calls.
pub fn is_in_host_call() -> bool {
    IN_HOST_CALL.get()
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Work::Launch(launch) => write!(f, "the launch of kernel {}", launch.function.kernel.name),
            Work::Copy(copy) => write!(f, "{copy}"),
            Work::Fill(fill) => write!(f, "{fill}"),
            Work::Allocate(address) => write!(f, "the allocation of {address:#x}"),
            Work::Free(address) => write!(f, "the free of {address:#x}"),
            Work::Record(_) => f.write_str("the recording of an event"),
            Work::Call(_) => f.write_str("a call of the host"),
            Work::Issuing(_) => f.write_str("a conditional node"),
            Work::Nothing => f.write_str("an empty node"),
        }
    }
}

/// Work and the context that executes it.
#[derive(Clone, Debug)]
pub struct Job {
    pub space: Arc<Space>,
    pub work: Work,
}

impl Job {
    fn execute(&self, ticket: &Ticket) {
        let space = &self.space;
        let done = match &self.work {
            Work::Launch(launch) => launch.perform(space, ticket),
            Work::Copy(copy) => copy.perform(ticket),
            Work::Fill(fill) => fill.perform(space, ticket),
            Work::Allocate(address) => {
                space.memory.complete_allocation(*address, &stamp(ticket));
                Ok(())
            }
            Work::Free(address) => space.memory.free(*address, &stamp(ticket)),
            Work::Record(moment) => {
                _ = moment.set(Instant::now());
                Ok(())
            }
            Work::Call(call) => {
                IN_HOST_CALL.set(true);
                call.perform();
                IN_HOST_CALL.set(false);
                Ok(())
            }
            Work::Issuing(work) => work.perform(ticket),
            Work::Nothing => Ok(()),
        };
        if let Err(fault) = done {
            space.fault(&fault, &self.work.to_string());
        }
    }
}

impl Task for Job {
    /// Executes the work, unless the context has failed.
    fn perform(self, ticket: &Ticket) {
        if self.space.check().is_err() {
            return;
        }
        // A panic would leave the stream running for ever.
        if catch_unwind(AssertUnwindSafe(|| self.execute(ticket))).is_err() {
            self.space.fail(Status::UNKNOWN, "the software driver has panicked");
        }
    }
}
