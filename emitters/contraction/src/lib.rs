//! Emitters for dots and convolutions. Most kernels of these emitters copy the operands into the
//! order of the multiplication (packing) and multiply tiles in registers. See README.md.
//!
//! ```text
//! problem.rs      fusion -> [batch, rows, steps] times [batch, steps, columns], operands, results
//! convolution.rs  a convolution as such a product
//! form.rs         the form of a matrix product that both have
//! operand.rs      one operand: the elements that are read, and the dimension contiguous in memory
//! operand_runs.rs contiguous runs of such an operand
//! convert.rs      conversions of elements to and from the type of the sums
//! strategy.rs     the common part of the emitters
//! bid.rs          the instructions around a dot that one kernel computes
//! chain.rs        chains of a convolution's products, each with a separate partial sum
//! claim.rs        the cost of a dot or convolution in the kernel of another operation
//! row_sums.rs     products that are faster as a multiplication and a sum
//! tiles           sizes of tiles, blocks, knobs -> plan
//! emit.rs         the loops of a block
//! pack.rs         copies of the operands in the order of multiplication
//! runs.rs         copies of operands whose lines and steps are not in memory order, or include padding
//! squares.rs      the shape of squares that are transposed in registers
//! transpose.rs    transposes: rows in memory become columns
//! divisor.rs      the greatest common divisor
//! multiply.rs     the loop over steps in registers
//! gpu             products in blocks of many threads
//! micro.rs        the instructions that multiply
//! groups.rs       packing of words, each of a few neighbouring steps
//! words.rs        products of these words in vector registers
//! amx.rs          products of these words in tile registers
//! results.rs      sums that are kept between chunks of steps, and writes of the results
//! input_row.rs    rows of a convolution's input, multiplied without packing
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
mod divisor;
mod emit;
mod form;
mod gpu;
mod groups;
mod input_row;
mod library;
mod micro;
mod multiply;
mod operand;
mod operand_runs;
mod orders;
mod pack;
mod problem;
mod results;
mod row_sums;
mod runs;
mod squares;
mod strategy;
mod tiles;
mod transpose;
mod words;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Blocks, Configuration, Decline, EmitError, Fusion, Kernel, Plan};
use fusebox_core::hlo::Opcode;

use crate::library::LibraryProduct;
use crate::problem::ProductProblem;
use crate::strategy::{ProductEmitter, ProductStrategy};
use crate::tiles::TileSizes;

fusebox_core::emitters! {
    kind: "contraction",
    heroes: [Opcode::Dot, Opcode::Convolution] => claim::claim,
    "contraction" => ProductEmitter::<TileSizes>::new(),
    "block-contraction" => ProductEmitter::<gpu::BlockContraction>::new(),
    "mma-contraction" => ProductEmitter::<gpu::MmaContraction>::new(),
    "wgmma-contraction" => ProductEmitter::<gpu::WgmmaContraction>::new(),
    "thin-contraction" => ProductEmitter::<gpu::ThinContraction>::new(),
    "direct-convolution" => ProductEmitter::<direct::DirectSizes>::new(),
    "depthwise" => ProductEmitter::<depthwise::DepthwiseSizes>::new(),
    "library-product" => LibraryProduct,
}

impl ProductStrategy for TileSizes {
    type Problem = ProductProblem;
    const BLOCKS: Blocks = Blocks::OfOneThread;
    const ANCHORS: &'static [Opcode] = &[Opcode::Dot, Opcode::Convolution];

    fn suits(problem: &ProductProblem, _: &DeviceDescription) -> Result<(), Decline> {
        problem.check()
    }

    fn new(
        problem: &ProductProblem,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<TileSizes, EmitError> {
        TileSizes::new(problem, device, knobs)
    }

    fn plan(&self, problem: &ProductProblem, device: &DeviceDescription) -> Plan {
        self.plan(problem, device)
    }

    fn emit(&self, fusion: &Fusion, problem: &ProductProblem) -> Result<Kernel, EmitError> {
        emit::emit(fusion, problem, self)
    }
}
