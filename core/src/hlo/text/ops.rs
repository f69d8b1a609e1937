//! From an opcode and its attributes to an [`Op`].

use super::attributes::{Attribute, Attributes, dim_labels, padding, slice, window};
use super::computation::Parser;
use super::lexer::Cursor;
use super::shapes::shape;
use super::source::{Fault, Parse};
use crate::hlo::{
    BinaryOp, Comparison, ComparisonType, ComputationId, ConvolutionAttrs, CustomCallAttrs, DotDims, FftType,
    FusionKind, GatherDims, Op, Opcode, RandomAlgorithm, RandomDistribution, ScatterDims, Transpose, UnaryOp, Window,
};

/// Names of all values of an enumeration, for messages.
macro_rules! names {
    ($type:ident) => {
        &$type::ALL.iter().map(|value| value.name()).collect::<Vec<_>>()
    };
}

impl<'t> Parser<'t> {
    /// The operation, except for constants and parameters, whose content stands in the parentheses.
    pub(crate) fn op(&mut self, opcode: Opcode, at: usize, attributes: &mut Attributes<'t>) -> Parse<Op> {
        if let Some(op) = UnaryOp::from_opcode(opcode) {
            return Ok(Op::Unary(op));
        }
        if let Some(op) = BinaryOp::from_opcode(opcode) {
            return Ok(Op::Binary(op));
        }
        let a = attributes;
        Ok(match opcode {
            Opcode::Compare => Op::Compare {
                direction: a.choice("direction", names!(Comparison))?,
                order: a.choice_or("type", names!(ComparisonType))?,
            },
            Opcode::Select => Op::Select,
            Opcode::Clamp => Op::Clamp,
            Opcode::Convert => Op::Convert,
            Opcode::BitcastConvert => Op::BitcastConvert,
            Opcode::StochasticConvert => Op::StochasticConvert,
            Opcode::ReducePrecision => Op::ReducePrecision {
                exponent_bits: a.integer32("exponent_bits")?,
                mantissa_bits: a.integer32("mantissa_bits")?,
            },
            Opcode::Iota => Op::Iota { dimension: a.integer("iota_dimension")? },
            Opcode::Broadcast => Op::Broadcast { dimensions: a.integers_or_empty("dimensions")? },
            Opcode::Reshape => Op::Reshape,
            Opcode::Bitcast => Op::Bitcast,
            Opcode::Transpose => Op::Transpose { permutation: a.integers("dimensions")? },
            Opcode::Reverse => Op::Reverse { dimensions: a.integers("dimensions")? },
            Opcode::Concatenate => Op::Concatenate { dimension: a.single_integer("dimensions")? },
            Opcode::Slice => Op::Slice { dims: a.needed("slice", slice)? },
            Opcode::Pad => Op::Pad { dims: a.needed("padding", padding)? },
            Opcode::DynamicSlice => Op::DynamicSlice { sizes: a.integers("dynamic_slice_sizes")? },
            Opcode::DynamicUpdateSlice => Op::DynamicUpdateSlice,
            Opcode::Gather => Op::Gather(gather(a)?),
            Opcode::Scatter => Op::Scatter { dims: scatter(a)?, to_apply: self.callee(a, "to_apply")? },
            Opcode::Reduce => {
                Op::Reduce { dimensions: a.integers("dimensions")?, to_apply: self.callee(a, "to_apply")? }
            }
            Opcode::ReduceWindow => {
                Op::ReduceWindow { window: window_or_none(a)?, to_apply: self.callee(a, "to_apply")? }
            }
            Opcode::SelectAndScatter => Op::SelectAndScatter {
                window: window_or_none(a)?,
                select: self.callee(a, "select")?,
                scatter: self.callee(a, "scatter")?,
            },
            Opcode::Map => {
                Op::Map { dimensions: a.integers_or_empty("dimensions")?, to_apply: self.callee(a, "to_apply")? }
            }
            Opcode::Scan => self.scan(a)?,
            Opcode::Sort => Op::Sort {
                dimension: a.single_integer("dimensions")?,
                is_stable: a.flag("is_stable")?,
                to_apply: self.callee(a, "to_apply")?,
            },
            Opcode::Topk => {
                Op::Topk { k: a.integer("k")?, largest: a.flag_or("largest", true)?, is_stable: a.flag("is_stable")? }
            }
            Opcode::Dot => Op::Dot(dot(a)?),
            Opcode::RaggedDot => Op::RaggedDot {
                dims: dot(a)?,
                lhs_ragged_dims: a.integers_or_empty("lhs_ragged_dims")?,
                rhs_group_dims: a.integers_or_empty("rhs_group_dims")?,
            },
            Opcode::ScaledDot => Op::ScaledDot(dot(a)?),
            Opcode::Convolution => Op::Convolution(Box::new(convolution(a)?)),
            Opcode::Fft => Op::Fft { kind: a.choice("fft_type", names!(FftType))?, length: a.integers("fft_length")? },
            Opcode::Cholesky => Op::Cholesky { lower: a.flag("lower")? },
            Opcode::TriangularSolve => triangular_solve(a)?,
            Opcode::BatchNormTraining => {
                Op::BatchNormTraining { epsilon: a.float("epsilon")?, feature_index: a.integer("feature_index")? }
            }
            Opcode::BatchNormInference => {
                Op::BatchNormInference { epsilon: a.float("epsilon")?, feature_index: a.integer("feature_index")? }
            }
            Opcode::BatchNormGrad => {
                Op::BatchNormGrad { epsilon: a.float("epsilon")?, feature_index: a.integer("feature_index")? }
            }
            Opcode::Rng => Op::Rng { distribution: a.choice("distribution", names!(RandomDistribution))? },
            Opcode::RngBitGenerator => {
                Op::RngBitGenerator { algorithm: a.choice("algorithm", names!(RandomAlgorithm))? }
            }
            Opcode::RngGetAndUpdateState => Op::RngGetAndUpdateState { delta: a.integer("delta")? },
            Opcode::While => Op::While { condition: self.callee(a, "condition")?, body: self.callee(a, "body")? },
            Opcode::Conditional => Op::Conditional { branches: self.branches(at, a)? },
            Opcode::Call => Op::Call { to_apply: self.callee(a, "to_apply")? },
            Opcode::Fusion => {
                Op::Fusion { kind: a.choice("kind", names!(FusionKind))?, calls: self.callee(a, "calls")? }
            }
            Opcode::CustomCall => Op::CustomCall(Box::new(self.custom_call(a)?)),
            Opcode::Tuple => Op::Tuple,
            Opcode::GetTupleElement => Op::GetTupleElement { index: a.integer("index")? },
            Opcode::OptBarrier => Op::OptBarrier,
            Opcode::AfterAll => Op::AfterAll,
            Opcode::AddDependency => Op::AddDependency,
            Opcode::Copy => Op::Copy,
            Opcode::GetDimensionSize => Op::GetDimensionSize { dimension: a.single_integer("dimensions")? },
            Opcode::SetDimensionSize => Op::SetDimensionSize { dimension: a.single_integer("dimensions")? },
            Opcode::PartitionId => Op::PartitionId,
            Opcode::ReplicaId => Op::ReplicaId,
            _ => self.other(opcode, a)?,
        })
    }

