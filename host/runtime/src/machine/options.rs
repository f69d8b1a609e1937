//! Options that a caller sets for a program.

use super::simt::ThreadOrder;
use crate::Watchdog;

/// Options for loading and running a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Number of threads of the cpu target's pool. 0 means one thread per processor.
    pub threads: usize,
    /// Order in which the simulator of the simt target runs threads.
    pub order: ThreadOrder,
    /// A watchdog that reports a kernel of the cpu target that does not end.
    pub watchdog: Option<Watchdog>,
    /// How a GPU gets its work.
    pub launching: Launching,
}

/// How a GPU gets its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Launching {
    /// Sequences of launches and copies are launched together, as CUDA graphs, when they are
    /// executed repeatedly. The GPU can execute independent kernels at the same time.
    #[default]
    Graphs,
    /// Every kernel is launched by itself. The kernels are executed one after the other.
    Single,
}

impl Options {
    /// Returns the number of threads of the cpu target's pool.
    pub fn thread_count(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        if self.threads == 0 { available() } else { self.threads }
    }
}
