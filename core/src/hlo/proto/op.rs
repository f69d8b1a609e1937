//! Operations into message fields.

use super::data;
use super::module::{Instruction, SliceDimension};
use super::shapes::write_shape;
use super::text_attributes::{API_VERSIONS, algorithm_number, parse_aliasing};
use crate::hlo::{
    ConvDims, ConvolutionAttrs, CustomCallAttrs, DotDims, FftType, GatherDims, Op, PaddingDim, RandomAlgorithm,
    RandomDistribution, ScatterDims, SliceDim, Transpose, Window, WindowDim,
};

/// Writes the fields of an operation, except for literals and called computations.
pub(super) fn write_op(message: &mut Instruction, op: &Op) {
    match op {
        Op::Compare { direction, order } => {
            message.comparison_direction = direction.name().to_owned();
            message.comparison_type = order.map_or("", |order| order.name()).to_owned();
        }
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            message.exponent_bits = *exponent_bits as i32;
            message.mantissa_bits = *mantissa_bits as i32;
        }
        Op::Iota { dimension } | Op::GetDimensionSize { dimension } | Op::SetDimensionSize { dimension } => {
            message.dimensions = vec![*dimension];
        }
        Op::Concatenate { dimension } => message.dimensions = vec![*dimension],
        Op::Parameter { number } => message.parameter_number = *number,
        Op::Broadcast { dimensions } | Op::Reverse { dimensions } => message.dimensions = dimensions.clone(),
        Op::Reduce { dimensions, .. } | Op::Map { dimensions, .. } => message.dimensions = dimensions.clone(),
        Op::Transpose { permutation } => message.dimensions = permutation.clone(),
        Op::Slice { dims } => message.slice_dimensions = dims.iter().map(slice_dimension).collect(),
        Op::Pad { dims } => message.padding_config = Some(padding_config(dims)),
        Op::DynamicSlice { sizes } => message.dynamic_slice_sizes = sizes.clone(),
        Op::Gather(dims) => write_gather(message, dims),
        Op::Scatter { dims, .. } => write_scatter(message, dims),
        Op::ReduceWindow { window, .. } | Op::SelectAndScatter { window, .. } => {
            message.window = Some(window_message(window));
        }
        Op::Scan { dimension, num_carries, is_reverse, is_associative, .. } => {
            message.dimensions = vec![*dimension];
            message.num_carries = *num_carries;
            message.is_reverse = *is_reverse;
            message.is_associative = if *is_associative { 1 } else { 2 };
        }
        Op::Sort { dimension, is_stable, .. } => {
            message.dimensions = vec![*dimension];
            message.is_stable = *is_stable;
        }
        Op::Topk { k, largest, is_stable } => {
            (message.k, message.largest, message.is_stable) = (*k, *largest, *is_stable);
        }
        Op::Dot(dims) | Op::ScaledDot(dims) => write_dot(message, dims),
        Op::RaggedDot { dims, lhs_ragged_dims, rhs_group_dims } => {
            write_dot(message, dims);
            message.ragged_dot_dimension_numbers = Some(data::RaggedDotDimensions {
                dot_dimension_numbers: message.dot_dimension_numbers.take(),
                lhs_ragged_dimensions: lhs_ragged_dims.clone(),
                rhs_group_dimensions: rhs_group_dims.clone(),
            });
        }
        Op::Convolution(attrs) => write_convolution(message, attrs),
        Op::Fft { kind, length } => {
            message.fft_type = FftType::ALL.iter().position(|known| known == kind).unwrap_or(0) as i32;
            message.fft_length = length.clone();
        }
        Op::Cholesky { lower } => message.cholesky_options = Some(data::CholeskyOptions { lower: *lower }),
        Op::TriangularSolve { left_side, lower, unit_diagonal, transpose_a } => {
            let number = Transpose::ALL.iter().position(|known| known == transpose_a).unwrap_or(0);
            message.triangular_solve_options = Some(data::TriangularSolveOptions {
                left_side: *left_side,
                lower: *lower,
                unit_diagonal: *unit_diagonal,
                transpose_a: number as i32 + 1,
            });
        }
        Op::BatchNormTraining { epsilon, feature_index }
        | Op::BatchNormInference { epsilon, feature_index }
        | Op::BatchNormGrad { epsilon, feature_index } => {
            (message.epsilon, message.feature_index) = (*epsilon, *feature_index);
        }
        Op::Rng { distribution } => {
            let number = RandomDistribution::ALL.iter().position(|known| known == distribution).unwrap_or(0);
            message.distribution = number as i32 + 1;
        }
        Op::RngBitGenerator { algorithm } => {
            message.rng_algorithm =
                RandomAlgorithm::ALL.iter().position(|known| known == algorithm).unwrap_or(0) as i32;
        }
        Op::RngGetAndUpdateState { delta } => message.delta = *delta,
        Op::Fusion { kind, .. } => message.fusion_kind = kind.name().to_owned(),
        Op::CustomCall(attrs) => write_custom_call(message, attrs),
        Op::GetTupleElement { index } => message.tuple_index = *index,
        _ => {}
    }
}

