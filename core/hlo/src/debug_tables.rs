//! The tables with the source locations of instructions.

use crate::message::public_messages;

/// The tables with the source locations of instructions. The field `stack_frame_id` of
/// [`Metadata`](crate::Metadata) refers to these tables. Rows are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DebugTables {
    /// Names of source files.
    pub file_names: Vec<String>,
    /// Names of functions.
    pub function_names: Vec<String>,
    /// Source locations.
    pub file_locations: Vec<FileLocation>,
    /// Frames.
    pub stack_frames: Vec<StackFrame>,
}

public_messages! {
    /// A row of `FileLocations`.
    #[derive(Copy, Eq)]
    FileLocation {
        /// Row of `FileNames`.
        file_name_id: i64 = 1 [int64],
        /// Row of `FunctionNames`.
        function_name_id: i64 = 2 [int64],
        /// First line.
        line: i64 = 3 [int64],
        /// Last line.
        end_line: i64 = 5 [int64],
        /// First column.
        column: i64 = 4 [int64],
        /// Last column.
        end_column: i64 = 6 [int64],
    }
}

/// A row of `StackFrames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StackFrame {
    /// Row of `FileLocations`.
    pub file_location_id: i64,
    /// The parent frame as HLO text states it: the number of the parent's row plus 1. For a root
    /// frame, this number is 1.
    pub parent_frame_id: i64,
}
