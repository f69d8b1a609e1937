//! Names of operations, attributes and types. The readers and the text printer use the same tables
//! of names.

use fusebox_core::hlo::ElementType;

/// Pairs of names of an operation: its name in text, and its name in a
/// [`Program`](crate::program::Program). Operations of StableHLO that this table omits have the
/// prefix [`DIALECT`] in text, and no prefix in a program.
const OPERATIONS: &[(&str, &str)] = &[("func.call", "call"), ("func.func", "func"), ("func.return", "return")];
/// The two names of the outermost operation: in the syntax that JAX prints, and in a program.
const MODULE: (&str, &str) = ("module", "builtin.module");

const DIALECT: &str = "stablehlo.";

/// Returns the name that an operation has in a program: for operations of StableHLO, the name
/// without the dialect.
pub(crate) fn name_in_program(name: &str) -> &str {
    if name == MODULE.0 {
        return MODULE.1;
    }
    let known = OPERATIONS.iter().find(|(full, _)| *full == name);
    known.map_or_else(|| name.strip_prefix(DIALECT).unwrap_or(name), |(_, own)| own)
}

/// Returns the name of an operation in text, with its dialect. The last operation of a function is
/// `func.return`, and that of any other region is `stablehlo.return`.
pub(crate) fn name_in_text(name: &str, is_in_function: bool) -> String {
    let known = OPERATIONS.iter().find(|(_, own)| *own == name).filter(|_| name != "return" || is_in_function);
    match known {
        Some((full, _)) => (*full).to_owned(),
        None if name.contains('.') => name.to_owned(),
        None => format!("{DIALECT}{name}"),
    }
}

/// An attribute that consists of other attributes, such as the dimension numbers of a product. In
/// programs and in portable artifacts, the parts of a group are separate attributes.
pub(crate) struct Group {
    /// The operations that have the attribute.
    pub operations: &'static [&'static str],
    /// Name of the attribute.
    pub name: &'static str,
    /// Name of the attribute's type, after `#`.
    pub kind: &'static str,
    /// Names of the parts.
    pub parts: &'static [&'static str],
}

/// All attributes that consist of other attributes.
pub(crate) const GROUPS: &[Group] = &[
    Group {
        operations: &["dot_general"],
        name: "algorithm",
        kind: "stablehlo.dot_algorithm",
        parts: &[
            "lhs_precision_type",
            "rhs_precision_type",
            "accumulation_type",
            "lhs_component_count",
            "rhs_component_count",
            "num_primitive_operations",
            "allow_imprecise_accumulation",
        ],
    },
    Group {
        operations: &["dot_general"],
        name: "dot_dimension_numbers",
        kind: "stablehlo.dot",
        parts: &[
            "lhs_batching_dimensions",
            "rhs_batching_dimensions",
            "lhs_contracting_dimensions",
            "rhs_contracting_dimensions",
        ],
    },
    Group {
        operations: &["chlo.ragged_dot"],
        name: "ragged_dot_dimension_numbers",
        kind: "chlo.ragged_dot",
        parts: &[
            "lhs_batching_dimensions",
            "rhs_batching_dimensions",
            "lhs_contracting_dimensions",
            "rhs_contracting_dimensions",
            "lhs_ragged_dimensions",
            "rhs_group_dimensions",
        ],
    },
    Group {
        operations: &["gather", "dynamic_gather"],
        name: "dimension_numbers",
        kind: "stablehlo.gather",
        parts: &[
            "offset_dims",
            "collapsed_slice_dims",
            "operand_batching_dims",
            "start_indices_batching_dims",
            "start_index_map",
            "index_vector_dim",
        ],
    },
    Group {
        operations: &["scatter"],
        name: "scatter_dimension_numbers",
        kind: "stablehlo.scatter",
        parts: &[
            "update_window_dims",
            "inserted_window_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            "scatter_dims_to_operand_dims",
            "index_vector_dim",
        ],
    },
];

