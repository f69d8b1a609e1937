//! The list of operations of the kernel IR.

/// The effect that an operation has besides computing its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No effect. If two operations without effect are equal, passes merge them. If an operation
    /// without effect is unused, passes remove it.
    None,
    /// The operation has the effects of the operations in its regions.
    OfRegions,
    /// The operation allocates memory. Passes never merge the operation with another one.
    Allocates,
    /// The operation reads or writes memory, or waits for other threads. Passes never merge, move
    /// or remove the operation.
    Memory,
    /// The operation terminates a region.
    Ends,
}

/// The types of an operation's operands and results. Every form except `Own` is common to several
/// operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Two integers of one type. Indices, and vectors of integers or indices, count as integers.
    /// The result has the operands' type.
    IntBinary,
    /// One integer. The result has the operand's type.
    IntUnary,
    /// Two floats of one type. The result has the operands' type.
    FloatBinary,
    /// One float. The result has the operand's type.
    FloatUnary,
    /// One float. The result is an `i1`.
    FloatTest,
    /// Three floats of one type. The result has the operands' type.
    FloatTernary,
    /// Conversion of an integer to an integer with more bits.
    WidenInt,
    /// Conversion of an integer to an integer with fewer bits.
    NarrowInt,
    /// Conversion of a float to a float with more bits.
    WidenFloat,
    /// Conversion of a float to a float with fewer bits.
    NarrowFloat,
    /// Conversion of an integer to a float.
    IntToFloat,
    /// Conversion of a float to an integer.
    FloatToInt,
    /// Conversion between `index` and an integer.
    IndexCast,
    /// Conversion to another type with the same number of bits.
    SameBits,
    /// Two integers of one type. The two results have the operands' type, and are the halves of a
    /// product.
    IntProduct,
    /// No operands. The result is a tensor.
    NewTensor,
    /// No operands. The result is a pointer to memory whose size is an attribute.
    NewMemory,
    /// Product of tile registers.
    TileProduct,
    /// Transfer between a tensor and a tile register.
    TileTransfer,
    /// Neither operands nor results. The attribute `site` states the operation's position in the
    /// kernel.
    Signal,
    /// Types that only this operation has. The verifier contains a separate rule for the operation.
    Own,
}