fn slice_dimension(dim: &SliceDim) -> SliceDimension {
    SliceDimension { start: dim.start, limit: dim.limit, stride: dim.stride }
}

fn padding_config(dims: &[PaddingDim]) -> data::PaddingConfig {
    let dimension = |dim: &PaddingDim| data::PaddingDimension {
        edge_padding_low: dim.low,
        edge_padding_high: dim.high,
        interior_padding: dim.interior,
    };
    data::PaddingConfig { dimensions: dims.iter().map(dimension).collect() }
}

fn window_message(window: &Window) -> data::Window {
    let dimension = |dim: &WindowDim| data::WindowDimension {
        size: dim.size,
        stride: dim.stride,
        padding_low: dim.padding_low,
        padding_high: dim.padding_high,
        window_dilation: dim.window_dilation,
        base_dilation: dim.base_dilation,
        window_reversal: dim.reversal,
    };
    data::Window { dimensions: window.dims.iter().map(dimension).collect() }
}

fn write_gather(message: &mut Instruction, dims: &GatherDims) {
    message.gather_dimension_numbers = Some(data::GatherDimensions {
        offset_dims: dims.offset_dims.clone(),
        collapsed_slice_dims: dims.collapsed_slice_dims.clone(),
        start_index_map: dims.start_index_map.clone(),
        index_vector_dim: dims.index_vector_dim,
        operand_batching_dims: dims.operand_batching_dims.clone(),
        start_indices_batching_dims: dims.start_indices_batching_dims.clone(),
    });
    message.gather_slice_sizes = dims.slice_sizes.clone();
    message.indices_are_sorted = dims.indices_are_sorted;
}

fn write_scatter(message: &mut Instruction, dims: &ScatterDims) {
    message.scatter_dimension_numbers = Some(data::ScatterDimensions {
        update_window_dims: dims.update_window_dims.clone(),
        inserted_window_dims: dims.inserted_window_dims.clone(),
        scatter_dims_to_operand_dims: dims.scatter_dims_to_operand_dims.clone(),
        index_vector_dim: dims.index_vector_dim,
        input_batching_dims: dims.input_batching_dims.clone(),
        scatter_indices_batching_dims: dims.scatter_indices_batching_dims.clone(),
    });
    message.indices_are_sorted = dims.indices_are_sorted;
    message.unique_indices = dims.unique_indices;
}

fn write_dot(message: &mut Instruction, dims: &DotDims) {
    message.dot_dimension_numbers = Some(data::DotDimensions {
        lhs_contracting_dimensions: dims.lhs_contracting.clone(),
        rhs_contracting_dimensions: dims.rhs_contracting.clone(),
        lhs_batch_dimensions: dims.lhs_batch.clone(),
        rhs_batch_dimensions: dims.rhs_batch.clone(),
    });
    let config = message.precision_config.get_or_insert_default();
    config.algorithm = algorithm_number(&dims.algorithm);
}

fn write_convolution(message: &mut Instruction, attrs: &ConvolutionAttrs) {
    let ConvDims {
        input_batch,
        input_feature,
        input_spatial,
        kernel_input_feature,
        kernel_output_feature,
        kernel_spatial,
        output_batch,
        output_feature,
        output_spatial,
    } = &attrs.dims;
    message.convolution_dimension_numbers = Some(data::ConvolutionDimensions {
        kernel_input_feature_dimension: *kernel_input_feature,
        kernel_output_feature_dimension: *kernel_output_feature,
        kernel_spatial_dimensions: kernel_spatial.clone(),
        input_batch_dimension: *input_batch,
        input_feature_dimension: *input_feature,
        output_batch_dimension: *output_batch,
        output_feature_dimension: *output_feature,
        input_spatial_dimensions: input_spatial.clone(),
        output_spatial_dimensions: output_spatial.clone(),
    });
    message.window = Some(window_message(&attrs.window));
    message.feature_group_count = attrs.feature_group_count;
    message.batch_group_count = attrs.batch_group_count;
}

fn write_custom_call(message: &mut Instruction, attrs: &CustomCallAttrs) {
    message.custom_call_target = attrs.target.clone();
    message.custom_call_has_side_effect = attrs.has_side_effect;
    let version = API_VERSIONS.iter().position(|known| *known == attrs.api_version);
    message.custom_call_api_version = version.unwrap_or(1) as i32;
    message.output_operand_aliasing = parse_aliasing(&attrs.output_to_operand_aliasing).unwrap_or_default();
    message.constrain_layout = attrs.operand_layouts.is_some();
    message.operand_shapes_with_layout = attrs.operand_layouts.iter().flatten().map(write_shape).collect();
}
