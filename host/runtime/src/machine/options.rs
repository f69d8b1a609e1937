//! Options that a caller sets for a program.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::collectives::USUAL_LIMIT;
use super::simt::ThreadOrder;
use crate::Watchdog;

/// Options for loading and running a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Number of threads of the cpu target's pool. 0 means one thread per processor.
    pub threads: usize,
    /// Order in which the simulator of the simt target runs threads.
    pub order: ThreadOrder,
    /// A watchdog, which reports a kernel of the cpu target if the kernel does not end.
    pub watchdog: Option<Watchdog>,
    /// Determines when the runtime launches a sequence of kernels and copies on a GPU together, as
    /// a CUDA graph.
    pub graphs: Graphs,
    /// Maximum number of launches and copies of an execution that a GPU executes at the same time;
    /// 4 by default.
    pub streams: Option<NonZeroUsize>,
    /// Longest time that a device waits for other devices in an exchange of arrays; a minute by
    /// default.
    pub collective_limit: Option<Duration>,
}

/// Determines when the runtime launches a sequence of kernels and copies on a GPU together, as a
/// CUDA graph. The GPU can execute independent kernels of a graph at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graphs {
    /// Every kernel is launched by itself.
    Never,
    /// A sequence becomes a graph when it is executed for the second time, because building a graph
    /// takes longer than launching its kernels once. A loop becomes a graph when it is executed for
    /// the first time.
    #[default]
    Repeated,
    /// A sequence becomes a graph when it is executed for the first time.
    Always,
}

/// The number of streams if the caller does not choose a number. Some kernels do not wait for each
/// other, for example the products for queries, keys and values. Few programs have more than four
/// such kernels. Every additional stream that a sequence uses costs three more calls of the driver.
const USUAL_STREAMS: usize = 4;

impl Options {
    /// Returns the maximum number of launches and copies that a GPU executes at the same time.
    pub fn stream_count(&self) -> usize {
        self.streams.map_or(USUAL_STREAMS, NonZeroUsize::get)
    }

    /// Returns the longest time that a device waits for other devices.
    pub fn waits_for_devices(&self) -> Duration {
        self.collective_limit.unwrap_or(USUAL_LIMIT)
    }

    /// Returns the number of threads of the cpu target's pool.
    pub fn thread_count(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        if self.threads == 0 { available() } else { self.threads }
    }
}
