//! Finds the *hero* of each root of a fusion. The hero decides the fusion's kernel.
//!
//! ```text
//! parameters ──prologue──> hero ──epilogue──> root
//! ```
//!
//! The hero is an operation, for example a reduce or a transpose. The kernel uses the iteration
//! space of the hero. The epilogue consists of the operations between the hero and the root. The
//! epilogue works element by element, so a kernel can apply it to each element of the hero right
//! after computing that element. The prologue computes the hero's operands. If a root has no hero,
//! any kernel that visits the root's elements can compute the root. The caller decides which
//! operations are heroes.

mod banks;
mod chain;
mod cumulative;
mod epilogue;
mod hero;
mod reduction;
mod scatter;
mod slices;
mod transpose;

pub use banks::{TileAccess, bank_conflicts};
pub use chain::{ChainRoot, RowChain, RowPlace, RowSpace, row_space};
pub use cumulative::{Direction, cumulative};
pub use epilogue::{hero_to_root, keeps_positions, moves_elements};
pub use hero::{Hero, hero_of, nearest};
pub use reduction::{
    Reduced, ReducedRoot, ReductionFusion, ReductionGroup, ReductionHero, ReductionKind, ReductionProblem, SideOutput,
    Start, reductions,
};
pub use scatter::{Combination, OperandDim, ScatterShape, SliceStart};
pub use slices::takes_what_is_replaced;
pub use transpose::{NormalTranspose, RootPlace, TransposeFusion};
