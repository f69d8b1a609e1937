//! The trait that every routine implements, and the context of a run.

use std::fmt::Debug;
use std::sync::Arc;

use crate::Workers;
use crate::collectives::Collectives;
use crate::error::RoutineError;
use crate::generator::SharedGenerator;

/// Alignment in bytes of every argument and result of a routine.
pub const ALIGNMENT: usize = 64;

/// An implementation of one operation for operands of known shapes. A routine can run any number of
/// times.
pub trait Routine: Debug + Send + Sync {
    /// Executes the operation.
    ///
    /// `arguments` are the bytes of the operands' array leaves, in order. `results` are the bytes
    /// of the result's array leaves, in order. The routine must write every byte of every result.
    /// All arrays have the sizes of their shapes, are row-major, and start at a multiple of
    /// [`ALIGNMENT`]. No result overlaps another result or an argument. Integers narrower than a
    /// byte are extended to a byte. The initial content of the results is undefined.
    ///
    /// # Errors
    /// If memory is short, a buffer does not satisfy these requirements, or the operation is not
    /// defined for the values of the arguments.
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError>;

    /// Whether the routine must compute with subnormal numbers as IEEE 754 defines, although the
    /// program flushes them to zero. Algorithms that scale numbers to the end of the range of
    /// floats and back need subnormal numbers. Functions that the process supplies may need
    /// subnormal numbers too.
    fn needs_subnormals(&self) -> bool {
        false
    }

    /// Describes the algorithm in a few words for the user, for example `radix sort of 32-bit
    /// keys`.
    fn describe(&self) -> String;
}

/// The compiled comparator of a sort. The comparator compares the elements at two positions of a
/// line. The computation of the comparator has two scalar parameters per operand: the elements at
/// the first and at the second position.
pub trait Comparator: Debug + Send + Sync {
    /// Returns a function that compares two positions. `lines` holds one line of each operand. All
    /// lines have equal length. The function takes two indices, and returns whether the elements at
    /// the first index come before the elements at the second index.
    fn on<'a>(&'a self, lines: &'a [&'a [u8]]) -> Box<dyn FnMut(usize, usize) -> bool + 'a>;
}

/// Objects that some routines need in addition to their operation. The runtime creates these
/// objects when it loads a program.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    /// The compiled comparator of a sort, if the comparator must be compiled.
    pub comparator: Option<Arc<dyn Comparator>>,
}

/// Resources that a routine may use during a run.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Threads that execute parts of the work.
    pub workers: &'a dyn Workers,
    /// The random number generator that all operations of the execution share.
    pub generator: &'a SharedGenerator,
    /// The connection to other devices, if several devices execute the code.
    pub collectives: Option<&'a dyn Collectives>,
}
