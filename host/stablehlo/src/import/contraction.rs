//! Products and convolutions.

use fusebox_core::hlo::{ConvDims, ConvolutionAttrs, DotDims, InstrId, Op, Window, WindowDim};

use super::Imported;
use super::call::Call;
use crate::program::{Attribute, Operation, Type};

/// Names of the precisions that a program may require for the operands of a product or a
/// convolution.
const PRECISIONS: [&str; 3] = ["default", "high", "highest"];

/// Adds a product or a convolution.
pub(super) fn contraction(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let op = match &*operation.name {
        "dot" => {
            let last = call.rank(0).saturating_sub(1) as i64;
            Op::Dot(DotDims { lhs_contracting: vec![last], rhs_contracting: vec![0], ..DotDims::default() })
        }
        "dot_general" => Op::Dot(dot_dims(operation)?),
        "chlo.ragged_dot" => Op::RaggedDot {
            dims: dot_dims(operation)?,
            lhs_ragged_dims: operation.integers("lhs_ragged_dimensions")?,
            rhs_group_dims: operation.integers("rhs_group_dimensions")?,
        },
        _ => return convolution(call, None),
    };
    push(call, op)
}

/// Adds a convolution. The padding is the operation's attribute if `padding` is `None`, or else the
/// numbers in `padding`.
pub(super) fn convolution(call: &mut Call, padding: Option<&[i64]>) -> Imported<InstrId> {
    let operation = call.operation;
    let op = Op::Convolution(Box::new(ConvolutionAttrs {
        window: window(operation, call, padding)?,
        dims: dims(operation)?,
        feature_group_count: operation.integer("feature_group_count")?,
        batch_group_count: operation.integer("batch_group_count")?,
    }));
    push(call, op)
}

fn push(call: &mut Call, op: Op) -> Imported<InstrId> {
    let precision = precision(call)?;
    let added = call.push(op)?;
    if let Some(precision) = precision {
        call.edit.set_other(added, "operand_precision", precision);
    }
    Ok(added)
}

fn dot_dims(operation: &Operation) -> Imported<DotDims> {
    Ok(DotDims {
        lhs_batch: operation.integers("lhs_batching_dimensions")?,
        lhs_contracting: operation.integers("lhs_contracting_dimensions")?,
        rhs_batch: operation.integers("rhs_batching_dimensions")?,
        rhs_contracting: operation.integers("rhs_contracting_dimensions")?,
        algorithm: algorithm(operation),
    })
}

/// Returns the name of the algorithm that the program requires for a product, or an empty string if
/// the compiler may choose the algorithm. XLA composes the name of an algorithm from the types of
/// both operands, the type of the sum, and the number of primitive products if the number is
/// greater than 1.
fn algorithm(operation: &Operation) -> String {
    let element = |name| match operation.attribute(name) {
        Some(Attribute::Type(Type::Element(element))) => Some(element.name()),
        // A type for products only, which arrays do not have.
        Some(Attribute::Type(Type::Unsupported(name))) if &**name == "tf32" => Some("tf32"),
        _ => None,
    };
    let types = [element("lhs_precision_type"), element("rhs_precision_type"), element("accumulation_type")];
    let [Some(lhs), Some(rhs), Some(sum)] = types else { return String::new() };
    match operation.integer("num_primitive_operations") {
        Ok(count @ 2..) => format!("dot_{lhs}_{rhs}_{sum}_x{count}"),
        _ => format!("dot_{lhs}_{rhs}_{sum}"),
    }
}

/// Returns the precisions of the operands as HLO text, if one of them is not the default.
fn precision(call: &Call) -> Imported<Option<String>> {
    let Some(Attribute::List(list)) = call.operation.attribute("precision_config") else { return Ok(None) };
    let names: Vec<String> = list.iter().filter_map(|it| Some(it.as_text()?.to_lowercase())).collect();
    if let Some(unknown) = names.iter().find(|name| !PRECISIONS.contains(&name.as_str())) {
        return call.unsupported(format!("the precision `{unknown}`"));
    }
    Ok(names.iter().any(|name| name != "default").then(|| format!("{{{}}}", names.join(","))))
}

fn window(operation: &Operation, call: &Call, padding: Option<&[i64]>) -> Imported<Window> {
    let kernel_spatial = operation.integers("kernel_spatial_dimensions")?;
    let rank = kernel_spatial.len();
    let kernel = call.operands.get(1).map(|&kernel| call.edit.dims(kernel)).unwrap_or_default();
    let strides = operation.per_dimension("window_strides", rank, 1)?;
    let padding = match padding {
        None => operation.pairs("padding", rank)?,
        Some(padding) if padding.len() == 2 * rank => padding.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect(),
        Some(_) => return call.unsupported("the padding must have two numbers per spatial dimension"),
    };
    let base_dilation = operation.per_dimension("lhs_dilation", rank, 1)?;
    let window_dilation = operation.per_dimension("rhs_dilation", rank, 1)?;
    let reversal = operation.per_dimension("window_reversal", rank, 0)?;
    let dim = |at: usize| {
        let size = usize::try_from(kernel_spatial[at]).ok().and_then(|it| kernel.get(it)).copied();
        Some(WindowDim {
            size: size?,
            stride: strides[at],
            padding_low: padding[at][0],
            padding_high: padding[at][1],
            window_dilation: window_dilation[at],
            base_dilation: base_dilation[at],
            reversal: reversal[at] != 0,
        })
    };
    match (0..rank).map(dim).collect() {
        Some(dims) => Ok(Window { dims }),
        None => call.unsupported("kernel_spatial_dimensions names a dimension that the kernel lacks"),
    }
}

fn dims(operation: &Operation) -> Imported<ConvDims> {
    Ok(ConvDims {
        input_batch: operation.integer("input_batch_dimension")?,
        input_feature: operation.integer("input_feature_dimension")?,
        input_spatial: operation.integers("input_spatial_dimensions")?,
        kernel_input_feature: operation.integer("kernel_input_feature_dimension")?,
        kernel_output_feature: operation.integer("kernel_output_feature_dimension")?,
        kernel_spatial: operation.integers("kernel_spatial_dimensions")?,
        output_batch: operation.integer("output_batch_dimension")?,
        output_feature: operation.integer("output_feature_dimension")?,
        output_spatial: operation.integers("output_spatial_dimensions")?,
    })
}
