//! Executes, on the host's processors, the operations that kernels do not compute.
//!
//! When the runtime loads an executable, it creates routines. A routine is created from an
//! operation and the shapes of its operands. The routine then runs any number of times. The routine
//! reads its arguments from the caller's buffers and writes its results into the caller's buffers.
//!
//! ```text
//! error        errors of routines
//! routine      the trait of routines, their context
//! operation    the operation that a routine executes
//! table        opcode or custom-call target -> routine
//! workers      distribution of work among threads
//! elements     bytes as elements, memory for intermediate values
//! lines        arrays as lines along a dimension
//! key          values as unsigned integers in the same order
//! scratch_pool scratch memory that parts use one after another
//! widened      routines on f32 for narrower floats
//! fft          Fourier transforms
//! collectives  exchange of arrays among devices
//! linalg       matrices and their factorisations
//! lapack       LAPACK's functions, `cholesky`, `triangular-solve`
//! foreign      calls of functions that the process registers
//! identity …   the routines, one file each
//! ```
//!
//! Routines split their work into parts, which threads execute. The results must not depend on the
//! number of threads, so only the shapes determine how the work is split.

#![deny(unsafe_code)]
#![deny(missing_docs)]

mod attributes;
mod elements;
mod error;
mod key;
mod lines;
mod operation;
mod routine;
mod scratch_pool;
mod table;
mod workers;

mod callback;
mod collectives;
mod dot;
mod exchange;
mod fft;
mod foreign;
mod generator;
mod identity;
mod lapack;
mod linalg;
mod random;
mod random_bits;
mod sort;
mod top_k;
mod widened;

pub use attributes::{Value, number_bytes};
pub use callback::{CallFunction, set_callback};
pub use collectives::{CollectiveCall, Collectives, Combine, SentArrays, StartedCollective, combine};
pub use dot::{Product, Strides, product_of};
pub use elements::{elements, elements_mut, scratch};
pub use error::{RoutineError, Unsupported};
pub use foreign::{ForeignCall, ForeignFunction, PreparedCall, RESULT_LAYOUTS, register_foreign_function};
pub use generator::{Generator, SharedGenerator};
pub use lapack::TriangularSystem;
pub use operation::Operation;
pub use routine::{ALIGNMENT, Companions, Comparator, Context, Routine};
pub use table::{comparator_to_compile, describe, routine_for, routine_with};
pub use workers::{CallingThread, Workers, for_each, try_for_each};
