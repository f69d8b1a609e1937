//! Messages of `hlo.proto`: modules, computations, instructions. See `data.rs` about field numbers.

use std::collections::BTreeMap;

use prost::Message;

use super::data;
use crate::hlo::{ConvDims, FileLocation, Opcode, SliceDim};

/// A name and a text, for what XLA's fields do not hold.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TextAttribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TextAttributes {
    #[prost(message, repeated, tag = "1")]
    pub list: Vec<TextAttribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Instruction {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub opcode: String,
    #[prost(message, optional, tag = "3")]
    pub shape: Option<data::Shape>,
    #[prost(message, optional, tag = "7")]
    pub metadata: Option<data::Metadata>,
    #[prost(message, optional, tag = "8")]
    pub literal: Option<data::Literal>,
    #[prost(int64, tag = "9")]
    pub parameter_number: i64,
    #[prost(string, tag = "11")]
    pub fusion_kind: String,
    #[prost(int64, tag = "13")]
    pub tuple_index: i64,
    #[prost(int64, repeated, tag = "14")]
    pub dimensions: Vec<i64>,
    #[prost(message, optional, tag = "15")]
    pub window: Option<data::Window>,
    #[prost(message, optional, tag = "16")]
    pub convolution_dimension_numbers: Option<ConvDims>,
    #[prost(message, repeated, tag = "17")]
    pub slice_dimensions: Vec<SliceDim>,
    #[prost(int32, tag = "18")]
    pub exponent_bits: i32,
    #[prost(int32, tag = "19")]
    pub mantissa_bits: i32,
    #[prost(int64, repeated, tag = "20")]
    pub dynamic_slice_sizes: Vec<i64>,
    #[prost(message, optional, tag = "21")]
    pub padding_config: Option<data::PaddingConfig>,
    #[prost(bytes = "vec", tag = "22")]
    pub outfeed_config: Vec<u8>,
    #[prost(int32, tag = "23")]
    pub distribution: i32,
    #[prost(float, tag = "24")]
    pub epsilon: f32,
    #[prost(int64, tag = "25")]
    pub feature_index: i64,
    #[prost(int64, tag = "26")]
    pub channel_id: i64,
    #[prost(bytes = "vec", tag = "27")]
    pub infeed_config: Vec<u8>,
    #[prost(string, tag = "28")]
    pub custom_call_target: String,
    #[prost(message, optional, tag = "29")]
    pub outfeed_shape: Option<data::Shape>,
    #[prost(message, optional, tag = "30")]
    pub dot_dimension_numbers: Option<data::DotDimensions>,
    #[prost(int32, tag = "31")]
    pub fft_type: i32,
    #[prost(int64, repeated, tag = "32")]
    pub fft_length: Vec<i64>,
    #[prost(message, optional, tag = "33")]
    pub gather_dimension_numbers: Option<data::GatherDimensions>,
    #[prost(int64, repeated, tag = "34")]
    pub gather_slice_sizes: Vec<i64>,
    #[prost(int64, tag = "35")]
    pub id: i64,
    #[prost(int64, repeated, tag = "36")]
    pub operand_ids: Vec<i64>,
    #[prost(int64, repeated, tag = "37")]
    pub control_predecessor_ids: Vec<i64>,
    #[prost(int64, repeated, tag = "38")]
    pub called_computation_ids: Vec<i64>,
    #[prost(message, optional, tag = "40")]
    pub sharding: Option<data::Sharding>,
    #[prost(bytes = "vec", tag = "43")]
    pub backend_config: Vec<u8>,
    #[prost(bool, tag = "47")]
    pub is_host_transfer: bool,
    #[prost(message, optional, tag = "48")]
    pub scatter_dimension_numbers: Option<data::ScatterDimensions>,
    #[prost(message, repeated, tag = "49")]
    pub replica_groups: Vec<data::ReplicaGroup>,
    #[prost(int64, tag = "50")]
    pub feature_group_count: i64,
    #[prost(message, optional, tag = "51")]
    pub precision_config: Option<data::PrecisionConfig>,
    #[prost(message, repeated, tag = "52")]
    pub source_target_pairs: Vec<data::SourceTarget>,
    #[prost(bool, tag = "56")]
    pub constrain_layout: bool,
    #[prost(message, repeated, tag = "57")]
    pub operand_shapes_with_layout: Vec<data::Shape>,
    #[prost(int64, tag = "58")]
    pub batch_group_count: i64,
    #[prost(message, optional, tag = "59")]
    pub triangular_solve_options: Option<data::TriangularSolveOptions>,
    #[prost(bool, tag = "60")]
    pub is_stable: bool,
    #[prost(message, optional, tag = "62")]
    pub cholesky_options: Option<data::CholeskyOptions>,
    #[prost(string, tag = "63")]
    pub comparison_direction: String,
    #[prost(bool, tag = "65")]
    pub custom_call_has_side_effect: bool,
    #[prost(int64, tag = "66")]
    pub delta: i64,
    #[prost(bool, tag = "67")]
    pub indices_are_sorted: bool,
    #[prost(message, optional, tag = "68")]
    pub frontend_attributes: Option<data::FrontendAttributes>,
    #[prost(bool, tag = "69")]
    pub unique_indices: bool,
    #[prost(int32, tag = "70")]
    pub rng_algorithm: i32,
    #[prost(bool, tag = "71")]
    pub use_global_device_ids: bool,
    #[prost(string, tag = "72")]
    pub comparison_type: String,
    #[prost(message, repeated, tag = "74")]
    pub output_operand_aliasing: Vec<data::OutputOperandAliasing>,
    #[prost(int32, tag = "77")]
    pub custom_call_api_version: i32,
    #[prost(string, tag = "79")]
    pub async_execution_thread: String,
    #[prost(int32, optional, tag = "80")]
    pub cross_program_prefetch_index: Option<i32>,
    #[prost(int64, tag = "81")]
    pub k: i64,
    #[prost(bool, tag = "85")]
    pub largest: bool,
    #[prost(message, optional, tag = "87")]
    pub collective_device_list: Option<data::CollectiveDeviceList>,
    #[prost(bool, tag = "89")]
    pub is_composite: bool,
    #[prost(message, optional, tag = "90")]
    pub ragged_dot_dimension_numbers: Option<data::RaggedDotDimensions>,
    #[prost(message, optional, tag = "91")]
    pub result_accuracy: Option<data::ResultAccuracy>,
    #[prost(message, optional, tag = "92")]
    pub iota_collective_device_list: Option<data::IotaReplicaGroups>,
    #[prost(bool, tag = "94")]
    pub is_reverse: bool,
    #[prost(int64, tag = "95")]
    pub num_carries: i64,
    #[prost(int32, tag = "96")]
    pub is_associative: i32,
    #[prost(message, optional, tag = "99")]
    pub backend_config_payload: Option<data::Payload>,
    /// All attributes that are kept as text, if the fields above do not say them all.
    #[prost(message, optional, tag = "100001")]
    pub text: Option<TextAttributes>,
    /// The name, if another computation has an instruction of the same name, which XLA does not
    /// allow: then the field for the name holds another one.
    #[prost(string, optional, tag = "100002")]
    pub own_name: Option<String>,
}

