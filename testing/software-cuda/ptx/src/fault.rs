//! Faults: behaviour of a kernel or a copy that the PTX manual leaves undefined.

use std::fmt;

use thiserror::Error;

/// An access that is invalid, or an instruction that is executed wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// `None` for copies and fills by the driver.
    pub place: Option<Box<Place>>,
}

/// The instruction and the thread that caused a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub kernel: String,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    /// Line in the text of the module; the first is 1.
    pub line: u32,
    /// The instruction's text.
    pub instruction: String,
    /// The source location that a `.loc` directive or a comment states, such as an HLO instruction.
    pub source: Option<String>,
}

/// Memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Global,
    Shared,
    Local,
    Parameter,
    Constant,
}

/// The error of a fault.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FaultKind {
    #[error("{bytes} bytes of {space} memory at {address:#x} are out of bounds: {near}")]
    OutOfBounds { space: Space, address: u64, bytes: u64, near: String },
    #[error("{bytes} bytes at {address:#x} were freed: {near}")]
    UseAfterFree { address: u64, bytes: u64, near: String },
    #[error("{address:#x} in {space} memory is not a multiple of {alignment}")]
    Misaligned { space: Space, address: u64, alignment: u64 },
    #[error("the byte at {address:#x} in {space} memory was never written")]
    Uninitialized { space: Space, address: u64 },
    #[error("register {name} is read before it is written")]
    UnwrittenRegister { name: String },
    #[error("race in {space} memory at {address:#x}: {access} by this thread and {other} are not ordered")]
    Race { space: Space, address: u64, access: Access, other: String },
    #[error(
        "race across streams at {address:#x}: {access} by work {position} of stream {stream} is not ordered after \
         {other} by work {other_position} of stream {other_stream}"
    )]
    RaceAcrossStreams {
        address: u64,
        access: Access,
        stream: u32,
        position: u64,
        other: Access,
        other_stream: u32,
        other_position: u64,
    },
    #[error(
        "{bytes} bytes at {address:#x} are accessed by work {position} of stream {stream}, which is not ordered after \
         their asynchronous allocation{by}"
    )]
    NotYetAllocated { address: u64, bytes: u64, stream: u32, position: u64, by: String },
    #[error("{message}")]
    Divergence { message: String },
    #[error("{message}")]
    Barrier { message: String },
    #[error("{message}")]
    Undefined { message: String },
    #[error("{message}")]
    Launch { message: String },
    #[error("the kernel does not end: a thread executed {steps} instructions")]
    NoEnd { steps: u64 },
    #[error("trap")]
    Trap,
}

/// A kind of memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Atomic,
    Free,
}

impl Fault {
    /// Returns a fault that the driver's own work caused.
    pub fn of_driver(kind: FaultKind) -> Fault {
        Fault { kind, place: None }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Parameter => "parameter",
            Space::Constant => "constant",
        })
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "a read",
            Access::Write => "a write",
            Access::Atomic => "an atomic access",
            Access::Free => "a free",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match &self.place {
            Some(place) => write!(f, "\n  {place}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Place { kernel, block, thread, line, instruction, source } = self;
        write!(f, "in kernel {kernel}, block {block:?}, thread {thread:?}, line {line} of the PTX: {instruction}")?;
        match source {
            Some(source) => write!(f, "\n  from {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
