//! The command line's choice of CUDA graphs.

use clap::{Args, ValueEnum};
use fusebox_runtime::Graphs;

/// When sequences of kernels are launched together on a GPU.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct GraphChoice {
    /// When to launch sequences of kernels together on a GPU, as CUDA graphs
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    graphs: When,
    /// Launch every kernel on a GPU by itself, like --graphs never
    #[arg(long, conflicts_with = "graphs")]
    no_graphs: bool,
}

/// When sequences of kernels become graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum When {
    /// Every kernel is launched by itself
    Never,
    /// From the second execution on
    #[default]
    Repeated,
    /// From the first execution on
    Always,
}

impl GraphChoice {
    /// Returns the option of the runtime.
    pub fn when(&self) -> Graphs {
        match self.graphs {
            _ if self.no_graphs => Graphs::Never,
            When::Never => Graphs::Never,
            When::Repeated => Graphs::Repeated,
            When::Always => Graphs::Always,
        }
    }
}
