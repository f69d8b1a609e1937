//! Message fields into operations.

use super::data;
use super::literals::read_literal;
use super::module::Instruction;
use super::shapes::read_shape;
use super::text_attributes::{algorithm_name, aliasing_text, api_version_name, other_attributes};
use crate::hlo::{
    BinaryOp, ComputationId, ConvDims, ConvolutionAttrs, CustomCallAttrs, DotDims, FftType, FusionKind, GatherDims, Op,
    Opcode, PaddingDim, RandomAlgorithm, RandomDistribution, ScatterDims, Shape, SliceDim, Transpose, UnaryOp, Window,
    WindowDim,
};

/// Reads the operation of a message; `called` are its computations.
pub(super) fn read_op(message: &mut Instruction, called: &[ComputationId]) -> Result<Op, String> {
    let opcode: Opcode = message.opcode.parse().map_err(|()| format!("unknown opcode `{}`", message.opcode))?;
    if let Some(op) = UnaryOp::from_opcode(opcode) {
        return Ok(Op::Unary(op));
    }
    if let Some(op) = BinaryOp::from_opcode(opcode) {
        return Ok(Op::Binary(op));
    }
    let callee = |position: usize| {
        let missing = || format!("{opcode} calls {} computations, needs more", called.len());
        called.get(position).copied().ok_or_else(missing)
    };
    let dimensions = message.dimensions.clone();
    let one_dimension = || match dimensions[..] {
        [only] => Ok(only),
        _ => Err(format!("{opcode} takes one dimension, has {}", dimensions.len())),
    };
    Ok(match opcode {
        Opcode::Compare => Op::Compare {
            direction: named(&message.comparison_direction, "comparison direction")?,
            order: match message.comparison_type.as_str() {
                "" => None,
                order => Some(named(order, "comparison type")?),
            },
        },
        Opcode::Select => Op::Select,
        Opcode::Clamp => Op::Clamp,
        Opcode::Convert => Op::Convert,
        Opcode::BitcastConvert => Op::BitcastConvert,
        Opcode::StochasticConvert => Op::StochasticConvert,
        Opcode::ReducePrecision => Op::ReducePrecision {
            exponent_bits: message.exponent_bits.into(),
            mantissa_bits: message.mantissa_bits.into(),
        },
        Opcode::Constant => Op::Constant(read_literal(message.literal.take().ok_or("a constant has no literal")?)?),
        Opcode::Iota => Op::Iota { dimension: one_dimension()? },
        Opcode::Parameter => Op::Parameter { number: message.parameter_number },
        Opcode::Broadcast => Op::Broadcast { dimensions },
        Opcode::Reshape => Op::Reshape,
        Opcode::Bitcast => Op::Bitcast,
        Opcode::Transpose => Op::Transpose { permutation: dimensions },
        Opcode::Reverse => Op::Reverse { dimensions },
        Opcode::Concatenate => Op::Concatenate { dimension: one_dimension()? },
        Opcode::Slice => Op::Slice { dims: slice_dims(message) },
        Opcode::Pad => Op::Pad { dims: padding_dims(message) },
        Opcode::DynamicSlice => Op::DynamicSlice { sizes: message.dynamic_slice_sizes.clone() },
        Opcode::DynamicUpdateSlice => Op::DynamicUpdateSlice,
        Opcode::Gather => Op::Gather(gather_dims(message)),
        Opcode::Scatter => Op::Scatter { dims: scatter_dims(message), to_apply: callee(0)? },
        Opcode::Reduce => Op::Reduce { dimensions, to_apply: callee(0)? },
        Opcode::ReduceWindow => Op::ReduceWindow { window: window(message), to_apply: callee(0)? },
        Opcode::SelectAndScatter => {
            Op::SelectAndScatter { window: window(message), select: callee(0)?, scatter: callee(1)? }
        }
        Opcode::Map => Op::Map { dimensions, to_apply: callee(0)? },
        Opcode::Scan => Op::Scan {
            dimension: one_dimension()?,
            num_carries: message.num_carries,
            is_reverse: message.is_reverse,
            is_associative: message.is_associative == 1,
            to_apply: callee(0)?,
        },
        Opcode::Sort => Op::Sort { dimension: one_dimension()?, is_stable: message.is_stable, to_apply: callee(0)? },
        Opcode::Topk => Op::Topk { k: message.k, largest: message.largest, is_stable: message.is_stable },
        Opcode::Dot => Op::Dot(dot_dims(message, message.dot_dimension_numbers.as_ref())),
        Opcode::ScaledDot => Op::ScaledDot(dot_dims(message, message.dot_dimension_numbers.as_ref())),
        Opcode::RaggedDot => ragged_dot(message),
        Opcode::Convolution => Op::Convolution(Box::new(convolution(message))),
        Opcode::Fft => {
            Op::Fft { kind: numbered(FftType::ALL, message.fft_type, "fft type")?, length: message.fft_length.clone() }
        }
        Opcode::Cholesky => {
            Op::Cholesky { lower: message.cholesky_options.as_ref().is_some_and(|options| options.lower) }
        }
        Opcode::TriangularSolve => triangular_solve(message)?,
        Opcode::BatchNormTraining => {
            Op::BatchNormTraining { epsilon: message.epsilon, feature_index: message.feature_index }
        }
        Opcode::BatchNormInference => {
            Op::BatchNormInference { epsilon: message.epsilon, feature_index: message.feature_index }
        }
        Opcode::BatchNormGrad => Op::BatchNormGrad { epsilon: message.epsilon, feature_index: message.feature_index },
        Opcode::Rng => Op::Rng {
            distribution: numbered(RandomDistribution::ALL, message.distribution - 1, "random distribution")?,
        },
        Opcode::RngBitGenerator => Op::RngBitGenerator {
            algorithm: numbered(RandomAlgorithm::ALL, message.rng_algorithm, "random algorithm")?,
        },
        Opcode::RngGetAndUpdateState => Op::RngGetAndUpdateState { delta: message.delta },
        // The body comes first.
        Opcode::While => Op::While { condition: callee(1)?, body: callee(0)? },
        Opcode::Conditional => Op::Conditional { branches: called.to_vec() },
        Opcode::Call => Op::Call { to_apply: callee(0)? },
        Opcode::Fusion => {
            Op::Fusion { kind: named::<FusionKind>(&message.fusion_kind, "fusion kind")?, calls: callee(0)? }
        }
        Opcode::CustomCall => Op::CustomCall(Box::new(custom_call(message, called)?)),
        Opcode::Tuple => Op::Tuple,
        Opcode::GetTupleElement => Op::GetTupleElement { index: message.tuple_index },
        Opcode::OptBarrier => Op::OptBarrier,
        Opcode::AfterAll => Op::AfterAll,
        Opcode::AddDependency => Op::AddDependency,
        Opcode::Copy => Op::Copy,
        Opcode::GetDimensionSize => Op::GetDimensionSize { dimension: one_dimension()? },
        Opcode::SetDimensionSize => Op::SetDimensionSize { dimension: one_dimension()? },
        Opcode::PartitionId => Op::PartitionId,
        Opcode::ReplicaId => Op::ReplicaId,
        _ => other(opcode, message, called),
    })
}