/// The attribute that contains a channel in text, and the attribute that contains the channel's
/// number in a program.
pub(crate) const CHANNEL: (&str, &str) = ("channel_handle", "channel_id");

/// Dimension numbers of a convolution. For each array: its name, the letters of its two dimensions
/// that are not spatial, and the attributes that contain these two dimensions.
pub(crate) const CONVOLVED: [(&str, [&str; 2], [&str; 2]); 3] = [
    ("input", ["b", "f"], ["input_batch_dimension", "input_feature_dimension"]),
    ("kernel", ["i", "o"], ["kernel_input_feature_dimension", "kernel_output_feature_dimension"]),
    ("output", ["b", "f"], ["output_batch_dimension", "output_feature_dimension"]),
];

/// Whether an attribute with this name consists of several attributes of the operation.
pub(crate) fn is_group(name: &str) -> bool {
    name == CHANNEL.0 || GROUPS.iter().any(|group| group.name == name)
}

/// How text in MLIR's generic form states the value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `array<i64: 1, 2>`
    Integers,
    /// `array<i1: false, true>`
    Flags,
    /// `dense<[[0, 1]]> : tensor<1x2xi64>`
    Matrix,
    /// A list of layouts: `[dense<[1, 0]> : tensor<2xindex>]`
    Layouts,
    /// `#stablehlo<fft_type RFFT>`, with the name of the type.
    Enum(&'static str),
    /// A list whose elements have the form `Enum`, with the name of their type.
    Enums(&'static str),
    /// The form that follows from the value alone, independent of the attribute's name.
    Own,
}

/// Returns the form in which text states the value of an attribute.
pub(crate) fn form(attribute: &str) -> Form {
    match attribute {
        "base_dilations"
        | "broadcast_dimensions"
        | "broadcast_sizes"
        | "dimensions"
        | "edge_padding_high"
        | "edge_padding_low"
        | "fft_length"
        | "interior_padding"
        | "known_expanding_dimensions"
        | "known_nonexpanding_dimensions"
        | "lhs_dilation"
        | "limit_indices"
        | "permutation"
        | "rhs_dilation"
        | "slice_sizes"
        | "start_indices"
        | "strides"
        | "window_dilations"
        | "window_dimensions"
        | "window_strides" => Form::Integers,
        "window_reversal" => Form::Flags,
        "padding" | "replica_groups" | "source_target_pairs" => Form::Matrix,
        "operand_layouts" | "result_layouts" => Form::Layouts,
        "comparison_direction" => Form::Enum("comparison_direction"),
        "compare_type" => Form::Enum("comparison_type"),
        "fft_type" => Form::Enum("fft_type"),
        "rng_algorithm" => Form::Enum("rng_algorithm"),
        "rng_distribution" => Form::Enum("rng_distribution"),
        "transpose_a" => Form::Enum("transpose"),
        "precision_config" => Form::Enums("precision"),
        _ => Form::Own,
    }
}

/// Names of the versions of the interface by which custom calls call functions. The position of a
/// name is the number of the version.
pub(crate) const API_VERSIONS: &[&str] = &[
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];

/// Returns MLIR's name of an element type: `s32` is `i32`, `f8e5m2` is `f8E5M2`. Returns `None` for
/// integers of one bit, which StableHLO lacks.
pub(crate) fn element_name(element: ElementType) -> Option<String> {
    let name = element.name();
    Some(match element {
        ElementType::S1 | ElementType::U1 => return None,
        ElementType::C64 => "complex<f32>".to_owned(),
        ElementType::C128 => "complex<f64>".to_owned(),
        // A predicate.
        _ if element.is_integer_or_pred() && !element.is_integer() => "i1".to_owned(),
        _ if element.is_signed_integer() => format!("i{}", element.bits()),
        _ if element.is_unsigned_integer() => format!("ui{}", element.bits()),
        // Only narrow floats have letters in their names after the first number.
        _ => match name.strip_prefix('f') {
            Some(rest) if rest.contains('e') => format!("f{}", rest.to_uppercase()),
            _ => name.to_owned(),
        },
    })
}
