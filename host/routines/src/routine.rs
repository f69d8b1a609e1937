//! The trait of routines, their context, and their errors.

use std::fmt::Debug;
use std::sync::Arc;

use thiserror::Error;

use crate::Workers;
use crate::random::SharedGenerator;

/// Alignment in bytes of every argument and result of a routine.
pub const ALIGNMENT: usize = 64;

/// An operation with known shapes, ready to be executed.
pub trait Routine: Debug + Send + Sync {
    /// Executes the operation.
    ///
    /// `arguments` are the bytes of the operands' array leaves, in order. `results` are the bytes
    /// of the result's array leaves, which the routine must fill completely. All have the sizes of
    /// their shapes, are row-major, and start at a multiple of [`ALIGNMENT`]. No result overlaps
    /// another result or an argument. Integers narrower than a byte are extended to a byte. The
    /// initial content of the results is undefined.
    ///
    /// # Errors
    /// If memory is short, or the operation is not defined for the values.
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError>;

    /// Describes the algorithm in a few words for people: `radix sort of 32-bit keys`.
    fn describe(&self) -> String;
}

/// The compiled comparator of a sort. Its computation takes two scalars per operand, from the first
/// and from the second element.
pub trait Comparator: Debug + Send + Sync {
    /// Returns the comparator on one line of each operand, all of equal length. The comparator
    /// takes two indices and returns whether the elements at the first index come before the
    /// elements at the second.
    fn on<'a>(&'a self, lines: &'a [&'a [u8]]) -> Box<dyn FnMut(usize, usize) -> bool + 'a>;
}

/// Objects that a program creates for its operations at load time.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    /// The operation's comparator, if it is compiled.
    pub comparator: Option<Arc<dyn Comparator>>,
    /// The random number generator of all operations of the program.
    pub generator: SharedGenerator,
}

/// Resources that a routine may use while it runs.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Threads that execute parts of the work.
    pub workers: &'a dyn Workers,
}

/// Why an operation has no routine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

impl Unsupported {
    /// Creates the error. `reason` names the unsupported feature first: `sorting tokens`.
    pub fn new(reason: impl Into<String>) -> Unsupported {
        Unsupported(reason.into())
    }
}

/// Why a routine failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutineError {
    /// Memory for intermediate values cannot be allocated.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// Number of bytes requested.
        bytes: u64,
    },
    /// The operation is not defined for the values.
    #[error("{0}")]
    Value(String),
    /// A buffer does not satisfy the requirements of [`Routine::run`].
    #[error("a buffer does not have the size or alignment that the operation needs")]
    Buffer,
}
