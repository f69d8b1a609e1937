//! The phases of a compilation, in order, and the names of their dumps.

/// A phase of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Parses text or protobuf to a verified module.
    Parse,
    /// Rewrites HLO to simpler HLO.
    Passes,
    /// Groups instructions of HLO into fusions.
    Fuse,
    /// Selects an emitter for each fusion, with reasons.
    Select,
    /// Plans the launch dimensions and indexing maps of each fusion.
    Plan,
    /// Builds the kernel IR of each plan.
    Emit,
    /// Lowers kernel IR, in several stages, to LLVM IR.
    Lower,
    /// Compiles LLVM IR to machine code.
    Code,
    /// Arranges kernels and buffers into a sequence of thunks.
    Schedule,
    /// Executes the thunks.
    Run,
}

impl Phase {
    /// All phases in order.
    pub const ALL: &'static [Phase] = &[
        Phase::Parse,
        Phase::Passes,
        Phase::Fuse,
        Phase::Select,
        Phase::Plan,
        Phase::Emit,
        Phase::Lower,
        Phase::Code,
        Phase::Schedule,
        Phase::Run,
    ];

    /// Returns the name of the phase, for users and for file names.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Parse => "parsed",
            Phase::Passes => "passes",
            Phase::Fuse => "fused",
            Phase::Select => "selected",
            Phase::Plan => "plan",
            Phase::Emit => "emitted",
            Phase::Lower => "lowered",
            Phase::Code => "code",
            Phase::Schedule => "thunks",
            Phase::Run => "result",
        }
    }

    /// Returns the name of a dump, for example `03-fused.hlo` or `05-plan.add.txt`.
    pub fn file_name(self, part: &str, extension: &str) -> String {
        let number = self as usize + 1;
        let part = if part.is_empty() { String::new() } else { format!(".{part}") };
        format!("{number:02}-{}{part}.{extension}", self.name())
    }
}
