//! Attributes of operations as text.

use std::fmt::{self, Write};

use super::print::{Printer, braced, joined, quoted};
use crate::hlo::{
    ComputationId, ConvDims, CustomCallAttrs, DotDims, GatherDims, Op, PaddingDim, ScatterDims, SliceDim, Window,
    WindowDim,
};

/// Where attributes are written to.
pub(super) struct Attrs<'a, 'm> {
    pub printer: &'a mut Printer<'m>,
}

impl Attrs<'_, '_> {
    fn value(&mut self, name: &str, value: impl fmt::Display) -> fmt::Result {
        write!(self.printer.out, ", {name}={value}")
    }

    fn list(&mut self, name: &str, numbers: &[i64]) -> fmt::Result {
        self.value(name, braced(numbers))
    }

    /// A list that is left out if it is empty.
    fn list_if(&mut self, name: &str, numbers: &[i64]) -> fmt::Result {
        if numbers.is_empty() { Ok(()) } else { self.list(name, numbers) }
    }

    /// A flag that is left out if it is false.
    fn flag_if(&mut self, name: &str, value: bool) -> fmt::Result {
        if value { self.value(name, true) } else { Ok(()) }
    }

    fn callee(&mut self, name: &str, id: ComputationId) -> fmt::Result {
        write!(self.printer.out, ", {name}=")?;
        let callee = &self.printer.module.computation(id).name;
        self.printer.name(callee);
        Ok(())
    }

    fn callees(&mut self, name: &str, ids: &[ComputationId]) -> fmt::Result {
        write!(self.printer.out, ", {name}={{")?;
        for (position, &id) in ids.iter().enumerate() {
            self.printer.out.push_str(if position > 0 { ", " } else { "" });
            let callee = &self.printer.module.computation(id).name;
            self.printer.name(callee);
        }
        self.printer.out.push('}');
        Ok(())
    }
}

/// Writes the attributes of an operation, each after a comma.
pub(super) fn write_op(a: &mut Attrs, op: &Op) -> fmt::Result {
    match op {
        Op::Compare { direction, order } => {
            a.value("direction", direction)?;
            order.map_or(Ok(()), |order| a.value("type", order))
        }
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            a.value("exponent_bits", exponent_bits)?;
            a.value("mantissa_bits", mantissa_bits)
        }
        Op::Iota { dimension } => a.value("iota_dimension", dimension),
        Op::Broadcast { dimensions } | Op::Reverse { dimensions } => a.list("dimensions", dimensions),
        Op::Transpose { permutation } => a.list("dimensions", permutation),
        Op::Concatenate { dimension } | Op::GetDimensionSize { dimension } | Op::SetDimensionSize { dimension } => {
            a.list("dimensions", &[*dimension])
        }
        Op::Slice { dims } => a.value("slice", slice_text(dims)),
        Op::Pad { dims } => a.value("padding", padding_text(dims)),
        Op::DynamicSlice { sizes } => a.list("dynamic_slice_sizes", sizes),
        Op::Gather(dims) => write_gather(a, dims),
        Op::Scatter { dims, to_apply } => {
            write_scatter(a, dims)?;
            a.callee("to_apply", *to_apply)
        }
        Op::Reduce { dimensions, to_apply } | Op::Map { dimensions, to_apply } => {
            a.list("dimensions", dimensions)?;
            a.callee("to_apply", *to_apply)
        }
        Op::ReduceWindow { window, to_apply } => {
            write_window(a, window)?;
            a.callee("to_apply", *to_apply)
        }
        Op::SelectAndScatter { window, select, scatter } => {
            write_window(a, window)?;
            a.callee("select", *select)?;
            a.callee("scatter", *scatter)
        }
        Op::Scan { dimension, num_carries, is_reverse, is_associative, to_apply } => {
            a.list("dimensions", &[*dimension])?;
            a.value("num_carries", num_carries)?;
            a.flag_if("is_reverse", *is_reverse)?;
            a.flag_if("is_associative", *is_associative)?;
            a.callee("to_apply", *to_apply)
        }
        Op::Sort { dimension, is_stable, to_apply } => {
            a.list("dimensions", &[*dimension])?;
            a.flag_if("is_stable", *is_stable)?;
            a.callee("to_apply", *to_apply)
        }
        Op::Topk { k, largest, is_stable } => {
            a.value("k", k)?;
            a.value("largest", largest)?;
            a.flag_if("is_stable", *is_stable)
        }
        Op::Dot(dims) | Op::ScaledDot(dims) => write_dot(a, dims),
        Op::RaggedDot { dims, lhs_ragged_dims, rhs_group_dims } => {
            write_dot(a, dims)?;
            a.list_if("lhs_ragged_dims", lhs_ragged_dims)?;
            a.list_if("rhs_group_dims", rhs_group_dims)
        }
        Op::Convolution(attrs) => {
            write_window(a, &attrs.window)?;
            a.value("dim_labels", dim_labels_text(&attrs.dims))?;
            write_group_count(a, "feature_group_count", attrs.feature_group_count)?;
            write_group_count(a, "batch_group_count", attrs.batch_group_count)
        }
        Op::Fft { kind, length } => {
            a.value("fft_type", kind)?;
            a.list("fft_length", length)
        }
        Op::Cholesky { lower } => a.flag_if("lower", *lower),
        Op::TriangularSolve { left_side, lower, unit_diagonal, transpose_a } => {
            a.flag_if("left_side", *left_side)?;
            a.flag_if("lower", *lower)?;
            a.flag_if("unit_diagonal", *unit_diagonal)?;
            a.value("transpose_a", transpose_a)
        }
        Op::BatchNormTraining { epsilon, feature_index }
        | Op::BatchNormInference { epsilon, feature_index }
        | Op::BatchNormGrad { epsilon, feature_index } => {
            a.value("epsilon", epsilon)?;
            a.value("feature_index", feature_index)
        }
        Op::Rng { distribution } => a.value("distribution", distribution),
        Op::RngBitGenerator { algorithm } => a.value("algorithm", algorithm),
        Op::RngGetAndUpdateState { delta } => a.value("delta", delta),
        Op::While { condition, body } => {
            a.callee("condition", *condition)?;
            a.callee("body", *body)
        }
        Op::Conditional { branches } => a.callees("branch_computations", branches),
        Op::Call { to_apply } => a.callee("to_apply", *to_apply),
        Op::Fusion { kind, calls } => {
            a.value("kind", kind)?;
            a.callee("calls", *calls)
        }
        Op::CustomCall(attrs) => write_custom_call(a, attrs),
        Op::GetTupleElement { index } => a.value("index", index),
        Op::Other { called, attributes, .. } => write_other(a, called, attributes),
        _ => Ok(()),
    }
}

