//! Operations and their attributes.

use std::fmt;
use std::str::FromStr;

use super::{ComputationId, Literal, Shape};

macro_rules! named {
    ($(#[$meta:meta])* $type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl $type {
            /// Every value, in declaration order.
            pub const ALL: &'static [$type] = &[$($type::$variant,)*];

            /// The name HLO text uses.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name,)* }
            }
        }

        impl FromStr for $type {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($name => Ok($type::$variant),)* _ => Err(()) }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// Every opcode of HLO.
    Opcode {
        Abs = "abs", Acos = "acos", Acosh = "acosh", Add = "add", AddDependency = "add-dependency",
        AfterAll = "after-all", AllGather = "all-gather", AllGatherDone = "all-gather-done",
        AllGatherStart = "all-gather-start", AllReduce = "all-reduce", AllReduceDone = "all-reduce-done",
        AllReduceStart = "all-reduce-start", AllToAll = "all-to-all", And = "and", Asin = "asin",
        Asinh = "asinh", AsyncDone = "async-done", AsyncStart = "async-start", AsyncUpdate = "async-update",
        Atan2 = "atan2", Atanh = "atanh", BatchNormGrad = "batch-norm-grad",
        BatchNormInference = "batch-norm-inference", BatchNormTraining = "batch-norm-training",
        Bitcast = "bitcast", BitcastConvert = "bitcast-convert", Broadcast = "broadcast", Call = "call",
        Cbrt = "cbrt", Ceil = "ceil", Cholesky = "cholesky", Clamp = "clamp",
        CollectiveBroadcast = "collective-broadcast", CollectivePermute = "collective-permute",
        CollectivePermuteDone = "collective-permute-done", CollectivePermuteStart = "collective-permute-start",
        Compare = "compare", Complex = "complex", Concatenate = "concatenate", Conditional = "conditional",
        Constant = "constant", Convert = "convert", Convolution = "convolution", Copy = "copy",
        CopyDone = "copy-done", CopyStart = "copy-start", Cosh = "cosh", Cosine = "cosine",
        CountLeadingZeros = "count-leading-zeros", CustomCall = "custom-call", Divide = "divide",
        Domain = "domain", Dot = "dot", DynamicReshape = "dynamic-reshape", DynamicSlice = "dynamic-slice",
        DynamicUpdateSlice = "dynamic-update-slice", Erf = "erf", Exponential = "exponential",
        ExponentialMinusOne = "exponential-minus-one", Fft = "fft", Floor = "floor", Fusion = "fusion",
        Gather = "gather", GetDimensionSize = "get-dimension-size", GetTupleElement = "get-tuple-element",
        Imag = "imag", Infeed = "infeed", Iota = "iota", IsFinite = "is-finite", Log = "log",
        LogPlusOne = "log-plus-one", Logistic = "logistic", Map = "map", Maximum = "maximum",
        Minimum = "minimum", Mulhi = "mulhi", Multiply = "multiply", Negate = "negate", Not = "not",
        OptBarrier = "opt-barrier", Or = "or", Outfeed = "outfeed", Pad = "pad", Parameter = "parameter",
        PartitionId = "partition-id", Popcnt = "popcnt", Power = "power", RaggedAllToAll = "ragged-all-to-all",
        RaggedDot = "ragged-dot", Real = "real", Recv = "recv", RecvDone = "recv-done", Reduce = "reduce",
        ReducePrecision = "reduce-precision", ReduceScatter = "reduce-scatter", ReduceWindow = "reduce-window",
        Remainder = "remainder", ReplicaId = "replica-id", Reshape = "reshape", Reverse = "reverse", Rng = "rng",
        RngBitGenerator = "rng-bit-generator", RngGetAndUpdateState = "rng-get-and-update-state",
        RoundNearestAfz = "round-nearest-afz", RoundNearestEven = "round-nearest-even", Rsqrt = "rsqrt",
        ScaledDot = "scaled-dot", Scan = "scan", Scatter = "scatter", Select = "select",
        SelectAndScatter = "select-and-scatter", Send = "send", SendDone = "send-done",
        SetDimensionSize = "set-dimension-size", ShiftLeft = "shift-left",
        ShiftRightArithmetic = "shift-right-arithmetic", ShiftRightLogical = "shift-right-logical",
        Sign = "sign", Sine = "sine", Sinh = "sinh", Slice = "slice", Sort = "sort", Sqrt = "sqrt",
        StochasticConvert = "stochastic-convert", Subtract = "subtract", Tan = "tan", Tanh = "tanh",
        Topk = "topk", Transpose = "transpose", TriangularSolve = "triangular-solve", Tuple = "tuple",
        While = "while", Xor = "xor",
    }
}

