//! What an executable runs on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The machine that an executable's code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// Processors like this one.
    Cpu,
    /// The simulator of a GPU.
    Simt,
    /// NVIDIA GPUs of this compute capability, `90` for 9.0, and of later ones.
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
