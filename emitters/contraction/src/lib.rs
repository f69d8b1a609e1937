//! The contraction emitter: products of arrays, packed into tiles and multiplied in registers. See
//! README.md.
//!
//! ```text
//! problem.rs      fusion -> [batch, rows, steps] times [batch, steps, columns], operands, results
//! convolution.rs  a convolution as such a product
//! operand.rs      one operand: the elements that are read, and the dimension contiguous in memory
//! convert.rs      conversions of elements to and from the type of the sums
//! way.rs          the common part of the emitters
//! bid.rs          the instructions around a dot that one kernel computes
//! chain.rs        chains of a convolution's products, each with a separate partial sum
//! claim.rs        the cost of a dot or convolution in the kernel of another operation
//! tiles           sizes of tiles, blocks, knobs -> plan
//! emit.rs         the loops of a block
//! pack.rs         copies of the operands in the order of multiplication
//! runs.rs         copies of operands whose lines and steps are not in memory order, or include padding
//! turn.rs         transposes: rows in memory become columns
//! multiply.rs     the loop over steps in registers
//! gpu             products in blocks of many threads
//! micro.rs        the instructions that multiply
//! groups.rs       packing of words, each of a few neighbouring steps
//! words.rs        products of these words in vector registers
//! amx.rs          products of these words in tile registers
//! results.rs      sums that are kept between chunks of steps, and writes of the results
//! strip.rs        rows of a convolution's input, multiplied without packing
//! direct          convolutions multiplied straight from such rows
//! depthwise       convolutions whose groups have few features, without packing
//! library.rs      dots executed by the host's library
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
