//! Converts instructions, and states the name and the attributes of each operation.

use fusebox_core::hlo::{
    ArrayLiteral, BinaryOp, ConvDims, ConvolutionAttrs, DotDims, ElementType, GatherDims, Instruction, Literal, Op,
    RandomDistribution, ScatterDims, Shape, UnaryOp, Window, WindowDim,
};

use super::exporter::{Exporter, Named, integer, integers, operation, text};
use super::held::Held;
use super::push::{matrix, push};
use super::{Exported, collectives, control, custom_call};
use crate::program::{Attribute, Constant, Region, Type, ValueId};

/// Names of instruction attributes. Each of these attributes either affects no result or is read by
/// other code of the export.
const HINTS: &[&str] = &["operand_precision", "origin", "original_value", "result_accuracy", "statistics"];

/// Adds the operations of an instruction.
pub(super) fn convert<'m>(
    exporter: &mut Exporter<'m>,
    instruction: &'m Instruction,
    operands: &[Held],
) -> Exported<Held> {
    check(exporter, instruction)?;
    match &instruction.op {
        Op::Tuple => Ok(Held::Elements(operands.into())),
        Op::GetTupleElement { index } => {
            let element = match (operands, usize::try_from(*index)) {
                ([tuple], Ok(index)) => exporter.element(tuple, index)?,
                _ => None,
            };
            element.map_or_else(|| exporter.refused("the tuple has no such element"), Ok)
        }
        // A copy is another buffer with the same array.
        Op::Copy => operands.first().map_or_else(|| exporter.refused("a copy needs an operand"), |it| Ok(it.clone())),
        Op::Bitcast if operands.len() == 1 => bitcast(exporter, instruction, &operands[0]),
        Op::OptBarrier => barrier(exporter, instruction, operands),
        Op::Constant(literal) => constant(exporter, literal),
        Op::While { .. } | Op::Conditional { .. } | Op::Call { .. } => {
            control::control(exporter, instruction, operands)
        }
        Op::CustomCall(call) => custom_call::custom_call(exporter, instruction, call, operands),
        Op::Other { .. } => collectives::collective(exporter, instruction, operands),
        op => {
            let (name, mut attributes) = described(exporter, instruction)?;
            let regions = op.called().into_iter().map(|id| control::applied(exporter, id));
            let regions = regions.collect::<Exported<Vec<Region>>>()?;
            let mut values = operands.iter().map(|it| exporter.value(it)).collect::<Exported<Vec<ValueId>>>()?;
            if let Op::Rng { .. } = op {
                values.push(sizes(exporter, &instruction.shape)?);
            }
            if matches!(op, Op::Dot(_) | Op::RaggedDot { .. } | Op::Convolution(_)) {
                attributes.extend(precision(instruction));
            }
            push(exporter, instruction, operation(&name, values, attributes, regions))
        }
    }
}

/// Fails if the instruction has an attribute that StableHLO cannot express.
fn check(exporter: &Exporter, instruction: &Instruction) -> Exported<()> {
    exporter.type_of(&instruction.shape)?;
    let Some(extra) = &instruction.extra else { return Ok(()) };
    if !extra.control_predecessors.is_empty() {
        return exporter.refused("StableHLO has no control predecessors");
    }
    match extra.other.iter().find(|(name, _)| !HINTS.contains(&name.as_str())) {
        Some((name, _)) => exporter.refused(format!("StableHLO has no attribute {name}")),
        None => Ok(()),
    }
}