fn write_gather(a: &mut Attrs, dims: &GatherDims) -> fmt::Result {
    a.list("offset_dims", &dims.offset_dims)?;
    a.list("collapsed_slice_dims", &dims.collapsed_slice_dims)?;
    a.list("start_index_map", &dims.start_index_map)?;
    a.list_if("operand_batching_dims", &dims.operand_batching_dims)?;
    a.list_if("start_indices_batching_dims", &dims.start_indices_batching_dims)?;
    a.value("index_vector_dim", dims.index_vector_dim)?;
    a.list("slice_sizes", &dims.slice_sizes)?;
    a.flag_if("indices_are_sorted", dims.indices_are_sorted)
}

fn write_scatter(a: &mut Attrs, dims: &ScatterDims) -> fmt::Result {
    a.list("update_window_dims", &dims.update_window_dims)?;
    a.list("inserted_window_dims", &dims.inserted_window_dims)?;
    a.list("scatter_dims_to_operand_dims", &dims.scatter_dims_to_operand_dims)?;
    a.list_if("input_batching_dims", &dims.input_batching_dims)?;
    a.list_if("scatter_indices_batching_dims", &dims.scatter_indices_batching_dims)?;
    a.value("index_vector_dim", dims.index_vector_dim)?;
    a.flag_if("indices_are_sorted", dims.indices_are_sorted)?;
    a.flag_if("unique_indices", dims.unique_indices)
}

fn write_dot(a: &mut Attrs, dims: &DotDims) -> fmt::Result {
    a.list_if("lhs_batch_dims", &dims.lhs_batch)?;
    a.list("lhs_contracting_dims", &dims.lhs_contracting)?;
    a.list_if("rhs_batch_dims", &dims.rhs_batch)?;
    a.list("rhs_contracting_dims", &dims.rhs_contracting)?;
    if dims.algorithm.is_empty() { Ok(()) } else { a.value("algorithm", &dims.algorithm) }
}

