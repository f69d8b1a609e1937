//! HLO: the data model, its text and protobuf forms, and the verifier.
//!
//! ```text
//! text | HloModuleProto  ->  Module  ->  verify  ->  passes, interpreter, fusions
//! ```
//!
//! A [`Module`] owns [`Computation`]s. A computation owns [`Instruction`]s in a topological order:
//! operands come before users. Dense indices identify computations ([`ComputationId`]) and
//! instructions ([`InstrId`]).

mod accumulation;
mod attribute;
mod bytes;
mod canonical;
mod combiner;
mod conversion;
mod element_type;
mod infer;
mod literal;
mod module;
mod narrow_float;
mod nesting;
mod op;
mod proto;
mod shape;
mod span;
pub mod text;
mod values;
mod verify;

pub use accumulation::accumulation_type;
pub use bytes::Bytes;
pub use canonical::canonical_text;
pub use combiner::Combiner;
pub use element_type::ElementType;
pub use infer::{Extent, Signature, Source, extents, infer_shape, infer_shape_with, window_output_size};
pub use literal::{ArrayLiteral, Literal};
pub use module::{
    AliasKind, Computation, ComputationId, DebugTables, EntryLayout, Extra, FileLocation, InputOutputAlias, InstrId,
    Instruction, InterfaceSizes, Metadata, Module, SizedDimension, StackFrame,
};
pub use narrow_float::{FloatFormat, Specials};
pub use nesting::{MAX_CALL_DEPTH, check_call_depth};
pub use op::{BinaryOp, Op, Opcode, UnaryOp};
pub use proto::{read_proto, write_proto};
pub use shape::{ArrayShape, Layout, Shape};
pub use span::{Diagnostic, Span};
pub use text::{Elided, ParseOptions, PrintOptions, parse_module, parse_module_with, print_module, print_module_with};
pub use values::{
    Comparison, ComparisonType, ConvDims, ConvolutionAttrs, CustomCallAttrs, DotDims, FftType, FusionKind, GatherDims,
    PaddingDim, RandomAlgorithm, RandomDistribution, ScatterDims, SliceDim, Transpose, Window, WindowDim,
};
pub use verify::verify;