    /// The computation a required attribute names.
    fn callee(&mut self, attributes: &mut Attributes<'t>, name: &str) -> Parse<ComputationId> {
        let attribute = attributes.required(name)?;
        attribute.read(|value| self.computation_reference(value))
    }

    /// The computations a braced list names.
    fn callees(&mut self, value: &mut Cursor<'t>) -> Parse<Vec<ComputationId>> {
        value.expect(b'{', "before the computations")?;
        value.list(b'}', |value| self.computation_reference(value))
    }

    fn branches(&mut self, at: usize, attributes: &mut Attributes<'t>) -> Parse<Vec<ComputationId>> {
        if let Some(attribute) = attributes.take("branch_computations") {
            return attribute.read(|value| self.callees(value));
        }
        let Some(on_true) = attributes.take("true_computation") else {
            let message = "conditional needs the attribute `branch_computations`, or `true_computation` and \
                           `false_computation`";
            return Err(Fault::new(at, message));
        };
        let on_true = on_true.read(|value| self.computation_reference(value))?;
        Ok(vec![on_true, self.callee(attributes, "false_computation")?])
    }

    fn scan(&mut self, a: &mut Attributes<'t>) -> Parse<Op> {
        Ok(Op::Scan {
            dimension: a.single_integer("dimensions")?,
            num_carries: a.integer("num_carries")?,
            is_reverse: a.flag("is_reverse")?,
            is_associative: a.flag("is_associative")?,
            to_apply: self.callee(a, "to_apply")?,
        })
    }

    fn custom_call(&mut self, a: &mut Attributes<'t>) -> Parse<CustomCallAttrs> {
        let mut called = Vec::new();
        if let Some(attribute) = a.take("to_apply") {
            called.push(attribute.read(|value| self.computation_reference(value))?);
        }
        if let Some(attribute) = a.take("called_computations") {
            called.extend(attribute.read(|value| self.callees(value))?);
        }
        let operand_layouts = a.optional("operand_layout_constraints", |value| {
            value.expect(b'{', "before the operand layouts")?;
            value.list(b'}', shape)
        })?;
        Ok(CustomCallAttrs {
            target: a.needed("custom_call_target", |value| value.string("the name of the target"))?,
            called,
            has_side_effect: a.flag("custom_call_has_side_effect")?,
            api_version: a.raw("api_version"),
            output_to_operand_aliasing: a.raw("output_to_operand_aliasing"),
            operand_layouts,
        })
    }