/// Returns the name and the attributes of an operation that StableHLO or CHLO has.
fn described(exporter: &Exporter, instruction: &Instruction) -> Exported<(String, Named)> {
    let op = &instruction.op;
    let name = op.opcode().name().replace('-', "_");
    let attributes: Vec<(&str, Attribute)> = match op {
        Op::Unary(op) => return Ok((unary(*op, &name), Named::new())),
        Op::Binary(BinaryOp::Mulhi) => return Ok((format!("chlo.{name}"), Named::new())),
        Op::Binary(_) | Op::Select | Op::Clamp | Op::Convert | Op::BitcastConvert | Op::Reshape => Vec::new(),
        Op::DynamicUpdateSlice | Op::AfterAll | Op::PartitionId | Op::ReplicaId => Vec::new(),
        Op::Compare { direction, order } => {
            let order = order.map(|order| ("compare_type", text(order.name())));
            [("comparison_direction", text(direction.name()))].into_iter().chain(order).collect()
        }
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            let bits = |bits: &i64| Attribute::Integer(ElementType::S32, *bits);
            vec![("exponent_bits", bits(exponent_bits)), ("mantissa_bits", bits(mantissa_bits))]
        }
        Op::Iota { dimension } => vec![("iota_dimension", integer(*dimension))],
        Op::Broadcast { dimensions } => {
            return Ok(("broadcast_in_dim".into(), named([("broadcast_dimensions", integers(dimensions))])));
        }
        Op::Transpose { permutation } => vec![("permutation", integers(permutation))],
        Op::Reverse { dimensions } | Op::Map { dimensions, .. } | Op::Reduce { dimensions, .. } => {
            vec![("dimensions", integers(dimensions))]
        }
        Op::Concatenate { dimension } | Op::GetDimensionSize { dimension } => vec![("dimension", integer(*dimension))],
        Op::Slice { dims } => vec![
            ("start_indices", listed(dims, |dim| dim.start)),
            ("limit_indices", listed(dims, |dim| dim.limit)),
            ("strides", listed(dims, |dim| dim.stride)),
        ],
        Op::Pad { dims } => vec![
            ("edge_padding_low", listed(dims, |dim| dim.low)),
            ("edge_padding_high", listed(dims, |dim| dim.high)),
            ("interior_padding", listed(dims, |dim| dim.interior)),
        ],
        Op::DynamicSlice { sizes } => vec![("slice_sizes", integers(sizes))],
        Op::Gather(dims) => gather(dims),
        Op::Scatter { dims, .. } => scatter(dims),
        Op::ReduceWindow { window, .. } => reduced_window(exporter, instruction, window)?,
        Op::SelectAndScatter { window, .. } => {
            let dilated = window.dims.iter().any(|dim| dim.base_dilation != 1 || dim.window_dilation != 1);
            if dilated {
                return exporter.refused("StableHLO has no dilated windows in select_and_scatter");
            }
            let all = reduced_window(exporter, instruction, window)?;
            all.into_iter().filter(|(name, _)| !name.ends_with("dilations")).collect()
        }
        Op::Sort { dimension, is_stable, .. } => {
            vec![("dimension", integer(*dimension)), ("is_stable", Attribute::Bool(*is_stable))]
        }
        Op::Topk { k, largest: true, .. } => return Ok(("chlo.top_k".into(), named([("k", integer(*k))]))),
        Op::Dot(dims) => return Ok(("dot_general".into(), named(dot(exporter, dims)?))),
        Op::RaggedDot { dims, lhs_ragged_dims, rhs_group_dims } => {
            let mut attributes = dot(exporter, dims)?;
            attributes.push(("lhs_ragged_dimensions", integers(lhs_ragged_dims)));
            attributes.push(("rhs_group_dimensions", integers(rhs_group_dims)));
            return Ok((format!("chlo.{name}"), named(attributes)));
        }
        Op::Convolution(attributes) => convolution(attributes),
        Op::Fft { kind, length } => vec![("fft_type", text(kind.name())), ("fft_length", integers(length))],
        Op::Cholesky { lower } => vec![("lower", Attribute::Bool(*lower))],
        Op::TriangularSolve { left_side, lower, unit_diagonal, transpose_a } => vec![
            ("left_side", Attribute::Bool(*left_side)),
            ("lower", Attribute::Bool(*lower)),
            ("unit_diagonal", Attribute::Bool(*unit_diagonal)),
            ("transpose_a", text(transpose_a.name())),
        ],
        Op::BatchNormTraining { epsilon, feature_index }
        | Op::BatchNormInference { epsilon, feature_index }
        | Op::BatchNormGrad { epsilon, feature_index } => vec![
            ("epsilon", Attribute::Float(ElementType::F32, f64::from(*epsilon))),
            ("feature_index", integer(*feature_index)),
        ],
        Op::Rng { distribution } => {
            let distribution = match distribution {
                RandomDistribution::Uniform => "UNIFORM",
                RandomDistribution::Normal => "NORMAL",
            };
            vec![("rng_distribution", text(distribution))]
        }
        Op::RngBitGenerator { algorithm } => {
            let algorithm = algorithm.name().trim_start_matches("rng_").to_uppercase();
            vec![("rng_algorithm", text(&algorithm))]
        }
        _ => return exporter.refused(format!("StableHLO has no operation {}", op.opcode())),
    };
    Ok((name, named(attributes)))
}