/// The fields of messages in an instruction, made when they are not there.
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

    /// Of a ragged product they stand inside of its own dimension numbers.
    pub fn dot(&mut self) -> &mut data::DotDimensions {
        match self.opcode == Opcode::RaggedDot.name() {
            true => self.ragged_dot().dot_dimension_numbers.get_or_insert_default(),
            false => self.dot_dimension_numbers.get_or_insert_default(),
        }
    }

    pub fn triangular_solve(&mut self) -> &mut data::TriangularSolveOptions {
        self.triangular_solve_options.get_or_insert_default()
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Computation {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, repeated, tag = "2")]
    pub instructions: Vec<Instruction>,
    #[prost(message, optional, tag = "4")]
    pub program_shape: Option<data::ProgramShape>,
    #[prost(int64, tag = "5")]
    pub id: i64,
    #[prost(int64, tag = "6")]
    pub root_id: i64,
    #[prost(bool, tag = "7")]
    pub is_fusion_computation: bool,
    #[prost(string, tag = "8")]
    pub execution_thread: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstructionSequence {
    #[prost(int64, repeated, tag = "1")]
    pub instruction_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Schedule {
    #[prost(btree_map = "int64, message", tag = "1")]
    pub sequences: BTreeMap<i64, InstructionSequence>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AliasEntry {
    #[prost(int64, repeated, tag = "1")]
    pub output_shape_index: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub parameter_number: i64,
    #[prost(int64, repeated, tag = "3")]
    pub parameter_shape_index: Vec<i64>,
    #[prost(int32, tag = "4")]
    pub kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InputOutputAlias {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<AliasEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DonorEntry {
    #[prost(int64, tag = "1")]
    pub parameter_number: i64,
    #[prost(int64, repeated, tag = "2")]
    pub parameter_shape_index: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferDonor {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<DonorEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StackFrame {
    #[prost(int32, tag = "1")]
    pub file_location_id: i32,
    /// Row of the parent, 0 if none: one less than the text says.
    #[prost(int32, tag = "2")]
    pub parent_frame_id: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StackFrameIndex {
    #[prost(string, repeated, tag = "1")]
    pub file_names: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub function_names: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub file_locations: Vec<FileLocation>,
    #[prost(message, repeated, tag = "4")]
    pub stack_frames: Vec<StackFrame>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Module {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub entry_computation_name: String,
    #[prost(message, repeated, tag = "3")]
    pub computations: Vec<Computation>,
    #[prost(message, optional, tag = "4")]
    pub host_program_shape: Option<data::ProgramShape>,
    #[prost(int64, tag = "5")]
    pub id: i64,
    #[prost(int64, tag = "6")]
    pub entry_computation_id: i64,
    #[prost(message, optional, tag = "7")]
    pub schedule: Option<Schedule>,
    #[prost(message, optional, tag = "8")]
    pub input_output_alias: Option<InputOutputAlias>,
    #[prost(message, optional, tag = "17")]
    pub stack_frame_index: Option<StackFrameIndex>,
    #[prost(message, optional, tag = "18")]
    pub buffer_donor: Option<BufferDonor>,
    #[prost(message, optional, tag = "19")]
    pub frontend_attributes: Option<data::FrontendAttributes>,
    #[prost(bytes = "vec", repeated, tag = "22")]
    pub payloads: Vec<Vec<u8>>,
    /// What fusebox wrote beside XLA's fields; absent in modules from elsewhere.
    #[prost(message, optional, tag = "100001")]
    pub fusebox: Option<ModuleExtension>,
}

/// Properties of a module that XLA keeps elsewhere.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModuleExtension {
    #[prost(bool, tag = "1")]
    pub bare: bool,
    #[prost(int64, tag = "2")]
    pub replica_count: i64,
    #[prost(int64, tag = "3")]
    pub num_partitions: i64,
    #[prost(message, optional, tag = "4")]
    pub other_attributes: Option<TextAttributes>,
    /// The text had no entry_computation_layout.
    #[prost(bool, tag = "5")]
    pub no_entry_layout: bool,
}
