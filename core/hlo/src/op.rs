//! Operations. One table lists the opcodes and attributes of all operations, and how elements of
//! their results are computed.

use super::attribute::{
    All, Attribute, Callee, Callees, Describes, Kept, Reader, Writer, assumed, content, needed, number32, one_of_list,
    optional,
};
use super::dims::{PaddingDim, SliceDim, Window};
use super::ids::ComputationId;
use super::literal::Literal;
use super::named::{
    Comparison, ComparisonType, FftType, FusionKind, RandomAlgorithm, RandomDistribution, Transpose, named,
};
use super::values::{ConvolutionAttrs, CustomCallAttrs, DotDims, GatherDims, ScatterDims};

/// How the elements of an operation's result are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Elements {
    /// Each element is computed from the operands' elements at the same position. An operand with
    /// one element is used at every position.
    Elementwise,
    /// Each element is a copy of an element at another position of the first operand.
    Moved,
    /// Each element can be computed from the operands without computing the other elements of the
    /// result.
    Elemental,
    /// All elements are computed together, or the result has no elements.
    Whole,
}

/// The element types that a unary operation accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    FloatOrComplex,
    Float,
    Integer,
    IntegerOrPred,
    Number,
}

/// The work of a unary operation for one element. The cost model defines how long the work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryWork {
    /// One instruction.
    OneInstruction,
    /// A few instructions.
    FewInstructions,
    /// A square root.
    Root,
    /// The inverse of a square root.
    InverseRoot,
    /// A sine, cosine or tangent.
    Trigonometry,
    /// Any other function that needs a polynomial.
    Function,
}

/// Defines an enumeration whose values are opcodes.
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

            /// Returns the operation with this opcode, if the opcode belongs to this group.
            pub fn from_opcode(opcode: Opcode) -> Option<Self> {
                match opcode { $(Opcode::$variant => Some($type::$variant),)* _ => None }
            }
        }
    };
}

