//! Messages of `hlo.proto`: modules and computations. See `message/data.rs` about field numbers.

use std::collections::BTreeMap;

use crate::debug_tables::FileLocation;
use crate::message::{Instruction, TextAttributes, data, messages};

messages! {
    Computation {
        name: String = 1 [string],
        instructions: Vec<Instruction> = 2 [message, repeated],
        program_shape: Option<data::ProgramShape> = 4 [message, optional],
        id: i64 = 5 [int64],
        root_id: i64 = 6 [int64],
        is_fusion_computation: bool = 7 [bool],
        execution_thread: String = 8 [string],
    }

    InstructionSequence { instruction_ids: Vec<i64> = 1 [int64, repeated], }
    Schedule { sequences: BTreeMap<i64, InstructionSequence> = 1 [btree_map = "int64, message"], }

    AliasEntry {
        output_shape_index: Vec<i64> = 1 [int64, repeated],
        parameter_number: i64 = 2 [int64],
        parameter_shape_index: Vec<i64> = 3 [int64, repeated],
        kind: i32 = 4 [int32],
    }

    InputOutputAlias { entries: Vec<AliasEntry> = 1 [message, repeated], }

    DonorEntry {
        parameter_number: i64 = 1 [int64],
        parameter_shape_index: Vec<i64> = 2 [int64, repeated],
    }

    BufferDonor { entries: Vec<DonorEntry> = 1 [message, repeated], }

    StackFrame {
        file_location_id: i32 = 1 [int32],
        /// Row of the parent frame, or 0 if the frame has no parent. HLO text contains this row
        /// number plus 1.
        parent_frame_id: i32 = 2 [int32],
    }

    StackFrameIndex {
        file_names: Vec<String> = 1 [string, repeated],
        function_names: Vec<String> = 2 [string, repeated],
        file_locations: Vec<FileLocation> = 3 [message, repeated],
        stack_frames: Vec<StackFrame> = 4 [message, repeated],
    }

    Module {
        name: String = 1 [string],
        entry_computation_name: String = 2 [string],
        computations: Vec<Computation> = 3 [message, repeated],
        host_program_shape: Option<data::ProgramShape> = 4 [message, optional],
        id: i64 = 5 [int64],
        entry_computation_id: i64 = 6 [int64],
        schedule: Option<Schedule> = 7 [message, optional],
        input_output_alias: Option<InputOutputAlias> = 8 [message, optional],
        stack_frame_index: Option<StackFrameIndex> = 17 [message, optional],
        buffer_donor: Option<BufferDonor> = 18 [message, optional],
        frontend_attributes: Option<data::FrontendAttributes> = 19 [message, optional],
        payloads: Vec<Vec<u8>> = 22 [bytes = "vec", repeated],
        /// Additions of fusebox to XLA's fields; absent in modules written by other programs.
        fusebox: Option<ModuleExtension> = 100001 [message, optional],
    }

    /// Properties of a module that XLA does not keep in its module message.
    ModuleExtension {
        bare: bool = 1 [bool],
        replica_count: i64 = 2 [int64],
        num_partitions: i64 = 3 [int64],
        other_attributes: Option<TextAttributes> = 4 [message, optional],
        /// Whether the module's HLO text had no `entry_computation_layout`.
        no_entry_layout: bool = 5 [bool],
    }
}
