//! What a routine is, what it is given, and what can go wrong.

use std::fmt::Debug;
use std::sync::Arc;

use thiserror::Error;

use crate::Workers;
use crate::random::SharedGenerator;

/// Every argument and result of a routine starts at a multiple of so many bytes.
pub const ALIGNMENT: usize = 64;

/// An operation of known shapes, ready to be executed.
pub trait Routine: Debug + Send + Sync {
    /// Executes the operation.
    ///
    /// `arguments`: the bytes of the operands' array leaves, in order; `results`: those of the result's, to be filled
    /// completely. All have the sizes of their shapes, row-major, and none shares memory with a result. Each starts at a
    /// multiple of [`ALIGNMENT`]. Integers narrower than a byte are extended to it. What the results
    /// hold before is not specified.
    ///
    /// # Errors
    /// If memory is short, or the values are outside of what the operation is defined on.
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError>;

    /// How it works, in a few words for people: `radix sort of 32-bit keys`.
    fn describe(&self) -> String;
}

/// The comparator of a sort, compiled: a computation of two scalars per operand, of the first and of the second element.
pub trait Comparator: Debug + Send + Sync {
    /// The comparator on lines of the operands, all of as many elements: whether elements with the first number come
    /// before those with the second.
    fn on<'a>(&'a self, lines: &'a [&'a [u8]]) -> Box<dyn FnMut(usize, usize) -> bool + 'a>;
}

/// What a program makes for its operations, when it is loaded.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    /// The operation's comparator, if that has to be compiled.
    pub comparator: Option<Arc<dyn Comparator>>,
    /// The generator that all operations of the program draw from.
    pub generator: SharedGenerator,
}

/// What a routine may use while it runs.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Threads that take parts of the work.
    pub workers: &'a dyn Workers,
}

/// Why an operation has no routine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

impl Unsupported {
    /// For this reason, a clause that begins with what is not supported: `sorting tokens`.
    pub fn new(reason: impl Into<String>) -> Unsupported {
        Unsupported(reason.into())
    }
}

/// Why a routine failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutineError {
    /// Memory for intermediate values cannot be had.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The values are outside of what the operation is defined on.
    #[error("{0}")]
    Value(String),
    /// A buffer is not what the routine was promised.
    #[error("a buffer has another size or alignment than the operation")]
    Buffer,
}