/// Passes all rows to a macro, which generates code from them.
///
/// A row is `variant = name, form, effect`, followed by documentation for callers of the builder.
/// For each row with documentation, the builder has a method with the operation's name.
macro_rules! table {
    ($make:ident) => {
        $make! {
            // Integers and indices.
            Constant = arith.constant, Own, None;
            AddI = arith.addi, IntBinary, None, "sum, modulo two to the width.";
            SubI = arith.subi, IntBinary, None, "difference, modulo two to the width.";
            MulI = arith.muli, IntBinary, None, "product, modulo two to the width.";
            DivSI = arith.divsi, IntBinary, None, "signed quotient, towards zero; the divisor is not zero.";
            DivUI = arith.divui, IntBinary, None, "unsigned quotient; the divisor is not zero.";
            RemSI = arith.remsi, IntBinary, None, "signed remainder, sign of the dividend; the divisor is not zero.";
            RemUI = arith.remui, IntBinary, None, "unsigned remainder; the divisor is not zero.";
            FloorDivSI = arith.floordivsi, IntBinary, None, "signed quotient, towards minus infinity.";
            CeilDivSI = arith.ceildivsi, IntBinary, None, "signed quotient, towards plus infinity.";
            AndI = arith.andi, IntBinary, None, "bitwise and.";
            OrI = arith.ori, IntBinary, None, "bitwise or.";
            XorI = arith.xori, IntBinary, None, "bitwise exclusive or.";
            ShlI = arith.shli, IntBinary, None, "shift left; the amount is below the width.";
            ShrSI = arith.shrsi, IntBinary, None, "shift right, copies of the sign come in; the amount is below the width.";
            ShrUI = arith.shrui, IntBinary, None, "shift right, zeros come in; the amount is below the width.";
            MaxSI = arith.maxsi, IntBinary, None, "signed maximum.";
            MaxUI = arith.maxui, IntBinary, None, "unsigned maximum.";
            MinSI = arith.minsi, IntBinary, None, "signed minimum.";
            MinUI = arith.minui, IntBinary, None, "unsigned minimum.";
            MulSIExtended = arith.mulsi_extended, IntProduct, None;
            MulUIExtended = arith.mului_extended, IntProduct, None;
            CmpI = arith.cmpi, Own, None;
            // Floats.
            AddF = arith.addf, FloatBinary, None, "sum.";
            SubF = arith.subf, FloatBinary, None, "difference.";
            MulF = arith.mulf, FloatBinary, None, "product.";
            DivF = arith.divf, FloatBinary, None, "quotient.";
            RemF = arith.remf, FloatBinary, None, "remainder, sign of the dividend.";
            MaximumF = arith.maximumf, FloatBinary, None, "maximum, NaN if an operand is NaN.";
            MinimumF = arith.minimumf, FloatBinary, None, "minimum, NaN if an operand is NaN.";
            MaxNumF = arith.maxnumf, FloatBinary, None, "maximum, the other operand if one is NaN.";
            MinNumF = arith.minnumf, FloatBinary, None, "minimum, the other operand if one is NaN.";
            NegF = arith.negf, FloatUnary, None, "the sign flipped.";
            CmpF = arith.cmpf, Own, None;
            // Values of any type.
            Select = arith.select, Own, None;
            // Conversions.
            ExtSI = arith.extsi, WidenInt, None, "to a wider integer, copies of the sign come in.";
            ExtUI = arith.extui, WidenInt, None, "to a wider integer, zeros come in.";
            TruncI = arith.trunci, NarrowInt, None, "to a narrower integer, the upper bits go.";
            ExtF = arith.extf, WidenFloat, None, "to a wider float.";
            TruncF = arith.truncf, NarrowFloat, None, "to a narrower float, rounded to nearest even.";
            SIToFP = arith.sitofp, IntToFloat, None, "signed integer to float.";
            UIToFP = arith.uitofp, IntToFloat, None, "unsigned integer to float.";
            FPToSI = arith.fptosi, FloatToInt, None, "float to signed integer, towards zero; out of range is undefined.";
            FPToUI = arith.fptoui, FloatToInt, None, "float to unsigned integer, towards zero; out of range is undefined.";
            IndexCast = arith.index_cast, IndexCast, None, "between `index` and a signed integer.";
            IndexCastUI = arith.index_castui, IndexCast, None, "between `index` and an unsigned integer.";
            Bitcast = arith.bitcast, SameBits, None, "the same bits as another type of that width.";
            // Exact functions.
            AbsF = math.absf, FloatUnary, None, "magnitude.";
            Sqrt = math.sqrt, FloatUnary, None, "square root, rounded correctly.";
            Floor = math.floor, FloatUnary, None, "the next whole number below.";
            Ceil = math.ceil, FloatUnary, None, "the next whole number above.";
            Trunc = math.trunc, FloatUnary, None, "the next whole number towards zero.";
            Round = math.round, FloatUnary, None, "the nearest whole number, halves away from zero.";
            RoundEven = math.roundeven, FloatUnary, None, "the nearest whole number, halves to the even one.";
            CopySign = math.copysign, FloatBinary, None, "the magnitude of the first with the sign of the second.";
            Fma = math.fma, FloatTernary, None;
            IsNan = math.isnan, FloatTest, None, "whether it is NaN.";
            IsInf = math.isinf, FloatTest, None, "whether it is infinite.";
            IsFinite = math.isfinite, FloatTest, None, "whether it is neither infinite nor NaN.";
            AbsI = math.absi, IntUnary, None, "magnitude; that of the smallest number is itself.";
            CtPop = math.ctpop, IntUnary, None, "number of bits that are one.";
            Ctlz = math.ctlz, IntUnary, None, "number of zeros before the highest one.";
            Cttz = math.cttz, IntUnary, None, "number of zeros after the lowest one.";
            // Functions that the math library approximates.
            Exp = math.exp, FloatUnary, None, "e to the power.";
            Exp2 = math.exp2, FloatUnary, None, "two to the power.";
            Expm1 = math.expm1, FloatUnary, None, "e to the power, less one.";
            Log = math.log, FloatUnary, None, "natural logarithm.";
            Log2 = math.log2, FloatUnary, None, "logarithm to base two.";
            Log10 = math.log10, FloatUnary, None, "logarithm to base ten.";
            Log1p = math.log1p, FloatUnary, None, "natural logarithm of one more.";
            Sin = math.sin, FloatUnary, None, "sine.";
            Cos = math.cos, FloatUnary, None, "cosine.";
            Tan = math.tan, FloatUnary, None, "tangent.";
            Sinh = math.sinh, FloatUnary, None, "hyperbolic sine.";
            Cosh = math.cosh, FloatUnary, None, "hyperbolic cosine.";
            Tanh = math.tanh, FloatUnary, None, "hyperbolic tangent.";
            Asin = math.asin, FloatUnary, None, "inverse sine.";
            Acos = math.acos, FloatUnary, None, "inverse cosine.";
            Atan = math.atan, FloatUnary, None, "inverse tangent.";
            Atan2 = math.atan2, FloatBinary, None, "angle of the point whose height comes first.";
            Asinh = math.asinh, FloatUnary, None, "inverse hyperbolic sine.";
            Acosh = math.acosh, FloatUnary, None, "inverse hyperbolic cosine.";
            Atanh = math.atanh, FloatUnary, None, "inverse hyperbolic tangent.";
            PowF = math.powf, FloatBinary, None, "the first to the power of the second.";
            Cbrt = math.cbrt, FloatUnary, None, "cube root.";
            Rsqrt = math.rsqrt, FloatUnary, None, "one by the square root.";
            Erf = math.erf, FloatUnary, None, "error function.";
            Erfc = math.erfc, FloatUnary, None, "one less the error function.";
            // Complex numbers.
            ComplexCreate = complex.create, Own, None;
            ComplexConstant = complex.constant, Own, None;
            ComplexRe = complex.re, Own, None;
            ComplexIm = complex.im, Own, None;
            // Tensors.
            Extract = tensor.extract, Own, None;
            Insert = tensor.insert, Own, None;
            Empty = tensor.empty, NewTensor, Allocates;
            // Vectors.
            TransferRead = vector.transfer_read, Own, None;
            TransferWrite = vector.transfer_write, Own, None;
            FromElements = vector.from_elements, Own, None;
            Broadcast = vector.broadcast, Own, None;
            VectorExtract = vector.extract, Own, None;
            VectorInsert = vector.insert, Own, None;
            Shuffle = vector.shuffle, Own, None;
            VectorFma = vector.fma, FloatTernary, None;
            Reduction = vector.reduction, Own, None;
            WordMulF = xla_gpu.word_mulf, Own, None;
            WordMulI = xla_gpu.word_muli, Own, None;
            // Tile registers.
            TileZero = amx.tile_zero, Own, Allocates;
            TileMulF = amx.tile_mulf, TileProduct, None;
            TileMulI = amx.tile_muli, TileProduct, None;
            ReadTile = xla_gpu.read_tile, TileTransfer, None;
            WriteTile = xla_gpu.write_tile, TileTransfer, None;
            // Control.
            For = scf.for, Own, OfRegions;
            If = scf.if, Own, OfRegions;
            While = scf.while, Own, OfRegions;
            IndexSwitch = scf.index_switch, Own, OfRegions;
            Yield = scf.yield, Own, Ends;
            Condition = scf.condition, Own, Ends;
            Return = func.return, Own, Ends;
            Call = func.call, Own, Memory;
            // Threads and blocks.
            ThreadId = gpu.thread_id, Own, None;
            BlockId = gpu.block_id, Own, None;
            PureCall = xla_gpu.pure_call, Own, None;
            ApplyIndexing = xla_gpu.apply_indexing, Own, None;
            Loop = xla_gpu.loop, Own, OfRegions;
            LoopYield = xla_gpu.yield, Own, Ends;
            PredicatedExtract = xla_gpu.predicated_extract, Own, None;
            PredicatedInsert = xla_gpu.predicated_insert, Own, None;
            AllocateShared = xla_gpu.allocate_shared, NewTensor, Allocates;
            SyncThreads = xla_gpu.sync_threads, Own, Memory;
            ShuffleReduce = xla_gpu.shuffle_reduce, Own, Memory;
            AtomicRmw = xla_gpu.atomic_rmw, Own, Memory;
            Mma = xla_gpu.mma, Own, Memory;
            Wgmma = xla_gpu.wgmma, Own, Memory;
            // Lowering creates these operations from tensor operations, and from operations that
            // several threads execute together. Emitters do not use these operations.
            Load = xla_gpu.load, Own, Memory;
            Store = xla_gpu.store, Own, Memory;
            StackMemory = xla_gpu.stack_memory, NewMemory, Allocates;
            SharedMemory = xla_gpu.shared_memory, NewMemory, Allocates;
            ConstantMemory = xla_gpu.constant_memory, Own, Allocates;
            AtomicCombine = xla_gpu.atomic_combine, Own, Memory;
            AtomicStore = xla_gpu.atomic_store, Own, Memory;
            Barrier = xla_gpu.barrier, Signal, Memory;
            ShuffleDown = xla_gpu.shuffle_down, Own, Memory;
            ReportAccess = xla_gpu.report_access, Own, Memory;
            ReportIndex = xla_gpu.report_index, Own, Memory;
            ReportTurn = xla_gpu.report_turn, Signal, Memory;
            ReportDivision = xla_gpu.report_division, Signal, Memory;
        }
    };
}
pub(crate) use table;