    /// An operation that is kept as it stands. Only the attributes that name computations are read.
    fn other(&mut self, opcode: Opcode, attributes: &mut Attributes<'t>) -> Parse<Op> {
        let mut called = Vec::new();
        for name in ["to_apply", "calls", "condition", "body"] {
            if let Some(attribute) = attributes.take(name) {
                let callee = attribute.read(|value| self.computation_reference(value))?;
                called.push((name.to_owned(), vec![callee]));
            }
        }
        if let Some(attribute) = attributes.take("called_computations") {
            called.push(("called_computations".to_owned(), attribute.read(|value| self.callees(value))?));
        }
        let own = |attribute: &Attribute| (attribute.name.to_owned(), attribute.raw());
        let rest = attributes.drain().map(|attribute| own(&attribute)).collect();
        Ok(Op::Other { opcode, called, attributes: rest })
    }
}

fn window_or_none(a: &mut Attributes) -> Parse<Window> {
    Ok(a.optional("window", window)?.unwrap_or_default())
}

fn gather(a: &mut Attributes) -> Parse<GatherDims> {
    Ok(GatherDims {
        offset_dims: a.integers("offset_dims")?,
        collapsed_slice_dims: a.integers("collapsed_slice_dims")?,
        start_index_map: a.integers("start_index_map")?,
        index_vector_dim: a.integer("index_vector_dim")?,
        operand_batching_dims: a.integers_or_empty("operand_batching_dims")?,
        start_indices_batching_dims: a.integers_or_empty("start_indices_batching_dims")?,
        slice_sizes: a.integers("slice_sizes")?,
        indices_are_sorted: a.flag("indices_are_sorted")?,
    })
}

fn scatter(a: &mut Attributes) -> Parse<ScatterDims> {
    Ok(ScatterDims {
        update_window_dims: a.integers("update_window_dims")?,
        inserted_window_dims: a.integers("inserted_window_dims")?,
        scatter_dims_to_operand_dims: a.integers("scatter_dims_to_operand_dims")?,
        index_vector_dim: a.integer("index_vector_dim")?,
        input_batching_dims: a.integers_or_empty("input_batching_dims")?,
        scatter_indices_batching_dims: a.integers_or_empty("scatter_indices_batching_dims")?,
        indices_are_sorted: a.flag("indices_are_sorted")?,
        unique_indices: a.flag("unique_indices")?,
    })
}

fn dot(a: &mut Attributes) -> Parse<DotDims> {
    Ok(DotDims {
        lhs_contracting: a.integers_or_empty("lhs_contracting_dims")?,
        rhs_contracting: a.integers_or_empty("rhs_contracting_dims")?,
        lhs_batch: a.integers_or_empty("lhs_batch_dims")?,
        rhs_batch: a.integers_or_empty("rhs_batch_dims")?,
        algorithm: a.raw("algorithm"),
    })
}

fn convolution(a: &mut Attributes) -> Parse<ConvolutionAttrs> {
    Ok(ConvolutionAttrs {
        window: window_or_none(a)?,
        dims: a.needed("dim_labels", dim_labels)?,
        feature_group_count: a.integer_or("feature_group_count", 1)?,
        batch_group_count: a.integer_or("batch_group_count", 1)?,
    })
}

fn triangular_solve(a: &mut Attributes) -> Parse<Op> {
    Ok(Op::TriangularSolve {
        left_side: a.flag("left_side")?,
        lower: a.flag("lower")?,
        unit_diagonal: a.flag("unit_diagonal")?,
        transpose_a: a.choice_or("transpose_a", names!(Transpose))?.unwrap_or(Transpose::None),
    })
}

/// The attributes that an operation may carry beside those its [`Op`] holds. They are kept and
/// printed, and have no influence on the value.
pub(crate) fn kept_attributes(opcode: Opcode) -> &'static [&'static str] {
    match opcode {
        Opcode::Dot | Opcode::RaggedDot | Opcode::ScaledDot => &["operand_precision"],
        Opcode::Convolution => &["operand_precision", "algorithm", "convolution_kind", "sparsity_config"],
        Opcode::Reshape => &["inferred_dimension"],
        Opcode::Parameter => &["parameter_replication"],
        Opcode::Fusion => &["output_to_operand_aliasing"],
        Opcode::Call => &["is_composite", "output_to_operand_aliasing"],
        Opcode::CustomCall => &[
            "window",
            "dim_labels",
            "feature_group_count",
            "batch_group_count",
            "operand_precision",
            "padding_type",
            "literal",
            "schedule",
            "custom_call_schedule",
            "replica_groups",
        ],
        _ => &[],
    }
}
