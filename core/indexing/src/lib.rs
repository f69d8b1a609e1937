//! Indexing maps. For each element of an operation's result, a map states the operand elements from
//! which the operation computes this element.
//!
//! Authors of emitters use this crate as `fusebox_core::indexing`.
//!
//! A map has the form `(d0, d1)[s0]{rt0} -> (d0 * 4 + s0, d1 + rt0)`. A map also has an interval
//! for each variable, and constraints on expressions. Dimensions are the inputs of the map (the
//! index of an output element, or a thread and a block). Range variables are loop variables.
//! Runtime variables are values that the program reads at run time.
//!
//! ```text
//! expr, interval, bounds          expressions, and bounds of their variables
//! algebra                         interned expressions, simplified when they are created
//! text, parse                     the textual form
//! simplify                        canonical expressions of maps
//! map, constraint, canonical      maps and their canonical form
//! compose, domain                 compositions of maps; points of domains
//! inverse, proof, cover           inverses of maps; coverage: how often a map reaches each element
//! of_op, fusion, describe         maps of HLO operations and fusions
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// Returns a formatted message as an error from the surrounding function, if a condition is false.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*).into());
        }
    };
}

mod algebra;
mod bounds;
mod canonical;
mod compose;
mod constraint;
mod cover;
mod describe;
mod domain;
mod expr;
mod fusion;
mod interval;
mod inverse;
mod map;
mod of_op;
mod parse;
mod program;
mod proof;
mod simplify;
mod text;

pub use algebra::{Algebra, Ix, Kind, Sum};
pub use bounds::Bounds;
pub use compose::compose;
pub use cover::{
    PointName, Proof, Violation, check_coverage, check_coverage_within, check_joint_coverage, covers_exactly_once,
};
pub use describe::describe;
pub use domain::Point;
pub use expr::{Expr, ExprKind};
pub use fusion::{RootMaps, fusion_maps, maps_from, maps_to};
pub use interval::{Interval, ceil_div};
pub use map::{Constraint, IndexingMap, Variable, delinearize, dim_exprs, linearize};
pub use of_op::{
    Access, Indexing, OperandRead, Reading, RuntimeValue, access, combined_elements, input_to_output, output_to_input,
};
pub use parse::{MAX_DEPTH, MAX_VARIABLES, TextError};
pub use program::Program;
pub use proof::Coverage;
pub use simplify::{range_of, simplify_expr};