macro_rules! operations {
    ($($variant:ident = $dialect:ident.$name:ident, $form:ident, $effect:ident $(, $words:literal)?;)*) => {
        /// An operation of the kernel IR.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum OpKind { $(#[doc = concat!("`", stringify!($dialect.$name), "`" $(, ": ", $words)?)] $variant,)* }

        impl OpKind {
            /// All operations.
            pub const ALL: &[OpKind] = &[$(OpKind::$variant,)*];

            /// Returns MLIR's name, with the dialect.
            pub const fn name(self) -> &'static str {
                match self { $(OpKind::$variant => concat!(stringify!($dialect), ".", stringify!($name)),)* }
            }

            /// Returns the effect that the operation has besides computing its results.
            pub const fn effect(self) -> Effect {
                match self { $(OpKind::$variant => Effect::$effect,)* }
            }

            /// Returns the form of the operation's operands and results.
            pub const fn form(self) -> Form {
                match self { $(OpKind::$variant => Form::$form,)* }
            }

            /// Returns the operation with this name.
            pub fn of_name(name: &str) -> Option<OpKind> {
                Some(match name {
                    $(concat!(stringify!($dialect), ".", stringify!($name)) => OpKind::$variant,)*
                    _ => return None,
                })
            }
        }
    };
}