macro_rules! subset {
    ($(#[$meta:meta])* $type:ident { $($variant:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $(#[doc = concat!("[`Opcode::", stringify!($variant), "`]")] $variant,)* }

        impl $type {
            /// Every value, in declaration order.
            pub const ALL: &'static [$type] = &[$($type::$variant,)*];

            /// The opcode.
            pub fn opcode(self) -> Opcode {
                match self { $($type::$variant => Opcode::$variant,)* }
            }

            /// The operation of that opcode, if it belongs here.
            pub fn from_opcode(opcode: Opcode) -> Option<Self> {
                match opcode { $(Opcode::$variant => Some($type::$variant),)* _ => None }
            }
        }
    };
}

subset! {
    /// Elementwise operations of one operand without attributes.
    UnaryOp {
        Abs, Acos, Acosh, Asin, Asinh, Atanh, Cbrt, Ceil, Cosh, Cosine, CountLeadingZeros, Erf,
        Exponential, ExponentialMinusOne, Floor, Imag, IsFinite, Log, LogPlusOne, Logistic, Negate, Not,
        Popcnt, Real, RoundNearestAfz, RoundNearestEven, Rsqrt, Sign, Sine, Sinh, Sqrt, Tan, Tanh,
    }
}

subset! {
    /// Elementwise operations of two operands without attributes.
    BinaryOp {
        Add, And, Atan2, Complex, Divide, Maximum, Minimum, Mulhi, Multiply, Or, Power, Remainder,
        ShiftLeft, ShiftRightArithmetic, ShiftRightLogical, Subtract, Xor,
    }
}

named! {
    /// Direction of a `compare`.
    Comparison { Eq = "EQ", Ne = "NE", Ge = "GE", Gt = "GT", Le = "LE", Lt = "LT", }
}

named! {
    /// How a `compare` orders its operands.
    ComparisonType { Float = "FLOAT", TotalOrder = "TOTALORDER", Signed = "SIGNED", Unsigned = "UNSIGNED", }
}

named! {
    /// Kind of a `fusion`: a tag, without influence on the code.
    FusionKind { Loop = "kLoop", Input = "kInput", Output = "kOutput", Custom = "kCustom", }
}

named! {
    /// Kind of an `fft`.
    FftType { Fft = "FFT", Ifft = "IFFT", Rfft = "RFFT", Irfft = "IRFFT", }
}

named! {
    /// How `triangular-solve` reads its matrix.
    Transpose { None = "NO_TRANSPOSE", Transpose = "TRANSPOSE", Adjoint = "ADJOINT", }
}

named! {
    /// Distribution of an `rng`.
    RandomDistribution { Uniform = "rng_uniform", Normal = "rng_normal", }
}

named! {
    /// Generator of an `rng-bit-generator`.
    RandomAlgorithm { Default = "rng_default", ThreeFry = "rng_three_fry", Philox = "rng_philox", }
}

/// One dimension of a `slice`: elements `start, start + stride, …` below `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceDim {
    /// First element.
    pub start: i64,
    /// End, exclusive.
    pub limit: i64,
    /// Step, at least 1.
    pub stride: i64,
}

/// One dimension of a `pad`. `low` and `high` may be negative (they crop).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PaddingDim {
    /// Elements before the first.
    pub low: i64,
    /// Elements after the last.
    pub high: i64,
    /// Elements between two neighbours.
    pub interior: i64,
}