/// Defines [`Opcode`], [`UnaryOp`], [`BinaryOp`] and [`Op`] from the table. An entry of the last
/// section has one of these forms:
///
/// ```text
/// Elements Variant(name of the struct: type) = "opcode",
/// Elements Variant { attribute: type = description of its forms, … } = "opcode",
/// ```
macro_rules! operations {
    (
        unary { $($takes:ident $work:ident { $($unary:ident = $unary_name:literal,)* })* }
        binary { $($binary:ident = $binary_name:literal,)* }
        kept { $($kept:ident = $kept_name:literal,)* }
        $($(#[$doc:meta])* $elements:ident $op:ident $(($group:ident: $group_type:ty))?
            $({ $($field:ident: $ty:ty = $how:expr,)* })? = $name:literal,)*
    ) => {
        named! {
            /// Every opcode of HLO.
            Opcode {
                $($($unary = $unary_name,)*)* $($binary = $binary_name,)* $($op = $name,)* $($kept = $kept_name,)*
            }
        }

        subset! {
            /// Elementwise operations that have one operand and no attributes.
            UnaryOp { $($($unary,)*)* }
        }

        impl UnaryOp {
            pub(crate) fn takes(self) -> Takes {
                match self { $($(UnaryOp::$unary => Takes::$takes,)*)* }
            }

            /// The work of one element.
            pub fn work(self) -> UnaryWork {
                match self { $($(UnaryOp::$unary => UnaryWork::$work,)*)* }
            }
        }

        subset! {
            /// Elementwise operations that have two operands and no attributes.
            BinaryOp { $($binary,)* }
        }

        /// An operation. The operands and the shape of the result are in the
        /// [`Instruction`](super::Instruction).
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the fields are HLO's own attribute names; the variants are the opcodes")]
        pub enum Op {
            Unary(UnaryOp),
            Binary(BinaryOp),
            $($(#[$doc])* $op $(($group_type))? $({ $($field: $ty,)* })?,)*
            /// An operation with any other opcode (collectives, async, host transfer, domain …).
            /// Fusebox keeps the attributes and does not interpret them.
            Other {
                opcode: Opcode,
                called: Vec<(String, Vec<ComputationId>)>,
                attributes: Vec<(String, String)>,
            },
        }

        impl Op {
            /// The opcode.
            pub fn opcode(&self) -> Opcode {
                match self {
                    Op::Unary(op) => op.opcode(),
                    Op::Binary(op) => op.opcode(),
                    $(Op::$op { .. } => Opcode::$op,)*
                    Op::Other { opcode, .. } => *opcode,
                }
            }

            fn other(opcode: Opcode, Kept { called, attributes }: Kept) -> Op {
                Op::Other { opcode, called, attributes }
            }

            fn elements(&self) -> Elements {
                match self {
                    Op::Unary(_) | Op::Binary(_) => Elements::Elementwise,
                    $(Op::$op { .. } => Elements::$elements,)*
                    Op::Other { .. } => Elements::Whole,
                }
            }

            /// Reads the attributes of an operation with that opcode.
            pub(crate) fn read<R: Reader>(opcode: Opcode, reader: &mut R) -> Result<Op, R::Error> {
                Ok(match opcode {
                    $($(Opcode::$unary => Op::Unary(UnaryOp::$unary),)*)*
                    $(Opcode::$binary => Op::Binary(BinaryOp::$binary),)*
                    $(Opcode::$op => Op::$op
                        $((<All as Describes<$group_type>>::read(All, reader)?))?
                        $({ $($field: $how.read(reader)?,)* })?,)*
                    $(Opcode::$kept => Op::other(opcode, reader.kept()?),)*
                })
            }

            /// Passes all attributes to a writer, in the order of HLO text.
            pub(crate) fn write<W: Writer>(&self, writer: &mut W) {
                match self {
                    Op::Unary(_) | Op::Binary(_) => {}
                    $(Op::$op $(($group))? $({ $($field,)* })? => {
                        $(All.write($group, writer);)?
                        $($($how.write($field, writer);)*)?
                    })*
                    Op::Other { called, attributes, .. } => {
                        for (name, ids) in called {
                            match ids[..] {
                                [id] if name != "called_computations" => writer.computation(name, id),
                                _ => writer.computations(name, ids),
                            }
                        }
                        writer.kept(attributes);
                    }
                }
            }

            /// Returns the computations that the operation calls, in attribute order.
            pub fn called_mut(&mut self) -> Vec<&mut ComputationId> {
                match self {
                    Op::Unary(_) | Op::Binary(_) => Vec::new(),
                    $(Op::$op $(($group))? $({ $($field,)* })? => {
                        #[allow(unused_mut, reason = "most operations call nothing")]
                        let mut callees = Vec::new();
                        $(callees.extend(All.callees($group));)?
                        $($(callees.extend($how.callees($field));)*)?
                        callees
                    })*
                    Op::Other { called, .. } => called.iter_mut().flat_map(|(_, ids)| ids).collect(),
                }
            }
        }
    };
}

operations! {
    unary {
        FloatOrComplex Function {
            Acos = "acos", Acosh = "acosh", Asin = "asin", Asinh = "asinh", Atanh = "atanh", Cbrt = "cbrt",
            Cosh = "cosh", Exponential = "exponential", ExponentialMinusOne = "exponential-minus-one", Log = "log",
            LogPlusOne = "log-plus-one", Logistic = "logistic", Sinh = "sinh", Tanh = "tanh",
        }
        FloatOrComplex Trigonometry { Cosine = "cosine", Sine = "sine", Tan = "tan", }
        FloatOrComplex Root { Sqrt = "sqrt", }
        FloatOrComplex InverseRoot { Rsqrt = "rsqrt", }
        FloatOrComplex OneInstruction { Imag = "imag", Real = "real", }
        Float Function { Erf = "erf", }
        Float FewInstructions {
            Ceil = "ceil", Floor = "floor", RoundNearestAfz = "round-nearest-afz",
            RoundNearestEven = "round-nearest-even", IsFinite = "is-finite",
        }
        Integer FewInstructions { CountLeadingZeros = "count-leading-zeros", Popcnt = "popcnt", }
        IntegerOrPred OneInstruction { Not = "not", }
        Number OneInstruction { Abs = "abs", Negate = "negate", Sign = "sign", }
    }

    binary {
        Add = "add", And = "and", Atan2 = "atan2", Complex = "complex", Divide = "divide",
        Maximum = "maximum", Minimum = "minimum", Mulhi = "mulhi", Multiply = "multiply", Or = "or",
        Power = "power", Remainder = "remainder", ShiftLeft = "shift-left",
        ShiftRightArithmetic = "shift-right-arithmetic", ShiftRightLogical = "shift-right-logical",
        Subtract = "subtract", Xor = "xor",
    }

    // See `Op::Other`.
    kept {
        AllGather = "all-gather", AllGatherDone = "all-gather-done", AllGatherStart = "all-gather-start",
        AllReduce = "all-reduce", AllReduceDone = "all-reduce-done", AllReduceStart = "all-reduce-start",
        AllToAll = "all-to-all", AsyncDone = "async-done", AsyncStart = "async-start",
        AsyncUpdate = "async-update", CollectiveBroadcast = "collective-broadcast",
        CollectivePermute = "collective-permute", CollectivePermuteDone = "collective-permute-done",
        CollectivePermuteStart = "collective-permute-start", CopyDone = "copy-done", CopyStart = "copy-start",
        Domain = "domain", DynamicReshape = "dynamic-reshape", Infeed = "infeed", Outfeed = "outfeed",
        RaggedAllToAll = "ragged-all-to-all", Recv = "recv", RecvDone = "recv-done",
        ReduceScatter = "reduce-scatter", Send = "send", SendDone = "send-done",
    }

    Elementwise Compare {
        direction: Comparison = needed("direction", |m| &mut m.comparison_direction),
        order: Option<ComparisonType> = optional("type", |m| &mut m.comparison_type),
    } = "compare",
    /// Operands: predicate, value if true, value if false. The predicate may be a scalar.
    Elementwise Select = "select",
    /// Operands: low, value, high. The bounds may be scalars.
    Elementwise Clamp = "clamp",
    Elementwise Convert = "convert",
    Elemental BitcastConvert = "bitcast-convert",
    Elementwise StochasticConvert = "stochastic-convert",
    Elementwise ReducePrecision {
        exponent_bits: i64 = number32("exponent_bits", |m| &mut m.exponent_bits),
        mantissa_bits: i64 = number32("mantissa_bits", |m| &mut m.mantissa_bits),
    } = "reduce-precision",
    Elemental Constant(literal: Literal) = "constant",
    Elemental Iota { dimension: i64 = needed("iota_dimension", |m| &mut m.dimensions), } = "iota",
    Elemental Parameter { number: i64 = content("parameter_number", |m| &mut m.parameter_number), } = "parameter",
    /// `dimensions[i]` is the result dimension that corresponds to operand dimension `i`.
    Moved Broadcast {
        dimensions: Vec<i64> = assumed("dimensions", Vec::new(), |m| &mut m.dimensions),
    } = "broadcast",
    Moved Reshape = "reshape",
    /// Reinterprets the operand's memory, in the operand's layout, as an array with the result's
    /// shape and layout.
    Elemental Bitcast = "bitcast",
    /// Result dimension `i` is operand dimension `permutation[i]`.
    Moved Transpose { permutation: Vec<i64> = needed("dimensions", |m| &mut m.dimensions), } = "transpose",
    Moved Reverse { dimensions: Vec<i64> = needed("dimensions", |m| &mut m.dimensions), } = "reverse",
    Elemental Concatenate { dimension: i64 = one_of_list("dimensions", |m| &mut m.dimensions), } = "concatenate",
    Moved Slice { dims: Vec<SliceDim> = needed("slice", |m| &mut m.slice_dimensions), } = "slice",
    /// Operands: value, padding value.
    Elemental Pad {
        dims: Vec<PaddingDim> = needed("padding", |m| &mut m.padding_config.get_or_insert_default().dimensions),
    } = "pad",
    /// Operands: value, one scalar start per dimension. Starts are clamped.
    Moved DynamicSlice {
        sizes: Vec<i64> = needed("dynamic_slice_sizes", |m| &mut m.dynamic_slice_sizes),
    } = "dynamic-slice",
    /// Operands: value, update, one scalar start per dimension. Starts are clamped.
    Elemental DynamicUpdateSlice = "dynamic-update-slice",
    Moved Gather(dims: GatherDims) = "gather",
    /// Operands: n arrays, indices, n updates.
    Whole Scatter { dims: ScatterDims = All, to_apply: ComputationId = Callee("to_apply"), } = "scatter",
    /// Operands: n arrays, n initial values. The result is a tuple if n > 1.
    Elemental Reduce {
        dimensions: Vec<i64> = needed("dimensions", |m| &mut m.dimensions),
        to_apply: ComputationId = Callee("to_apply"),
    } = "reduce",
    /// Operands: n arrays, n initial values. The result is a tuple if n > 1.
    Elemental ReduceWindow {
        window: Window = optional("window", |m| &mut m.window),
        to_apply: ComputationId = Callee("to_apply"),
    } = "reduce-window",
    /// Operands: array, source, initial value.
    Elemental SelectAndScatter {
        window: Window = optional("window", |m| &mut m.window),
        select: ComputationId = Callee("select"),
        scatter: ComputationId = Callee("scatter"),
    } = "select-and-scatter",
    Elementwise Map {
        dimensions: Vec<i64> = assumed("dimensions", Vec::new(), |m| &mut m.dimensions),
        to_apply: ComputationId = Callee("to_apply"),
    } = "map",
    /// Operands: arrays, then initial carries. Result: tuple of outputs, then carries.
    Whole Scan {
        dimension: i64 = one_of_list("dimensions", |m| &mut m.dimensions),
        num_carries: i64 = needed("num_carries", |m| &mut m.num_carries),
        is_reverse: bool = optional("is_reverse", |m| &mut m.is_reverse),
        is_associative: bool = optional("is_associative", |m| &mut m.is_associative),
        to_apply: ComputationId = Callee("to_apply"),
    } = "scan",
    Whole Sort {
        dimension: i64 = one_of_list("dimensions", |m| &mut m.dimensions),
        is_stable: bool = optional("is_stable", |m| &mut m.is_stable),
        to_apply: ComputationId = Callee("to_apply"),
    } = "sort",
    Whole Topk {
        k: i64 = needed("k", |m| &mut m.k),
        largest: bool = assumed("largest", true, |m| &mut m.largest),
        is_stable: bool = optional("is_stable", |m| &mut m.is_stable),
    } = "topk",
    Elemental Dot(dims: DotDims) = "dot",
    Whole RaggedDot {
        dims: DotDims = All,
        lhs_ragged_dims: Vec<i64> = optional("lhs_ragged_dims", |m| &mut m.ragged_dot().lhs_ragged_dimensions),
        rhs_group_dims: Vec<i64> = optional("rhs_group_dims", |m| &mut m.ragged_dot().rhs_group_dimensions),
    } = "ragged-dot",
    Whole ScaledDot(dims: DotDims) = "scaled-dot",
    Elemental Convolution(attributes: Box<ConvolutionAttrs>) = "convolution",
    Whole Fft {
        kind: FftType = needed("fft_type", |m| &mut m.fft_type),
        length: Vec<i64> = needed("fft_length", |m| &mut m.fft_length),
    } = "fft",
    Whole Cholesky {
        lower: bool = optional("lower", |m| &mut m.cholesky_options.get_or_insert_default().lower),
    } = "cholesky",
    Whole TriangularSolve {
        left_side: bool = optional("left_side", |m| &mut m.triangular_solve().left_side),
        lower: bool = optional("lower", |m| &mut m.triangular_solve().lower),
        unit_diagonal: bool = optional("unit_diagonal", |m| &mut m.triangular_solve().unit_diagonal),
        transpose_a: Transpose = assumed("transpose_a", Transpose::None, |m| m.triangular_solve()),
    } = "triangular-solve",
    Whole BatchNormTraining {
        epsilon: f32 = needed("epsilon", |m| &mut m.epsilon),
        feature_index: i64 = needed("feature_index", |m| &mut m.feature_index),
    } = "batch-norm-training",
    Whole BatchNormInference {
        epsilon: f32 = needed("epsilon", |m| &mut m.epsilon),
        feature_index: i64 = needed("feature_index", |m| &mut m.feature_index),
    } = "batch-norm-inference",
    Whole BatchNormGrad {
        epsilon: f32 = needed("epsilon", |m| &mut m.epsilon),
        feature_index: i64 = needed("feature_index", |m| &mut m.feature_index),
    } = "batch-norm-grad",
    Whole Rng { distribution: RandomDistribution = needed("distribution", |m| &mut m.distribution), } = "rng",
    Whole RngBitGenerator {
        algorithm: RandomAlgorithm = needed("algorithm", |m| &mut m.rng_algorithm),
    } = "rng-bit-generator",
    Whole RngGetAndUpdateState { delta: i64 = needed("delta", |m| &mut m.delta), } = "rng-get-and-update-state",
    Whole While {
        condition: ComputationId = Callee("condition"),
        body: ComputationId = Callee("body"),
    } = "while",
    /// The first operand is a predicate (`pred[]`) or a branch index (`s32[]`). A true predicate
    /// selects branch 0. A branch index out of range selects the last branch. The other operands
    /// are one argument per branch.
    Whole Conditional { branches: Vec<ComputationId> = Callees("branch_computations", true), } = "conditional",
    Whole Call { to_apply: ComputationId = Callee("to_apply"), } = "call",
    Whole Fusion {
        kind: FusionKind = needed("kind", |m| &mut m.fusion_kind),
        calls: ComputationId = Callee("calls"),
    } = "fusion",
    Whole CustomCall(attributes: Box<CustomCallAttrs>) = "custom-call",
    Whole Tuple = "tuple",
    Elemental GetTupleElement { index: i64 = needed("index", |m| &mut m.tuple_index), } = "get-tuple-element",
    Elemental OptBarrier = "opt-barrier",
    Whole AfterAll = "after-all",
    Whole AddDependency = "add-dependency",
    Elementwise Copy = "copy",
    Elemental GetDimensionSize {
        dimension: i64 = one_of_list("dimensions", |m| &mut m.dimensions),
    } = "get-dimension-size",
    Whole SetDimensionSize {
        dimension: i64 = one_of_list("dimensions", |m| &mut m.dimensions),
    } = "set-dimension-size",
    Whole PartitionId = "partition-id",
    Whole ReplicaId = "replica-id",
}

/// Collects the computations that an operation calls.
struct Called(Vec<ComputationId>);

impl BinaryOp {
    /// Whether the operands may be swapped.
    pub fn is_commutative(self) -> bool {
        use BinaryOp::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
        matches!(self, Add | Multiply | Maximum | Minimum | And | Or | Xor)
    }
}

impl Op {
    /// Whether each element of the result depends only on the operands' elements at the same
    /// position. An operand with one element is used at every position.
    pub fn is_elementwise(&self) -> bool {
        self.elements() == Elements::Elementwise
    }

    /// Whether each element of the result is a copy of an element at another position of the first
    /// operand.
    pub fn is_movement(&self) -> bool {
        self.elements() == Elements::Moved
    }

    /// Whether the elements are constants, positions, or repetitions of other elements. A kernel
    /// that needs such an array does not read it from memory.
    pub fn is_generated(&self) -> bool {
        matches!(self, Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. })
    }

    /// Whether the operation keeps the row-major order of elements and only changes the dimensions.
    /// A bitcast may also change the element type.
    pub fn is_reshape(&self) -> bool {
        matches!(self, Op::Reshape | Op::Bitcast)
    }

    /// Returns the number of the first operand that contains the indices at which the operation
    /// reads or replaces elements. All later operands also contain indices. `None` for a scatter,
    /// which computes all elements together.
    pub fn first_index(&self) -> Option<usize> {
        match self {
            Op::DynamicSlice { .. } | Op::Gather(_) => Some(1),
            Op::DynamicUpdateSlice => Some(2),
            _ => None,
        }
    }

    /// Whether each element of the result can be computed from the operands without computing other
    /// elements of the result. Subgraph functions can compute elemental operations for emitters.
    /// Elements of a scatter, a sort or an FFT are computed together.
    pub fn is_elemental(&self) -> bool {
        self.elements() != Elements::Whole
    }

    /// Returns the computations that the operation calls, in attribute order.
    pub fn called(&self) -> Vec<ComputationId> {
        let mut called = Called(Vec::new());
        self.write(&mut called);
        called.0
    }

    /// Returns the computation that the operation applies to elements. The parameters and the
    /// result of this computation are scalars.
    pub fn applied(&self) -> Option<ComputationId> {
        match self {
            Op::Call { .. } | Op::Fusion { .. } | Op::While { .. } | Op::Conditional { .. } => None,
            Op::CustomCall(_) | Op::Other { .. } => None,
            // A select-and-scatter names the selecting computation first and the combiner last.
            _ => self.called().pop(),
        }
    }
}

impl Writer for Called {
    fn attribute<T, F>(&mut self, _attribute: Attribute<T, F>, _value: &T) {}

    fn computation(&mut self, _name: &str, id: ComputationId) {
        self.0.push(id);
    }

    fn computations(&mut self, _name: &str, ids: &[ComputationId]) {
        self.0.extend_from_slice(ids);
    }
}
