//! The contraction emitter: products of arrays, packed into tiles and multiplied in registers. See
//! README.md.
//!
//! ```text
//! problem.rs   fusion -> [batch, rows, steps] times [batch, steps, columns], and what is read and written
//! convolution.rs   the same of a convolution
//! operand.rs   one side of it: which element is read, and along which dimension memory runs
//! convert.rs   element types in and out of the one that sums are kept in
//! way.rs       what the ways below have in common as emitters
//! bid.rs       which instructions around a dot one kernel computes
//! chain.rs     products of a convolution that are added up by themselves
//! claim.rs     what a dot costs in the kernel of another operation
//! tiles        sizes of tiles, blocks, knobs -> plan
//! emit.rs      the loops of a block
//! pack.rs      copies of the operands in the order in which they are multiplied
//! runs.rs      copies of operands whose elements are elsewhere than their lines and steps, or not there
//! turn.rs      rows in memory become columns
//! multiply.rs  the loop in registers
//! gpu          the same in blocks of many threads
//! micro.rs     which registers multiply
//! groups.rs    packing for products of neighbouring steps at once
//! words.rs     their loop in vector registers
//! amx.rs       their loop in tile registers
//! results.rs   sums that are kept, and what is written
//! strip.rs     rows of a convolution's input, where elements under the window are read as they are
//! direct       convolutions multiplied straight from such rows
//! depthwise    convolutions whose groups have few features: sums of products of neighbours, without packing
//! library.rs   the same products by a library of the host
//! ```

#![forbid(unsafe_code)]

mod amx;
mod bid;
mod chain;
mod claim;
mod convert;
mod convolution;
mod depthwise;
mod direct;
mod emit;
mod gpu;
mod groups;
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
mod way;
mod words;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Blocks, Configuration, Decline, EmitError, Fusion, Kernel, Plan};
use fusebox_core::hlo::Opcode;

use crate::library::Library;
use crate::problem::Problem;
use crate::tiles::Tiles;
use crate::way::{By, Way};

fusebox_core::emitters! {
    kind: "contraction",
    heroes: [Opcode::Dot, Opcode::Convolution] => claim::claim,
    "contraction" => By::<Tiles>::new(),
    "block-contraction" => By::<gpu::Tiles>::new(),
    "mma-contraction" => By::<gpu::Matrices>::new(),
    "wgmma-contraction" => By::<gpu::Squares>::new(),
    "thin-contraction" => By::<gpu::Thin>::new(),
    "direct-convolution" => By::<direct::Sizes>::new(),
    "depthwise" => By::<depthwise::Rows>::new(),
    "library-product" => Library,
}

impl Way for Tiles {
    type Problem = Problem;
    const BLOCKS: Blocks = Blocks::OfOneThread;
    const ANCHORS: &'static [Opcode] = &[Opcode::Dot, Opcode::Convolution];

    fn suits(problem: &Problem, _: &DeviceDescription) -> Result<(), Decline> {
        problem.check()
    }

    fn new(problem: &Problem, device: &DeviceDescription, knobs: &Configuration) -> Result<Tiles, EmitError> {
        Tiles::new(problem, device, knobs)
    }

    fn plan(&self, problem: &Problem, device: &DeviceDescription) -> Plan {
        self.plan(problem, device)
    }

    fn emit(&self, fusion: &Fusion, problem: &Problem) -> Result<Kernel, EmitError> {
        emit::emit(fusion, problem, self)
    }
}
