//! The contraction emitter: products of arrays, packed into tiles and multiplied in registers. See README.md.
//!
//! ```text
//! problem.rs   fusion -> [batch, rows, steps] times [batch, steps, columns], and what is read and written
//! convolution.rs   the same of a convolution
//! operand.rs   one side of it: which element is read, and along which dimension memory runs
//! convert.rs   element types in and out of the one that sums are kept in
//! bid.rs       which instructions around a dot one kernel computes
//! claim.rs     what a dot costs in the kernel of another operation
//! tiles        sizes of tiles, blocks, knobs -> plan
//! emit.rs      the loops of a block
//! pack.rs      copies of the operands in the order in which they are multiplied
//! runs.rs      copies of operands whose elements are elsewhere than their lines and steps, or not there
//! turn.rs      rows in memory become columns
//! multiply.rs  the loop in registers
//! gpu          the same in blocks of many threads
//! micro.rs     which registers multiply
//! amx.rs       packing for tile registers, and their loop
//! results.rs   sums that are kept, and what is written
//! strip.rs     rows of a convolution's input, where elements under the window are read as they are
//! direct       convolutions multiplied straight from such rows
//! depthwise    convolutions whose groups have few features: sums of products of neighbours, without packing
//! library.rs   the same products by a library of the host
//! ```

#![forbid(unsafe_code)]

mod amx;
mod bid;
mod claim;
mod convert;
mod convolution;
mod depthwise;
mod direct;
mod emit;
mod gpu;
mod library;
mod micro;
mod multiply;
mod operand;
mod pack;
mod problem;
mod results;
mod runs;
mod strip;
mod tiles;
mod turn;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Bid, Blocks, Candidate, Configuration, Decline, EmitError, Kernel, Plan, Strategy, Task};
use fusebox_core::hlo::Opcode;

use crate::depthwise::Depthwise;
use crate::direct::Direct;
use crate::library::Library;
use crate::problem::Problem;
use crate::tiles::Tiles;

fusebox_core::emitters! {
    kind: "contraction",
    heroes: [Opcode::Dot, Opcode::Convolution] => claim::claim,
    "contraction" => Tiled,
    "block-contraction" => gpu::By::<gpu::Tiles>::new(),
    "mma-contraction" => gpu::By::<gpu::Matrices>::new(),
    "wgmma-contraction" => gpu::By::<gpu::Squares>::new(),
    "thin-contraction" => gpu::By::<gpu::Thin>::new(),
    "direct-convolution" => Direct,
    "depthwise" => Depthwise,
    "library-product" => Library,
}

/// Tiles of the result, each over all steps.
struct Tiled;

impl Strategy for Tiled {
    type Problem = Problem;

    fn blocks(&self) -> Blocks {
        Blocks::OfOneThread
    }

    fn anchors(&self) -> Vec<Opcode> {
        vec![Opcode::Dot, Opcode::Convolution]
    }

    fn bid(&self, candidate: &Candidate, _: &DeviceDescription) -> Bid {
        bid::around(candidate).map_or_else(Bid::Decline, |instructions| Bid::Take { instructions })
    }

    fn check(&self, task: &Task<Problem>) -> Result<(), Decline> {
        task.problem.check()
    }

    fn plan(&self, task: &Task<Problem>, configuration: &Configuration) -> Result<Plan, EmitError> {
        Ok(Tiles::new(task.problem, task.device, configuration)?.plan(task.problem, task.device))
    }

    fn emit(&self, task: &Task<Problem>, plan: &Plan) -> Result<Kernel, EmitError> {
        let tiles = Tiles::new(task.problem, task.device, &plan.configuration)?;
        emit::emit(task.fusion, task.problem, &tiles)
    }
}