fn named<'n>(attributes: impl IntoIterator<Item = (&'n str, Attribute)>) -> Named {
    attributes.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn listed<T>(items: &[T], number: impl Fn(&T) -> i64) -> Attribute {
    Attribute::List(items.iter().map(|item| integer(number(item))).collect())
}

/// Returns the name of a unary operation. CHLO has the unary operations that StableHLO lacks.
fn unary(op: UnaryOp, name: &str) -> String {
    use UnaryOp::{Acos, Acosh, Asin, Asinh, Atanh, Cosh, Erf, Sinh};
    match op {
        Acos | Acosh | Asin | Asinh | Atanh | Cosh | Erf | Sinh => format!("chlo.{name}"),
        _ => name.to_owned(),
    }
}

/// Adds a bitcast. A bitcast between row-major arrays of one element type is a reshape.
fn bitcast(exporter: &mut Exporter, instruction: &Instruction, operand: &Held) -> Exported<Held> {
    let value = exporter.value(operand)?;
    let operand = instruction.operands.first().and_then(|&id| exporter.operand_shape(id));
    let arrays = (operand.and_then(|shape| shape.as_array()), instruction.shape.as_array());
    match arrays {
        (Some(from), Some(to)) if from.element_type == to.element_type && from.is_row_major() && to.is_row_major() => {
            push(exporter, instruction, operation("reshape", vec![value], Named::new(), Vec::new()))
        }
        _ => exporter.refused("StableHLO cannot reinterpret the memory of an array in another way"),
    }
}

fn gather(dims: &GatherDims) -> Vec<(&'static str, Attribute)> {
    vec![
        ("offset_dims", integers(&dims.offset_dims)),
        ("collapsed_slice_dims", integers(&dims.collapsed_slice_dims)),
        ("operand_batching_dims", integers(&dims.operand_batching_dims)),
        ("start_indices_batching_dims", integers(&dims.start_indices_batching_dims)),
        ("start_index_map", integers(&dims.start_index_map)),
        ("index_vector_dim", integer(dims.index_vector_dim)),
        ("slice_sizes", integers(&dims.slice_sizes)),
        ("indices_are_sorted", Attribute::Bool(dims.indices_are_sorted)),
    ]
}

fn scatter(dims: &ScatterDims) -> Vec<(&'static str, Attribute)> {
    vec![
        ("update_window_dims", integers(&dims.update_window_dims)),
        ("inserted_window_dims", integers(&dims.inserted_window_dims)),
        ("input_batching_dims", integers(&dims.input_batching_dims)),
        ("scatter_indices_batching_dims", integers(&dims.scatter_indices_batching_dims)),
        ("scatter_dims_to_operand_dims", integers(&dims.scatter_dims_to_operand_dims)),
        ("index_vector_dim", integer(dims.index_vector_dim)),
        ("indices_are_sorted", Attribute::Bool(dims.indices_are_sorted)),
        ("unique_indices", Attribute::Bool(dims.unique_indices)),
    ]
}

/// Returns the attributes of a window over all dimensions of an array.
fn reduced_window(
    exporter: &Exporter,
    instruction: &Instruction,
    window: &Window,
) -> Exported<Vec<(&'static str, Attribute)>> {
    if window.dims.iter().any(|dim| dim.reversal) {
        return exporter.refused("StableHLO has no reversed windows in reductions");
    }
    let leaves = instruction.shape.leaves();
    let rank = leaves.first().and_then(|shape| shape.as_array()).map_or(0, |array| array.rank());
    let mut window = window.clone();
    // HLO text leaves a window out whose dimensions all have the size 1.
    window.dims.resize(window.dims.len().max(rank), WindowDim::default());
    let dims = &window.dims;
    Ok(vec![
        ("window_dimensions", listed(dims, |dim| dim.size)),
        ("window_strides", listed(dims, |dim| dim.stride)),
        ("base_dilations", listed(dims, |dim| dim.base_dilation)),
        ("window_dilations", listed(dims, |dim| dim.window_dilation)),
        ("padding", matrix(dims.iter().map(|dim| vec![dim.padding_low, dim.padding_high]).collect(), 2)),
    ])
}

fn convolution(attributes: &ConvolutionAttrs) -> Vec<(&'static str, Attribute)> {
    let ConvolutionAttrs { window: Window { dims: window }, dims, feature_group_count, batch_group_count } = attributes;
    let ConvDims { input_batch, input_feature, kernel_input_feature, kernel_output_feature, .. } = dims;
    vec![
        ("window_strides", listed(window, |dim| dim.stride)),
        ("padding", matrix(window.iter().map(|dim| vec![dim.padding_low, dim.padding_high]).collect(), 2)),
        ("lhs_dilation", listed(window, |dim| dim.base_dilation)),
        ("rhs_dilation", listed(window, |dim| dim.window_dilation)),
        ("window_reversal", listed(window, |dim| i64::from(dim.reversal))),
        ("input_batch_dimension", integer(*input_batch)),
        ("input_feature_dimension", integer(*input_feature)),
        ("input_spatial_dimensions", integers(&dims.input_spatial)),
        ("kernel_input_feature_dimension", integer(*kernel_input_feature)),
        ("kernel_output_feature_dimension", integer(*kernel_output_feature)),
        ("kernel_spatial_dimensions", integers(&dims.kernel_spatial)),
        ("output_batch_dimension", integer(dims.output_batch)),
        ("output_feature_dimension", integer(dims.output_feature)),
        ("output_spatial_dimensions", integers(&dims.output_spatial)),
        ("feature_group_count", integer(*feature_group_count)),
        ("batch_group_count", integer(*batch_group_count)),
    ]
}

fn dot(exporter: &Exporter, dims: &DotDims) -> Exported<Vec<(&'static str, Attribute)>> {
    let mut attributes = vec![
        ("lhs_batching_dimensions", integers(&dims.lhs_batch)),
        ("rhs_batching_dimensions", integers(&dims.rhs_batch)),
        ("lhs_contracting_dimensions", integers(&dims.lhs_contracting)),
        ("rhs_contracting_dimensions", integers(&dims.rhs_contracting)),
    ];
    if !dims.algorithm.is_empty() && dims.algorithm != "dot_unset" {
        let Some(algorithm) = algorithm(&dims.algorithm) else {
            return exporter.refused(format!("StableHLO has no algorithm {} for products", dims.algorithm));
        };
        attributes.extend(algorithm);
    }
    Ok(attributes)
}

/// Parses XLA's name of an algorithm, such as `dot_bf16_bf16_f32_x3`. Returns the types of the
/// operands, the type of the sum, and the number of products.
fn algorithm(name: &str) -> Option<Vec<(&'static str, Attribute)>> {
    let parts: Vec<&str> = name.strip_prefix("dot_")?.split('_').collect();
    let ([lhs, rhs, sum], count) = match parts[..] {
        [lhs, rhs, sum] => ([lhs, rhs, sum], 1),
        [lhs, rhs, sum, count] => ([lhs, rhs, sum], count.strip_prefix('x')?.parse().ok()?),
        _ => return None,
    };
    let of = |name: &str| match name.parse() {
        Ok(element) => Some(Attribute::Type(Type::Element(element))),
        Err(()) if name == "tf32" => Some(Attribute::Type(Type::Unsupported(name.into()))),
        Err(()) => None,
    };
    Some(vec![
        ("lhs_precision_type", of(lhs)?),
        ("rhs_precision_type", of(rhs)?),
        ("accumulation_type", of(sum)?),
        ("lhs_component_count", integer(1)),
        ("rhs_component_count", integer(1)),
        ("num_primitive_operations", integer(count)),
        ("allow_imprecise_accumulation", Attribute::Bool(false)),
    ])
}

/// Returns the precisions of a product's operands.
fn precision(instruction: &Instruction) -> Option<(std::sync::Arc<str>, Attribute)> {
    let other = &instruction.extra.as_ref()?.other;
    let (_, list) = other.iter().find(|(name, _)| name == "operand_precision")?;
    let names = list.trim_matches(['{', '}']).split(',').map(|name| text(&name.trim().to_uppercase()));
    Some(("precision_config".into(), Attribute::List(names.collect())))
}

/// The operands of the operation are the leaves of HLO's tuple.
fn barrier(exporter: &mut Exporter, instruction: &Instruction, operands: &[Held]) -> Exported<Held> {
    let mut leaves = Vec::new();
    for operand in operands {
        leaves.extend(exporter.leaves(operand)?);
    }
    let types = leaves.iter().map(|&id| exporter.r#type(id).clone()).collect();
    let results = exporter.add(operation("optimization_barrier", leaves, Named::new(), Vec::new()), types)?;
    Ok(Held::of_leaves(&instruction.shape, &mut results.into_iter()))
}

fn constant(exporter: &mut Exporter, literal: &Literal) -> Exported<Held> {
    match literal {
        Literal::Array(array) => {
            let of = exporter.type_of(&Shape::Array(array.shape()))?;
            let value = Constant { elements: array.clone(), dims: array.dims.clone() };
            let attributes = vec![("value".into(), Attribute::Array(value.into()))];
            Ok(Held::One(exporter.single("constant", Vec::new(), attributes, of)?))
        }
        Literal::Tuple(elements) => {
            let elements = elements.iter().map(|element| constant(exporter, element));
            Ok(Held::Elements(elements.collect::<Exported<Vec<Held>>>()?.into()))
        }
        Literal::Token => Ok(Held::One(exporter.single("after_all", Vec::new(), Named::new(), Type::Token)?)),
    }
}

/// Adds a constant that contains the sizes of an array's dimensions.
fn sizes(exporter: &mut Exporter, shape: &Shape) -> Exported<ValueId> {
    let dims = shape.as_array().map_or(&[][..], |array| &array.dims);
    let data: Vec<u8> = dims.iter().flat_map(|size| size.to_le_bytes()).collect();
    let count = vec![dims.len() as i64];
    let elements = ArrayLiteral { element_type: ElementType::S64, dims: count, data: data.into() };
    let Held::One(value) = constant(exporter, &Literal::Array(elements))? else {
        return exporter.refused("the sizes are no array");
    };
    Ok(value)
}
