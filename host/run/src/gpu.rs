//! The command line's choices for executions on a GPU.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use fusebox_runtime::{Graphs, Options};

/// How the user wants the runtime to launch kernels on a GPU.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct GpuChoice {
    /// When to launch sequences of kernels together on a GPU, as CUDA graphs
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    graphs: When,
    /// Launch every kernel on a GPU by itself, like --graphs never
    #[arg(long, conflicts_with = "graphs")]
    no_graphs: bool,
    /// The most kernels that a GPU executes at the same time, in streams or in branches of a graph;
    /// 4 by default
    #[arg(long, value_name = "N")]
    streams: Option<NonZeroUsize>,
}

/// When sequences of kernels become graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum When {
    /// Launch every kernel by itself
    Never,
    /// Launch graphs, starting with the second execution of a program
    #[default]
    Repeated,
    /// Launch graphs, starting with the first execution of a program
    Always,
}

impl GpuChoice {
    /// Returns options of the runtime with these choices.
    pub fn applied(&self, options: Options) -> Options {
        Options { graphs: self.when(), streams: self.streams, ..options }
    }

    fn when(&self) -> Graphs {
        match self.graphs {
            _ if self.no_graphs => Graphs::Never,
            When::Never => Graphs::Never,
            When::Repeated => Graphs::Repeated,
            When::Always => Graphs::Always,
        }
    }
}
