//! HLO, the language of XLA: the data model, its text and protobuf forms, and the verifier.
//!
//! Authors of emitters use this crate as `fusebox_core::hlo`. The feature `proto` adds the protobuf
//! form, which only the host reads.
//!
//! ```text
//! text | HloModuleProto  ->  Module  ->  verify  ->  passes, interpreter, fusions
//! ```
//!
//! A [`Module`] owns [`Computation`]s. A computation owns [`Instruction`]s in a topological order:
//! operands come before users. Dense indices identify computations ([`ComputationId`]) and
//! instructions ([`InstrId`]).

#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// Returns a formatted message as an error from the enclosing function if a condition is false.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*).into());
        }
    };
}

mod accumulation;
mod attribute;
mod bytes;
mod canonical;
mod combiner;
mod conversion;
mod debug_tables;
mod dims;
mod element_type;
mod ids;
mod infer;
mod literal;
mod message;
mod module;
mod named;
mod narrow_float;
mod nesting;
mod op;
#[cfg(feature = "proto")]
mod proto;
pub mod random;
mod shape;
mod sharding;
mod span;
pub mod text;
mod values;
mod verify;

pub use accumulation::accumulation_type;
pub use bytes::Bytes;
pub use canonical::canonical_text;
pub use combiner::Combiner;
pub use debug_tables::{DebugTables, FileLocation, StackFrame};
pub use dims::{ConvDims, PaddingDim, SliceDim, Window, WindowDim};
pub use element_type::ElementType;
pub use ids::{ComputationId, InstrId};
pub use infer::{Extent, Signature, Source, extents, infer_shape, infer_shape_with, window_output_size};
pub use literal::{ArrayLiteral, Literal};
pub use module::{
    AliasKind, Computation, EntryLayout, Extra, InputOutputAlias, Instruction, InterfaceSizes, Metadata, Module,
    SizedDimension,
};
pub use named::{Comparison, ComparisonType, FftType, FusionKind, RandomAlgorithm, RandomDistribution, Transpose};
pub use narrow_float::{FloatFormat, Specials};
pub use nesting::{MAX_CALL_DEPTH, check_call_depth};
pub use op::{BinaryOp, Op, Opcode, UnaryOp, UnaryWork};
#[cfg(feature = "proto")]
pub use proto::{read_proto, write_proto};
pub use shape::{ArrayShape, Layout, Shape};
pub use sharding::{
    AxisSharding, Collective, CollectiveKind, ManualComputation, Mesh, MeshAxis, Meshes, Tiling, axis_shardings,
};
pub use span::{Diagnostic, Span};
pub use text::{Elided, ParseOptions, PrintOptions, parse_module, parse_module_with, print_module, print_module_with};
pub use values::{ConvolutionAttrs, CustomCallAttrs, DotDims, GatherDims, ScatterDims};
pub use verify::verify;
