//! Targets of executables.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The machine for which an executable is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The host's processor and processors like it.
    Cpu,
    /// The simulator of a GPU.
    Simt,
    /// NVIDIA GPUs with this compute capability (`90` for 9.0) or a later one.
    Cuda(u32),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cpu => f.write_str("cpu"),
            Target::Simt => f.write_str("simt"),
            Target::Cuda(capability) => write!(f, "sm_{capability}"),
        }
    }
}
