//! The message of an instruction in `hlo.proto`. See `data.rs` about field numbers.

use super::{data, messages};
use crate::dims::{ConvDims, SliceDim};

/// The opcode of a ragged dot.
pub(crate) const RAGGED_DOT: &str = "ragged-dot";

messages! {
    /// An attribute as text, for content that XLA's fields cannot hold.
    TextAttribute {
        name: String = 1 [string],
        value: String = 2 [string],
    }

    TextAttributes { list: Vec<TextAttribute> = 1 [message, repeated], }

    Instruction {
        name: String = 1 [string],
        opcode: String = 2 [string],
        shape: Option<data::Shape> = 3 [message, optional],
        metadata: Option<data::Metadata> = 7 [message, optional],
        literal: Option<data::Literal> = 8 [message, optional],
        parameter_number: i64 = 9 [int64],
        fusion_kind: String = 11 [string],
        tuple_index: i64 = 13 [int64],
        dimensions: Vec<i64> = 14 [int64, repeated],
        window: Option<data::Window> = 15 [message, optional],
        convolution_dimension_numbers: Option<ConvDims> = 16 [message, optional],
        slice_dimensions: Vec<SliceDim> = 17 [message, repeated],
        exponent_bits: i32 = 18 [int32],
        mantissa_bits: i32 = 19 [int32],
        dynamic_slice_sizes: Vec<i64> = 20 [int64, repeated],
        padding_config: Option<data::PaddingConfig> = 21 [message, optional],
        outfeed_config: Vec<u8> = 22 [bytes = "vec"],
        distribution: i32 = 23 [int32],
        epsilon: f32 = 24 [float],
        feature_index: i64 = 25 [int64],
        channel_id: i64 = 26 [int64],
        infeed_config: Vec<u8> = 27 [bytes = "vec"],
        custom_call_target: String = 28 [string],
        outfeed_shape: Option<data::Shape> = 29 [message, optional],
        dot_dimension_numbers: Option<data::DotDimensions> = 30 [message, optional],
        fft_type: i32 = 31 [int32],
        fft_length: Vec<i64> = 32 [int64, repeated],
        gather_dimension_numbers: Option<data::GatherDimensions> = 33 [message, optional],
        gather_slice_sizes: Vec<i64> = 34 [int64, repeated],
        id: i64 = 35 [int64],
        operand_ids: Vec<i64> = 36 [int64, repeated],
        control_predecessor_ids: Vec<i64> = 37 [int64, repeated],
        called_computation_ids: Vec<i64> = 38 [int64, repeated],
        sharding: Option<data::Sharding> = 40 [message, optional],
        backend_config: Vec<u8> = 43 [bytes = "vec"],
        is_host_transfer: bool = 47 [bool],
        scatter_dimension_numbers: Option<data::ScatterDimensions> = 48 [message, optional],
        replica_groups: Vec<data::ReplicaGroup> = 49 [message, repeated],
        feature_group_count: i64 = 50 [int64],
        precision_config: Option<data::PrecisionConfig> = 51 [message, optional],
        source_target_pairs: Vec<data::SourceTarget> = 52 [message, repeated],
        constrain_layout: bool = 56 [bool],
        operand_shapes_with_layout: Vec<data::Shape> = 57 [message, repeated],
        batch_group_count: i64 = 58 [int64],
        triangular_solve_options: Option<data::TriangularSolveOptions> = 59 [message, optional],
        is_stable: bool = 60 [bool],
        cholesky_options: Option<data::CholeskyOptions> = 62 [message, optional],
        comparison_direction: String = 63 [string],
        custom_call_has_side_effect: bool = 65 [bool],
        delta: i64 = 66 [int64],
        indices_are_sorted: bool = 67 [bool],
        frontend_attributes: Option<data::FrontendAttributes> = 68 [message, optional],
        unique_indices: bool = 69 [bool],
        rng_algorithm: i32 = 70 [int32],
        use_global_device_ids: bool = 71 [bool],
        comparison_type: String = 72 [string],
        output_operand_aliasing: Vec<data::OutputOperandAliasing> = 74 [message, repeated],
        custom_call_api_version: i32 = 77 [int32],
        async_execution_thread: String = 79 [string],
        cross_program_prefetch_index: Option<i32> = 80 [int32, optional],
        k: i64 = 81 [int64],
        largest: bool = 85 [bool],
        collective_device_list: Option<data::CollectiveDeviceList> = 87 [message, optional],
        is_composite: bool = 89 [bool],
        ragged_dot_dimension_numbers: Option<data::RaggedDotDimensions> = 90 [message, optional],
        result_accuracy: Option<data::ResultAccuracy> = 91 [message, optional],
        iota_collective_device_list: Option<data::IotaReplicaGroups> = 92 [message, optional],
        is_reverse: bool = 94 [bool],
        num_carries: i64 = 95 [int64],
        is_associative: i32 = 96 [int32],
        backend_config_payload: Option<data::Payload> = 99 [message, optional],
        /// All attributes that fusebox keeps as text, if the fields above do not represent these
        /// attributes completely.
        text: Option<TextAttributes> = 100001 [message, optional],
        /// The original name of the instruction, if another computation has an instruction with the
        /// same name. In this case `name` differs from the original name, because XLA requires
        /// unique names.
        own_name: Option<String> = 100002 [string, optional],
    }
}

/// Accessors of messages that are fields of an instruction. If a message is missing, the accessor
/// creates it.
impl Instruction {
    pub fn gather(&mut self) -> &mut data::GatherDimensions {
        self.gather_dimension_numbers.get_or_insert_default()
    }

    pub fn scatter(&mut self) -> &mut data::ScatterDimensions {
        self.scatter_dimension_numbers.get_or_insert_default()
    }

    pub fn ragged_dot(&mut self) -> &mut data::RaggedDotDimensions {
        self.ragged_dot_dimension_numbers.get_or_insert_default()
    }

    /// Returns the dimension numbers of a dot. For a ragged dot, the ragged dimension numbers
    /// contain the dimension numbers of the dot.
    pub fn dot(&mut self) -> &mut data::DotDimensions {
        if self.opcode == RAGGED_DOT {
            self.ragged_dot().dot_dimension_numbers.get_or_insert_default()
        } else {
            self.dot_dimension_numbers.get_or_insert_default()
        }
    }

    pub fn triangular_solve(&mut self) -> &mut data::TriangularSolveOptions {
        self.triangular_solve_options.get_or_insert_default()
    }
}
