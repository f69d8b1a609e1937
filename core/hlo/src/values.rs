//! Groups of attributes that belong to one operation.

use super::attribute::{All, Callees, Describes, Reader, Writer, assumed, needed, optional, quoted, unless};
use super::dims::{ConvDims, Window};
use super::ids::ComputationId;
use super::shape::Shape;

/// Defines structs of attributes. HLO text contains the attributes in the order of the fields.
macro_rules! groups {
    ($($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $field:ident: $ty:ty = $how:expr,)* })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
        pub struct $type { $($(#[$doc])* pub $field: $ty,)* }

        impl Describes<$type> for All {
            fn read<R: Reader>(self, reader: &mut R) -> Result<$type, R::Error> {
                Ok($type { $($field: $how.read(reader)?,)* })
            }

            fn write<W: Writer>(self, value: &$type, writer: &mut W) {
                $($how.write(&value.$field, writer);)*
            }

            fn callees(self, value: &mut $type) -> Vec<&mut ComputationId> {
                let mut callees = Vec::new();
                $(callees.extend($how.callees(&mut value.$field));)*
                callees
            }
        }
    )* };
}

groups! {
    /// Dimension numbers of a `dot`.
    DotDims {
        /// Batch dimensions of the left operand.
        lhs_batch: Vec<i64> = optional("lhs_batch_dims", |m| &mut m.dot().lhs_batch_dimensions),
        /// Contracting dimensions of the left operand.
        lhs_contracting: Vec<i64> =
            assumed("lhs_contracting_dims", Vec::new(), |m| &mut m.dot().lhs_contracting_dimensions),
        /// Batch dimensions of the right operand, in the same order as those of the left operand.
        rhs_batch: Vec<i64> = optional("rhs_batch_dims", |m| &mut m.dot().rhs_batch_dimensions),
        /// Contracting dimensions of the right operand, in the same order as those of the left
        /// operand.
        rhs_contracting: Vec<i64> =
            assumed("rhs_contracting_dims", Vec::new(), |m| &mut m.dot().rhs_contracting_dimensions),
        /// Raw text of `algorithm=…`; empty if absent.
        algorithm: String = optional("algorithm", |m| m.precision_config.get_or_insert_default()),
    }

    /// Dimension numbers of a `gather`.
    GatherDims {
        /// Dimensions of the result that index into the slice.
        offset_dims: Vec<i64> = needed("offset_dims", |m| &mut m.gather().offset_dims),
        /// Dimensions of the operand that the result lacks. In each collapsed dimension, slices
        /// have size 1.
        collapsed_slice_dims: Vec<i64> = needed("collapsed_slice_dims", |m| &mut m.gather().collapsed_slice_dims),
        /// For each component of an index vector, the operand dimension that this component
        /// indexes.
        start_index_map: Vec<i64> = needed("start_index_map", |m| &mut m.gather().start_index_map),
        /// Batching dimensions of the operand.
        operand_batching_dims: Vec<i64> = optional("operand_batching_dims", |m| &mut m.gather().operand_batching_dims),
        /// Batching dimensions of the indices, in the same order as those of the operand.
        start_indices_batching_dims: Vec<i64> =
            optional("start_indices_batching_dims", |m| &mut m.gather().start_indices_batching_dims),
        /// Dimension of the indices array along which index vectors are stored. If index vectors
        /// are scalars, this number is the rank of the array.
        index_vector_dim: i64 = needed("index_vector_dim", |m| &mut m.gather().index_vector_dim),
        /// Size of the slice in each dimension of the operand.
        slice_sizes: Vec<i64> = needed("slice_sizes", |m| &mut m.gather_slice_sizes),
        /// Whether the program promises that the indices are sorted.
        indices_are_sorted: bool = optional("indices_are_sorted", |m| &mut m.indices_are_sorted),
    }

    /// Dimension numbers of a `scatter`.
    ScatterDims {
        /// Dimensions of the updates that index into the window.
        update_window_dims: Vec<i64> = needed("update_window_dims", |m| &mut m.scatter().update_window_dims),
        /// Dimensions of the operand that the updates lack. In each inserted dimension, windows
        /// have size 1.
        inserted_window_dims: Vec<i64> = needed("inserted_window_dims", |m| &mut m.scatter().inserted_window_dims),
        /// For each component of an index vector, the operand dimension that this component
        /// indexes.
        scatter_dims_to_operand_dims: Vec<i64> =
            needed("scatter_dims_to_operand_dims", |m| &mut m.scatter().scatter_dims_to_operand_dims),
        /// Batching dimensions of the operand.
        input_batching_dims: Vec<i64> = optional("input_batching_dims", |m| &mut m.scatter().input_batching_dims),
        /// Batching dimensions of the indices, in the same order as those of the operand.
        scatter_indices_batching_dims: Vec<i64> =
            optional("scatter_indices_batching_dims", |m| &mut m.scatter().scatter_indices_batching_dims),
        /// Dimension of the indices array along which index vectors are stored. If index vectors
        /// are scalars, this number is the rank of the array.
        index_vector_dim: i64 = needed("index_vector_dim", |m| &mut m.scatter().index_vector_dim),
        /// Whether the program promises that the indices are sorted.
        indices_are_sorted: bool = optional("indices_are_sorted", |m| &mut m.indices_are_sorted),
        /// Whether the program promises that no two updates overlap.
        unique_indices: bool = optional("unique_indices", |m| &mut m.unique_indices),
    }

    /// Attributes of a `convolution`.
    ConvolutionAttrs {
        /// Window over the spatial dimensions.
        window: Window = optional("window", |m| &mut m.window),
        /// Dimension numbers.
        dims: ConvDims = needed("dim_labels", |m| m.convolution_dimension_numbers.get_or_insert_default()),
        /// Number of feature groups, at least 1.
        feature_group_count: i64 = unless("feature_group_count", 1, |m| at_least_one(&mut m.feature_group_count)),
        /// Number of batch groups, at least 1.
        batch_group_count: i64 = unless("batch_group_count", 1, |m| at_least_one(&mut m.batch_group_count)),
    }

    /// Attributes of a `custom-call`.
    CustomCallAttrs {
        /// Name of the function.
        target: String = quoted("custom_call_target", |m| &mut m.custom_call_target),
        /// Computations that the function may call.
        called: Vec<ComputationId> = Callees("called_computations", false),
        /// Shapes of the operands, with the layouts that the callee requires; `None` if the callee
        /// does not require layouts.
        operand_layouts: Option<Vec<Shape>> = optional("operand_layout_constraints", |m| m),
        /// Raw text of `output_to_operand_aliasing`; empty if absent.
        output_to_operand_aliasing: String =
            optional("output_to_operand_aliasing", |m| &mut m.output_operand_aliasing),
        /// Whether the call must be kept even if its result is unused.
        has_side_effect: bool = optional("custom_call_has_side_effect", |m| &mut m.custom_call_has_side_effect),
        /// Raw text of `api_version`; empty if absent.
        api_version: String = optional("api_version", |m| &mut m.custom_call_api_version),
    }
}

/// Replaces zero by one, because a field that was not written contains zero.
fn at_least_one(count: &mut i64) -> &mut i64 {
    if *count == 0 {
        *count = 1;
    }
    count
}