/// One dimension of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDim {
    /// Extent of the window.
    pub size: i64,
    /// Step between windows.
    pub stride: i64,
    /// Padding before; may be negative.
    pub padding_low: i64,
    /// Padding after; may be negative.
    pub padding_high: i64,
    /// Distance of neighbouring window elements.
    pub window_dilation: i64,
    /// Distance of neighbouring base elements.
    pub base_dilation: i64,
    /// Whether the window is read backwards.
    pub reversal: bool,
}

impl Default for WindowDim {
    fn default() -> Self {
        WindowDim {
            size: 1,
            stride: 1,
            padding_low: 0,
            padding_high: 0,
            window_dilation: 1,
            base_dilation: 1,
            reversal: false,
        }
    }
}

/// A window, one entry per (spatial) dimension. Empty if the instruction has no `window`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Window {
    /// The dimensions.
    pub dims: Vec<WindowDim>,
}

/// Dimension numbers of a `dot`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct DotDims {
    /// Contracting dimensions of the left operand.
    pub lhs_contracting: Vec<i64>,
    /// Contracting dimensions of the right operand, in the same order.
    pub rhs_contracting: Vec<i64>,
    /// Batch dimensions of the left operand.
    pub lhs_batch: Vec<i64>,
    /// Batch dimensions of the right operand, in the same order.
    pub rhs_batch: Vec<i64>,
    /// `algorithm=…`, raw; empty if not given.
    pub algorithm: String,
}

/// Dimension numbers of a `gather`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct GatherDims {
    /// Dimensions of the result that index into the slice.
    pub offset_dims: Vec<i64>,
    /// Operand dimensions of slice size 1 that do not appear in the result.
    pub collapsed_slice_dims: Vec<i64>,
    /// Operand dimension of each component of an index vector.
    pub start_index_map: Vec<i64>,
    /// Dimension of the indices that holds the index vector; the rank means scalars.
    pub index_vector_dim: i64,
    /// Batching dimensions of the operand.
    pub operand_batching_dims: Vec<i64>,
    /// Batching dimensions of the indices, in the same order.
    pub start_indices_batching_dims: Vec<i64>,
    /// Size of the slice per operand dimension.
    pub slice_sizes: Vec<i64>,
    /// A promise about the indices.
    pub indices_are_sorted: bool,
}

/// Dimension numbers of a `scatter`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ScatterDims {
    /// Dimensions of the updates that index into the window.
    pub update_window_dims: Vec<i64>,
    /// Operand dimensions of window size 1 that the updates lack.
    pub inserted_window_dims: Vec<i64>,
    /// Operand dimension of each component of an index vector.
    pub scatter_dims_to_operand_dims: Vec<i64>,
    /// Dimension of the indices that holds the index vector; the rank means scalars.
    pub index_vector_dim: i64,
    /// Batching dimensions of the operand.
    pub input_batching_dims: Vec<i64>,
    /// Batching dimensions of the indices, in the same order.
    pub scatter_indices_batching_dims: Vec<i64>,
    /// A promise about the indices.
    pub indices_are_sorted: bool,
    /// A promise that no two updates meet.
    pub unique_indices: bool,
}

/// `dim_labels` of a `convolution`, as dimension numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ConvDims {
    /// Batch dimension of the input.
    pub input_batch: i64,
    /// Feature dimension of the input.
    pub input_feature: i64,
    /// Spatial dimensions of the input.
    pub input_spatial: Vec<i64>,
    /// Input feature dimension of the kernel.
    pub kernel_input_feature: i64,
    /// Output feature dimension of the kernel.
    pub kernel_output_feature: i64,
    /// Spatial dimensions of the kernel.
    pub kernel_spatial: Vec<i64>,
    /// Batch dimension of the output.
    pub output_batch: i64,
    /// Feature dimension of the output.
    pub output_feature: i64,
    /// Spatial dimensions of the output.
    pub output_spatial: Vec<i64>,
}