fn write_group_count(a: &mut Attrs, name: &str, count: i64) -> fmt::Result {
    if count == 1 { Ok(()) } else { a.value(name, count) }
}

fn write_custom_call(a: &mut Attrs, attrs: &CustomCallAttrs) -> fmt::Result {
    a.value("custom_call_target", quoted(&attrs.target))?;
    if !attrs.called.is_empty() {
        a.callees("called_computations", &attrs.called)?;
    }
    if let Some(layouts) = &attrs.operand_layouts {
        a.value("operand_layout_constraints", format_args!("{{{}}}", joined(layouts)))?;
    }
    if !attrs.output_to_operand_aliasing.is_empty() {
        a.value("output_to_operand_aliasing", &attrs.output_to_operand_aliasing)?;
    }
    a.flag_if("custom_call_has_side_effect", attrs.has_side_effect)?;
    if attrs.api_version.is_empty() { Ok(()) } else { a.value("api_version", &attrs.api_version) }
}

fn write_other(a: &mut Attrs, called: &[(String, Vec<ComputationId>)], attributes: &[(String, String)]) -> fmt::Result {
    for (name, ids) in called {
        match ids[..] {
            [id] if name != "called_computations" => a.callee(name, id)?,
            _ => a.callees(name, ids)?,
        }
    }
    attributes.iter().try_for_each(|(name, value)| a.value(name, value))
}

fn slice_text(dims: &[SliceDim]) -> String {
    let range = |dim: &SliceDim| match dim.stride {
        1 => format!("[{}:{}]", dim.start, dim.limit),
        stride => format!("[{}:{}:{stride}]", dim.start, dim.limit),
    };
    format!("{{{}}}", dims.iter().map(range).collect::<Vec<_>>().join(", "))
}

fn padding_text(dims: &[PaddingDim]) -> String {
    let dim = |dim: &PaddingDim| match dim.interior {
        0 => format!("{}_{}", dim.low, dim.high),
        interior => format!("{}_{}_{interior}", dim.low, dim.high),
    };
    dims.iter().map(dim).collect::<Vec<_>>().join("x")
}

fn write_window(a: &mut Attrs, window: &Window) -> fmt::Result {
    if window.dims.is_empty() {
        return Ok(());
    }
    let joined = |get: &dyn Fn(&WindowDim) -> String| window.dims.iter().map(get).collect::<Vec<_>>().join("x");
    let mut text = format!("{{size={}", joined(&|dim| dim.size.to_string()));
    let usual = WindowDim::default();
    let mut field = |name: &str, unusual: &dyn Fn(&WindowDim) -> bool, get: &dyn Fn(&WindowDim) -> String| {
        if window.dims.iter().any(unusual) {
            text += &format!(" {name}={}", joined(get));
        }
    };
    field("stride", &|dim| dim.stride != usual.stride, &|dim| dim.stride.to_string());
    field("pad", &|dim| (dim.padding_low, dim.padding_high) != (0, 0), &|dim| {
        format!("{}_{}", dim.padding_low, dim.padding_high)
    });
    field("lhs_dilate", &|dim| dim.base_dilation != 1, &|dim| dim.base_dilation.to_string());
    field("rhs_dilate", &|dim| dim.window_dilation != 1, &|dim| dim.window_dilation.to_string());
    field("rhs_reversal", &|dim| dim.reversal, &|dim| i64::from(dim.reversal).to_string());
    text.push('}');
    a.value("window", text)
}

fn dim_labels_text(dims: &ConvDims) -> String {
    let labels = |letters: [(i64, char); 2], spatial: &[i64]| {
        let mut text = vec!['?'; spatial.len() + 2];
        let digits = spatial.iter().enumerate().map(|(digit, &at)| (at, (b'0' + digit as u8) as char));
        for (at, label) in letters.into_iter().chain(digits) {
            if let Some(place) = usize::try_from(at).ok().and_then(|at| text.get_mut(at)) {
                *place = label;
            }
        }
        text.into_iter().collect::<String>()
    };
    format!(
        "{}_{}->{}",
        labels([(dims.input_batch, 'b'), (dims.input_feature, 'f')], &dims.input_spatial),
        labels([(dims.kernel_input_feature, 'i'), (dims.kernel_output_feature, 'o')], &dims.kernel_spatial),
        labels([(dims.output_batch, 'b'), (dims.output_feature, 'f')], &dims.output_spatial)
    )
}
