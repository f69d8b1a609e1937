//! The five emitters.

/// How threads are dealt to a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Warps of threads for each row.
    Row,
    /// Several short rows for each warp.
    MultiRow,
    /// A tile of columns.
    Column,
    /// Columns fewer than a warp has threads, read as if they were one row.
    SmallColumn,
    /// A block for everything.
    Scalar,
}

impl Form {
    /// All forms, in the order in which they are listed.
    pub const ALL: [Form; 5] = [Form::Row, Form::MultiRow, Form::Column, Form::SmallColumn, Form::Scalar];

    /// The emitter's name.
    pub fn name(self) -> &'static str {
        match self {
            Form::Row => "row-reduce",
            Form::MultiRow => "multi-row-reduce",
            Form::Column => "column-reduce",
            Form::SmallColumn => "small-column-reduce",
            Form::Scalar => "scalar-reduce",
        }
    }
}