/// Attributes of a `convolution`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ConvolutionAttrs {
    /// Window over the spatial dimensions.
    pub window: Window,
    /// Dimension numbers.
    pub dims: ConvDims,
    /// Groups of features, at least 1.
    pub feature_group_count: i64,
    /// Groups of batches, at least 1.
    pub batch_group_count: i64,
}

/// Attributes of a `custom-call`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct CustomCallAttrs {
    /// Name of the function.
    pub target: String,
    /// Computations it may call.
    pub called: Vec<ComputationId>,
    /// Whether it must be kept though its result is unused.
    pub has_side_effect: bool,
    /// `api_version`, raw; empty if not given.
    pub api_version: String,
    /// `output_to_operand_aliasing`, raw; empty if not given.
    pub output_to_operand_aliasing: String,
    /// Operand shapes with the layouts the callee wants, if given.
    pub operand_layouts: Option<Vec<Shape>>,
}

/// What an instruction does. Operands and result shape stand in the
/// [`Instruction`](super::Instruction).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are HLO's own attribute names; the variants are the opcodes")]
pub enum Op {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare {
        direction: Comparison,
        order: Option<ComparisonType>,
    },
    /// Operands: predicate, on true, on false. The predicate may be a scalar.
    Select,
    /// Operands: low, value, high. The bounds may be scalars.
    Clamp,
    Convert,
    BitcastConvert,
    StochasticConvert,
    ReducePrecision {
        exponent_bits: i64,
        mantissa_bits: i64,
    },
    Constant(Literal),
    Iota {
        dimension: i64,
    },
    Parameter {
        number: i64,
    },
    /// `dimensions[i]` is the result dimension of operand dimension `i`.
    Broadcast {
        dimensions: Vec<i64>,
    },
    Reshape,
    /// Reinterprets the operand's memory in its layout as the result's shape and layout.
    Bitcast,
    /// Result dimension `i` is operand dimension `permutation[i]`.
    Transpose {
        permutation: Vec<i64>,
    },
    Reverse {
        dimensions: Vec<i64>,
    },
    Concatenate {
        dimension: i64,
    },
    Slice {
        dims: Vec<SliceDim>,
    },
    /// Operands: value, padding value.
    Pad {
        dims: Vec<PaddingDim>,
    },
    /// Operands: value, one scalar start per dimension. Starts are clamped.
    DynamicSlice {
        sizes: Vec<i64>,
    },
    /// Operands: value, update, one scalar start per dimension. Starts are clamped.
    DynamicUpdateSlice,
    Gather(GatherDims),
    /// Operands: n arrays, indices, n updates.
    Scatter {
        dims: ScatterDims,
        to_apply: ComputationId,
    },
    /// Operands: n arrays, n initial values. A tuple if n > 1.
    Reduce {
        dimensions: Vec<i64>,
        to_apply: ComputationId,
    },
    /// Operands: n arrays, n initial values. A tuple if n > 1.
    ReduceWindow {
        window: Window,
        to_apply: ComputationId,
    },
    /// Operands: array, source, initial value.
    SelectAndScatter {
        window: Window,
        select: ComputationId,
        scatter: ComputationId,
    },
    Map {
        dimensions: Vec<i64>,
        to_apply: ComputationId,
    },
    /// Operands: arrays, then initial carries. Result: tuple of outputs, then carries.
    Scan {
        dimension: i64,
        num_carries: i64,
        is_reverse: bool,
        is_associative: bool,
        to_apply: ComputationId,
    },
    Sort {
        dimension: i64,
        is_stable: bool,
        to_apply: ComputationId,
    },
    Topk {
        k: i64,
        largest: bool,
        is_stable: bool,
    },
    Dot(DotDims),
    RaggedDot {
        dims: DotDims,
        lhs_ragged_dims: Vec<i64>,
        rhs_group_dims: Vec<i64>,
    },
    ScaledDot(DotDims),
    Convolution(Box<ConvolutionAttrs>),
    Fft {
        kind: FftType,
        length: Vec<i64>,
    },
    Cholesky {
        lower: bool,
    },
    TriangularSolve {
        left_side: bool,
        lower: bool,
        unit_diagonal: bool,
        transpose_a: Transpose,
    },
    BatchNormTraining {
        epsilon: f32,
        feature_index: i64,
    },
    BatchNormInference {
        epsilon: f32,
        feature_index: i64,
    },
    BatchNormGrad {
        epsilon: f32,
        feature_index: i64,
    },
    Rng {
        distribution: RandomDistribution,
    },
    RngBitGenerator {
        algorithm: RandomAlgorithm,
    },
    RngGetAndUpdateState {
        delta: i64,
    },
    While {
        condition: ComputationId,
        body: ComputationId,
    },
    /// Operands: predicate (`pred[]`: branch 0 is taken on true) or branch index (`s32[]`, out of
    /// range takes the last), then one argument per branch.
    Conditional {
        branches: Vec<ComputationId>,
    },
    Call {
        to_apply: ComputationId,
    },
    Fusion {
        kind: FusionKind,
        calls: ComputationId,
    },
    CustomCall(Box<CustomCallAttrs>),
    Tuple,
    GetTupleElement {
        index: i64,
    },
    OptBarrier,
    AfterAll,
    AddDependency,
    Copy,
    GetDimensionSize {
        dimension: i64,
    },
    SetDimensionSize {
        dimension: i64,
    },
    PartitionId,
    ReplicaId,
    /// Every other opcode (collectives, async, host transfer, domain …): kept with its attributes,
    /// which no part of fusebox interprets.
    Other {
        opcode: Opcode,
        called: Vec<(String, Vec<ComputationId>)>,
        attributes: Vec<(String, String)>,
    },
}