table!(operations);

impl OpKind {
    /// Whether the simulator can report a fault at this operation. The simulator can do so if the
    /// operation reads or writes tensors, waits for other threads, or may run forever.
    pub const fn is_reported(self) -> bool {
        use OpKind::*;
        match self {
            Extract | Insert | PredicatedExtract | PredicatedInsert | TransferRead | TransferWrite => true,
            ReadTile | WriteTile | AtomicRmw | SyncThreads | ShuffleReduce | Mma | Wgmma => true,
            For | While => true,
            _ => false,
        }
    }

    /// Whether the result is always one of the operands, possibly with another sign or rounded to
    /// an integer.
    pub const fn keeps_numbers(self) -> bool {
        use OpKind::*;
        match self {
            MaximumF | MinimumF | MaxNumF | MinNumF | NegF | Select | AbsF | CopySign => true,
            Ceil | Floor | Round | RoundEven | Trunc => true,
            _ => false,
        }
    }

    /// Whether the operation is a machine instruction whose NaN results follow a rule: each NaN
    /// result has either the bits of a NaN operand or the bits of the default NaN.
    pub const fn passes_nans(self) -> bool {
        matches!(self, OpKind::AddF | OpKind::SubF | OpKind::MulF | OpKind::DivF | OpKind::Sqrt | OpKind::Fma)
    }

    /// Whether only lowering creates this operation. Operations that only lowering creates are the
    /// last rows of the table.
    pub fn is_of_lowering(self) -> bool {
        self >= OpKind::Load
    }
}

impl std::fmt::Display for OpKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