/// The order in which an operation's computations stand in a message.
pub(super) fn called_in_message_order(op: &Op) -> Vec<ComputationId> {
    match op {
        Op::While { condition, body } => vec![*body, *condition],
        other => other.called(),
    }
}

fn named<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("unknown {what} `{text}`"))
}

fn numbered<T: Copy>(all: &[T], number: i32, what: &str) -> Result<T, String> {
    let found = usize::try_from(number).ok().and_then(|number| all.get(number));
    found.copied().ok_or_else(|| format!("unknown {what} {number}"))
}

fn slice_dims(message: &Instruction) -> Vec<SliceDim> {
    let dim = |dim: &super::module::SliceDimension| SliceDim { start: dim.start, limit: dim.limit, stride: dim.stride };
    message.slice_dimensions.iter().map(dim).collect()
}

fn padding_dims(message: &Instruction) -> Vec<PaddingDim> {
    let dim = |dim: &data::PaddingDimension| PaddingDim {
        low: dim.edge_padding_low,
        high: dim.edge_padding_high,
        interior: dim.interior_padding,
    };
    message.padding_config.iter().flat_map(|config| &config.dimensions).map(dim).collect()
}

fn window(message: &Instruction) -> Window {
    let dim = |dim: &data::WindowDimension| WindowDim {
        size: dim.size,
        stride: dim.stride,
        padding_low: dim.padding_low,
        padding_high: dim.padding_high,
        window_dilation: dim.window_dilation,
        base_dilation: dim.base_dilation,
        reversal: dim.window_reversal,
    };
    Window { dims: message.window.iter().flat_map(|window| &window.dimensions).map(dim).collect() }
}