impl Op {
    /// Whether an element of the result is a function of the elements of the operands at the same position, where
    /// an operand of one element is taken at every position.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Op::Unary(_)
                | Op::Binary(_)
                | Op::Compare { .. }
                | Op::Select
                | Op::Clamp
                | Op::Convert
                | Op::StochasticConvert
                | Op::ReducePrecision { .. }
                | Op::Map { .. }
                | Op::Copy
        )
    }

    /// Whether an element of the result can be computed by itself from elements of the operands, which is what emitters
    /// may leave to subgraph functions. Elements of a scatter, a sort or an FFT come about together.
    pub fn is_elemental(&self) -> bool {
        let moves_or_combines = matches!(
            self,
            Op::Parameter { .. }
                | Op::Constant(_)
                | Op::Iota { .. }
                | Op::BitcastConvert
                | Op::Bitcast
                | Op::Broadcast { .. }
                | Op::Reshape
                | Op::Transpose { .. }
                | Op::Reverse { .. }
                | Op::Slice { .. }
                | Op::Concatenate { .. }
                | Op::Pad { .. }
                | Op::DynamicSlice { .. }
                | Op::DynamicUpdateSlice
                | Op::Gather(_)
                | Op::Reduce { .. }
                | Op::ReduceWindow { .. }
                | Op::SelectAndScatter { .. }
                | Op::Dot(_)
                | Op::Convolution(_)
                | Op::GetDimensionSize { .. }
                | Op::GetTupleElement { .. }
                | Op::OptBarrier
        );
        moves_or_combines || self.is_elementwise()
    }

    /// The opcode.
    pub fn opcode(&self) -> Opcode {
        match self {
            Op::Unary(op) => op.opcode(),
            Op::Binary(op) => op.opcode(),
            Op::Compare { .. } => Opcode::Compare,
            Op::Select => Opcode::Select,
            Op::Clamp => Opcode::Clamp,
            Op::Convert => Opcode::Convert,
            Op::BitcastConvert => Opcode::BitcastConvert,
            Op::StochasticConvert => Opcode::StochasticConvert,
            Op::ReducePrecision { .. } => Opcode::ReducePrecision,
            Op::Constant(_) => Opcode::Constant,
            Op::Iota { .. } => Opcode::Iota,
            Op::Parameter { .. } => Opcode::Parameter,
            Op::Broadcast { .. } => Opcode::Broadcast,
            Op::Reshape => Opcode::Reshape,
            Op::Bitcast => Opcode::Bitcast,
            Op::Transpose { .. } => Opcode::Transpose,
            Op::Reverse { .. } => Opcode::Reverse,
            Op::Concatenate { .. } => Opcode::Concatenate,
            Op::Slice { .. } => Opcode::Slice,
            Op::Pad { .. } => Opcode::Pad,
            Op::DynamicSlice { .. } => Opcode::DynamicSlice,
            Op::DynamicUpdateSlice => Opcode::DynamicUpdateSlice,
            Op::Gather(_) => Opcode::Gather,
            Op::Scatter { .. } => Opcode::Scatter,
            Op::Reduce { .. } => Opcode::Reduce,
            Op::ReduceWindow { .. } => Opcode::ReduceWindow,
            Op::SelectAndScatter { .. } => Opcode::SelectAndScatter,
            Op::Map { .. } => Opcode::Map,
            Op::Scan { .. } => Opcode::Scan,
            Op::Sort { .. } => Opcode::Sort,
            Op::Topk { .. } => Opcode::Topk,
            Op::Dot(_) => Opcode::Dot,
            Op::RaggedDot { .. } => Opcode::RaggedDot,
            Op::ScaledDot(_) => Opcode::ScaledDot,
            Op::Convolution(_) => Opcode::Convolution,
            Op::Fft { .. } => Opcode::Fft,
            Op::Cholesky { .. } => Opcode::Cholesky,
            Op::TriangularSolve { .. } => Opcode::TriangularSolve,
            Op::BatchNormTraining { .. } => Opcode::BatchNormTraining,
            Op::BatchNormInference { .. } => Opcode::BatchNormInference,
            Op::BatchNormGrad { .. } => Opcode::BatchNormGrad,
            Op::Rng { .. } => Opcode::Rng,
            Op::RngBitGenerator { .. } => Opcode::RngBitGenerator,
            Op::RngGetAndUpdateState { .. } => Opcode::RngGetAndUpdateState,
            Op::While { .. } => Opcode::While,
            Op::Conditional { .. } => Opcode::Conditional,
            Op::Call { .. } => Opcode::Call,
            Op::Fusion { .. } => Opcode::Fusion,
            Op::CustomCall(_) => Opcode::CustomCall,
            Op::Tuple => Opcode::Tuple,
            Op::GetTupleElement { .. } => Opcode::GetTupleElement,
            Op::OptBarrier => Opcode::OptBarrier,
            Op::AfterAll => Opcode::AfterAll,
            Op::AddDependency => Opcode::AddDependency,
            Op::Copy => Opcode::Copy,
            Op::GetDimensionSize { .. } => Opcode::GetDimensionSize,
            Op::SetDimensionSize { .. } => Opcode::SetDimensionSize,
            Op::PartitionId => Opcode::PartitionId,
            Op::ReplicaId => Opcode::ReplicaId,
            Op::Other { opcode, .. } => *opcode,
        }
    }

    /// The computations the operation calls, in attribute order.
    pub fn called(&self) -> Vec<ComputationId> {
        match self {
            Op::Scatter { to_apply, .. }
            | Op::Reduce { to_apply, .. }
            | Op::ReduceWindow { to_apply, .. }
            | Op::Map { to_apply, .. }
            | Op::Scan { to_apply, .. }
            | Op::Sort { to_apply, .. }
            | Op::Call { to_apply } => vec![*to_apply],
            Op::SelectAndScatter { select, scatter, .. } => vec![*select, *scatter],
            Op::While { condition, body } => vec![*condition, *body],
            Op::Conditional { branches } => branches.clone(),
            Op::Fusion { calls, .. } => vec![*calls],
            Op::CustomCall(attrs) => attrs.called.clone(),
            Op::Other { called, .. } => called.iter().flat_map(|(_, list)| list.iter().copied()).collect(),
            _ => Vec::new(),
        }
    }
}
