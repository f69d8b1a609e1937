//! The kernel IR: data structures, table of operations, builder, printer, verifier. ARCHITECTURE.md
//! describes the kernel IR. Authors of emitters use this crate as `fusebox_core::ir`.
//!
//! ```text
//! builder ──────┐                     ┌── print -> generic MLIR text
//!               ├──> Function { Region { Operation … } }
//! kernel-text ──┘           │         └── lowering's stages
//!                           └── verify
//! ```
//!
//! [`operations`] is the only list of operations, with their names, effects, operands and results.
//! Builder, parser, printer, verifier and lowering use the list of operations. Values are numbered
//! per function. Every region has one block.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attribute;
pub mod builder;
mod function;
pub mod limits;
mod matrices;
pub mod operations;
mod print;
mod symbol;
mod types;
mod verify;

pub use attribute::{Attribute, Combination, FastMath};
pub use function::{Function, Operation, Place, Region, Value};
pub use matrices::{
    GROUP_ROWS, GROUP_STEPS, GROUP_THREADS, MOST_GROUP_COLUMNS, MOST_PRODUCT_WORDS, MatrixProduct, PRODUCT_LANES,
    TILE_SQUARE, group_place,
};
pub use operations::{Effect, Form, OpKind};
pub use symbol::{fnv1a, symbol_part};
pub use types::{Float, Scalar, Type};
pub(crate) use verify::check_operation;
pub use verify::{VerifyError, callees_first, verify};