fn gather_dims(message: &Instruction) -> GatherDims {
    let dims = message.gather_dimension_numbers.clone().unwrap_or_default();
    GatherDims {
        offset_dims: dims.offset_dims,
        collapsed_slice_dims: dims.collapsed_slice_dims,
        start_index_map: dims.start_index_map,
        index_vector_dim: dims.index_vector_dim,
        operand_batching_dims: dims.operand_batching_dims,
        start_indices_batching_dims: dims.start_indices_batching_dims,
        slice_sizes: message.gather_slice_sizes.clone(),
        indices_are_sorted: message.indices_are_sorted,
    }
}

fn scatter_dims(message: &Instruction) -> ScatterDims {
    let dims = message.scatter_dimension_numbers.clone().unwrap_or_default();
    ScatterDims {
        update_window_dims: dims.update_window_dims,
        inserted_window_dims: dims.inserted_window_dims,
        scatter_dims_to_operand_dims: dims.scatter_dims_to_operand_dims,
        index_vector_dim: dims.index_vector_dim,
        input_batching_dims: dims.input_batching_dims,
        scatter_indices_batching_dims: dims.scatter_indices_batching_dims,
        indices_are_sorted: message.indices_are_sorted,
        unique_indices: message.unique_indices,
    }
}

fn dot_dims(message: &Instruction, dims: Option<&data::DotDimensions>) -> DotDims {
    let dims = dims.cloned().unwrap_or_default();
    DotDims {
        lhs_contracting: dims.lhs_contracting_dimensions,
        rhs_contracting: dims.rhs_contracting_dimensions,
        lhs_batch: dims.lhs_batch_dimensions,
        rhs_batch: dims.rhs_batch_dimensions,
        algorithm: algorithm_name(message.precision_config.as_ref().map_or(0, |config| config.algorithm)),
    }
}

fn ragged_dot(message: &Instruction) -> Op {
    let ragged = message.ragged_dot_dimension_numbers.clone().unwrap_or_default();
    Op::RaggedDot {
        dims: dot_dims(message, ragged.dot_dimension_numbers.as_ref()),
        lhs_ragged_dims: ragged.lhs_ragged_dimensions,
        rhs_group_dims: ragged.rhs_group_dimensions,
    }
}

fn convolution(message: &Instruction) -> ConvolutionAttrs {
    let dims = message.convolution_dimension_numbers.clone().unwrap_or_default();
    ConvolutionAttrs {
        window: window(message),
        dims: ConvDims {
            input_batch: dims.input_batch_dimension,
            input_feature: dims.input_feature_dimension,
            input_spatial: dims.input_spatial_dimensions,
            kernel_input_feature: dims.kernel_input_feature_dimension,
            kernel_output_feature: dims.kernel_output_feature_dimension,
            kernel_spatial: dims.kernel_spatial_dimensions,
            output_batch: dims.output_batch_dimension,
            output_feature: dims.output_feature_dimension,
            output_spatial: dims.output_spatial_dimensions,
        },
        // Zero means the field was not written.
        feature_group_count: if message.feature_group_count == 0 { 1 } else { message.feature_group_count },
        batch_group_count: if message.batch_group_count == 0 { 1 } else { message.batch_group_count },
    }
}

fn triangular_solve(message: &Instruction) -> Result<Op, String> {
    let options = message.triangular_solve_options.clone().unwrap_or_default();
    Ok(Op::TriangularSolve {
        left_side: options.left_side,
        lower: options.lower,
        unit_diagonal: options.unit_diagonal,
        transpose_a: numbered(Transpose::ALL, options.transpose_a.max(1) - 1, "transpose")?,
    })
}

fn custom_call(message: &Instruction, called: &[ComputationId]) -> Result<CustomCallAttrs, String> {
    let layouts: Vec<Shape> = message.operand_shapes_with_layout.iter().map(read_shape).collect::<Result<_, _>>()?;
    Ok(CustomCallAttrs {
        target: message.custom_call_target.clone(),
        called: called.to_vec(),
        has_side_effect: message.custom_call_has_side_effect,
        api_version: api_version_name(message.custom_call_api_version),
        output_to_operand_aliasing: aliasing_text(&message.output_operand_aliasing),
        operand_layouts: message.constrain_layout.then_some(layouts),
    })
}

fn other(opcode: Opcode, message: &Instruction, called: &[ComputationId]) -> Op {
    let name = match opcode {
        Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone => "calls",
        _ if called.len() > 1 => "called_computations",
        _ => "to_apply",
    };
    let called = if called.is_empty() { Vec::new() } else { vec![(name.to_owned(), called.to_vec())] };
    Op::Other { opcode, called, attributes: other_attributes(message) }
}
