//! Defines the targets for which executables are compiled.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of machine for which an executable is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The host's processor. Another machine can run the executable if its processor has the same
    /// instruction sets.
    Cpu,
    /// The simulator of a GPU on the host.
    Simt,
    /// NVIDIA GPUs with at least this compute capability (`90` for 9.0).
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
