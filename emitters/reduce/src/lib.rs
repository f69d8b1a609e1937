//! Emitters for reductions. A kernel computes reductions in one pass over their operands. See
//! README.md, and CPU.md for blocks of one thread.
//!
//! ```text
//! claim.rs     the claim of reductions
//! parts.rs     the parts into which the claim wants a reduction to be divided
//! body.rs      a group's subgraph functions: operands at a point, combiners, epilogues
//! dispatch.rs  separate blocks for each group
//! visits.rs    visits of a group, for predictions
//! gpu/         many threads per block
//! cpu/         one thread per block
//! chain/       chains of row reductions: one thread per block, a row per warp, a row per block
//! ```

#![forbid(unsafe_code)]

mod body;
mod chain;
mod claim;
mod cpu;
mod dispatch;
mod gpu;
mod parts;
mod visits;

use fusebox_core::hlo::Opcode;

use crate::chain::{RowNormalise, ThreadNormalise};
use crate::cpu::SerialReduce;
use crate::gpu::ReductionForm;

fusebox_core::emitters! {
    kind: "reduce",
    heroes: [Opcode::Reduce] => claim::claim,
    "row-reduce" => ReductionForm::Row,
    "multi-row-reduce" => ReductionForm::MultiRow,
    "column-reduce" => ReductionForm::Column,
    "small-column-reduce" => ReductionForm::SmallColumn,
    "scalar-reduce" => ReductionForm::Scalar,
    "serial-reduce" => SerialReduce,
    "row-normalise" => RowNormalise,
    "warp-normalise" => ThreadNormalise::Warp,
    "block-normalise" => ThreadNormalise::Block,
}
