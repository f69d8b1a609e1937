//! Messages of `xla_data.proto`: shapes, literals, dimension numbers. The field numbers are those
//! of XLA. Fields that fusebox does not use are omitted. Fusebox adds the fields with numbers from
//! 100001, for content that XLA's fields cannot hold. XLA ignores the added fields.

use super::messages;
use crate::dims::PaddingDim;

messages! {
    Tile { dimensions: Vec<i64> = 1 [int64, repeated], }

    Layout {
        minor_to_major: Vec<i64> = 1 [int64, repeated],
        tiles: Vec<Tile> = 6 [message, repeated],
        element_size_in_bits: i64 = 7 [int64],
        memory_space: i64 = 8 [int64],
        tail_padding_alignment_in_elements: i64 = 16 [int64],
        /// The text after the colon of the layout, if the fields above do not represent this text
        /// completely.
        suffix: Option<String> = 100001 [string, optional],
        /// Whether the module had no layout at this position. The message contains a layout anyway,
        /// because XLA requires one.
        implied: bool = 100002 [bool],
    }

    Shape {
        element_type: i32 = 2 [int32],
        dimensions: Vec<i64> = 3 [int64, repeated],
        tuple_shapes: Vec<Shape> = 4 [message, repeated],
        layout: Option<Layout> = 5 [message, optional],
        is_dynamic_dimension: Vec<bool> = 6 [bool, repeated],
    }

    ProgramShape {
        parameters: Vec<Shape> = 1 [message, repeated],
        result: Option<Shape> = 2 [message, optional],
        parameter_names: Vec<String> = 3 [string, repeated],
    }

    /// A constant. The elements are in the order of the shape's layout.
    Literal {
        shape: Option<Shape> = 1 [message, optional],
        preds: Vec<bool> = 2 [bool, repeated],
        u8s: Vec<u8> = 3 [bytes = "vec"],
        s32s: Vec<i32> = 4 [int32, repeated],
        s64s: Vec<i64> = 5 [int64, repeated],
        u32s: Vec<u32> = 6 [uint32, repeated],
        u64s: Vec<u64> = 7 [uint64, repeated],
        f32s: Vec<f32> = 8 [float, repeated],
        f64s: Vec<f64> = 9 [double, repeated],
        tuple_literals: Vec<Literal> = 10 [message, repeated],
        f16s: Vec<u8> = 11 [bytes = "vec"],
        c64s: Vec<f32> = 12 [float, repeated],
        bf16s: Vec<u8> = 13 [bytes = "vec"],
        s8s: Vec<u8> = 15 [bytes = "vec"],
        u16s: Vec<u8> = 16 [bytes = "vec"],
        s16s: Vec<u8> = 17 [bytes = "vec"],
        c128s: Vec<f64> = 18 [double, repeated],
        f8e5m2s: Vec<u8> = 19 [bytes = "vec"],
        f8e4m3fns: Vec<u8> = 20 [bytes = "vec"],
        s4s: Vec<u8> = 21 [bytes = "vec"],
        u4s: Vec<u8> = 22 [bytes = "vec"],
        f8e4m3b11fnuzs: Vec<u8> = 23 [bytes = "vec"],
        f8e5m2fnuzs: Vec<u8> = 24 [bytes = "vec"],
        f8e4m3fnuzs: Vec<u8> = 25 [bytes = "vec"],
        s2s: Vec<u8> = 26 [bytes = "vec"],
        u2s: Vec<u8> = 27 [bytes = "vec"],
        f8e4m3s: Vec<u8> = 28 [bytes = "vec"],
        f8e3m4s: Vec<u8> = 29 [bytes = "vec"],
        s1s: Vec<u8> = 30 [bytes = "vec"],
        u1s: Vec<u8> = 31 [bytes = "vec"],
        f4e2m1fns: Vec<u8> = 32 [bytes = "vec"],
        f8e8m0fnus: Vec<u8> = 33 [bytes = "vec"],
        f6e3m2fns: Vec<u8> = 35 [bytes = "vec"],
        f6e2m3fns: Vec<u8> = 36 [bytes = "vec"],
    }

    Payload {
        value: Vec<u8> = 1 [bytes = "vec"],
        id: i64 = 2 [int64],
    }

    Metadata {
        op_type: String = 1 [string],
        op_name: String = 2 [string],
        source_file: String = 3 [string],
        source_line: i32 = 4 [int32],
        deduplicated_name: String = 12 [string],
        stack_frame_id: i32 = 15 [int32],
        scheduling_name: String = 16 [string],
        source_end_line: i32 = 17 [int32],
        source_column: i32 = 18 [int32],
        source_end_column: i32 = 19 [int32],
    }

    PaddingConfig { dimensions: Vec<PaddingDim> = 1 [message, repeated], }

    WindowDimension {
        size: i64 = 1 [int64],
        stride: i64 = 2 [int64],
        padding_low: i64 = 3 [int64],
        padding_high: i64 = 4 [int64],
        window_dilation: i64 = 5 [int64],
        base_dilation: i64 = 6 [int64],
        window_reversal: bool = 7 [bool],
    }

    Window { dimensions: Vec<WindowDimension> = 1 [message, repeated], }

    GatherDimensions {
        offset_dims: Vec<i64> = 1 [int64, repeated],
        collapsed_slice_dims: Vec<i64> = 2 [int64, repeated],
        start_index_map: Vec<i64> = 3 [int64, repeated],
        index_vector_dim: i64 = 4 [int64],
        operand_batching_dims: Vec<i64> = 5 [int64, repeated],
        start_indices_batching_dims: Vec<i64> = 6 [int64, repeated],
    }

    ScatterDimensions {
        update_window_dims: Vec<i64> = 1 [int64, repeated],
        inserted_window_dims: Vec<i64> = 2 [int64, repeated],
        scatter_dims_to_operand_dims: Vec<i64> = 3 [int64, repeated],
        index_vector_dim: i64 = 4 [int64],
        input_batching_dims: Vec<i64> = 5 [int64, repeated],
        scatter_indices_batching_dims: Vec<i64> = 6 [int64, repeated],
    }

    DotDimensions {
        lhs_contracting_dimensions: Vec<i64> = 1 [int64, repeated],
        rhs_contracting_dimensions: Vec<i64> = 2 [int64, repeated],
        lhs_batch_dimensions: Vec<i64> = 3 [int64, repeated],
        rhs_batch_dimensions: Vec<i64> = 4 [int64, repeated],
    }

    RaggedDotDimensions {
        dot_dimension_numbers: Option<DotDimensions> = 1 [message, optional],
        lhs_ragged_dimensions: Vec<i64> = 2 [int64, repeated],
        rhs_group_dimensions: Vec<i64> = 3 [int64, repeated],
    }

    TriangularSolveOptions {
        left_side: bool = 1 [bool],
        lower: bool = 2 [bool],
        unit_diagonal: bool = 3 [bool],
        transpose_a: i32 = 4 [int32],
    }

    CholeskyOptions { lower: bool = 1 [bool], }
    FrontendAttributes { map: std::collections::BTreeMap<String, String> = 1 [btree_map = "string, string"], }

    PrecisionConfig {
        operand_precision: Vec<i32> = 1 [int32, repeated],
        algorithm: i32 = 2 [int32],
    }

    OutputOperandAliasing {
        output_shape_index: Vec<i64> = 1 [int64, repeated],
        operand_index: i64 = 2 [int64],
        operand_shape_index: Vec<i64> = 3 [int64, repeated],
    }

    ReplicaGroup { replica_ids: Vec<i64> = 1 [int64, repeated], }

    IotaReplicaGroups {
        num_replica_groups: i64 = 1 [int64],
        num_devices_per_group: i64 = 2 [int64],
        iota_reshape_dims: Vec<i64> = 3 [int64, repeated],
        iota_transpose_perm: Vec<i32> = 4 [int32, repeated],
    }

    CollectiveDeviceList { replica_groups: Vec<ReplicaGroup> = 1 [message, repeated], }

    SourceTarget {
        source: i64 = 1 [int64],
        target: i64 = 2 [int64],
    }

    Sharding {
        kind: i32 = 1 [int32],
        tile_assignment_dimensions: Vec<i64> = 3 [int64, repeated],
        tile_assignment_devices: Vec<i64> = 4 [int64, repeated],
        tuple_shardings: Vec<Sharding> = 5 [message, repeated],
        replicate_on_last_tile_dim: bool = 6 [bool],
        last_tile_dims: Vec<i32> = 8 [int32, repeated],
        iota_reshape_dims: Vec<i64> = 9 [int64, repeated],
        iota_transpose_perm: Vec<i32> = 10 [int32, repeated],
        /// A newer form of sharding, which has a mesh. Fusebox does not interpret this form.
        named_sharding: Option<Vec<u8>> = 14 [bytes = "vec", optional],
    }

    Tolerance {
        atol: f64 = 1 [double],
        rtol: f64 = 2 [double],
        ulps: i64 = 3 [int64],
    }

    /// At most one of the fields `mode` and `tolerance` is set.
    ResultAccuracy {
        mode: Option<i32> = 1 [int32, optional],
        tolerance: Option<Tolerance> = 2 [message, optional],
    }
}
