//! Builds functions of the [kernel IR](crate).
//!
//! ```text
//! FunctionBuilder ──records operations, computes their types──> finish() -> Function
//! ```
//!
//! Methods are named after the operations that they record. The builder records the first misuse
//! with the name of the operation, and `finish` returns this misuse as an error. Examples of misuse
//! are operands of different types, and a value used outside of its region. No method panics, and
//! callers need not check for errors between calls. Equal sequences of calls build functions with
//! equal text.
//!
//! ```
//! use fusebox_core::builder::{FunctionBuilder, Scalar, Type};
//!
//! // The sum of the elements of a tensor<8xf32>.
//! let mut b = FunctionBuilder::new("sum");
//! let input = b.argument(Type::tensor(&[8], Scalar::F32));
//! let (zero, one, eight) = (b.index(0), b.index(1), b.index(8));
//! let start = b.float(0.0, Scalar::F32);
//! let sum = b.scf_for(zero, eight, one, &[start], |b, i, state| {
//!     let element = b.extract(input, &[i]);
//!     vec![b.addf(state[0], element)]
//! });
//! b.ret(&sum);
//! assert!(b.finish()?.to_string().contains("\"arith.addf\"(%6, %7) : (f32, f32) -> f32"));
//!
//! // `finish` reports a mistake.
//! let mut b = FunctionBuilder::new("mistake");
//! let (x, y) = (b.argument(Type::F32), b.argument(Type::F64));
//! let sum = b.addf(x, y);
//! b.ret(&[sum]);
//! let error = b.finish().unwrap_err().to_string();
//! assert!(error.starts_with("function mistake: arith.addf: takes two floating-point numbers of one type"));
//! # Ok::<(), fusebox_core::builder::BuildError>(())
//! ```

mod across_threads;
mod arith;
mod clamp;
mod constants;
mod control;
mod formula;
mod function;
mod gpu;
mod subgraph;
mod tensor;
mod tile;
mod vector;

pub use across_threads::{FEW_WARPS, GroupPlace, Partial, ThreadGroups};
pub use arith::{FloatPredicate, IntPredicate};
pub use formula::{Abilities, Formula, Operand, Recorder, Term};
pub use function::{BuildError, FunctionBuilder};
pub use subgraph::Subgraph;

pub use crate::{Attribute, Combination, FastMath, Float, OpKind, Region, Scalar, Type, Value};
