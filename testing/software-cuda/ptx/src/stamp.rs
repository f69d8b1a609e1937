//! The order of pieces of work on the streams of a context.

use std::sync::Arc;

/// Identity of a piece of work (a launch, a copy, a fill, an access by the host), and the work that
/// is ordered before it. The host counts as a stream, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The stream that executes the work.
    pub stream: u32,
    /// The number of the work on its stream; the first is 1.
    pub position: u64,
    /// For each stream, the number of its last work that is ordered before this work. Streams
    /// beyond the end of the list have no work that is ordered before this work. The entry of the
    /// work's own stream is the number of the work's predecessor.
    pub clock: Arc<[u64]>,
}

impl Stamp {
    /// Returns a stamp for work of a single stream, on which each work follows its predecessor.
    pub fn in_order(position: u64) -> Stamp {
        Stamp { stream: 0, position, clock: Arc::new([position.saturating_sub(1)]) }
    }

    /// Whether the work with this number on a stream is ordered before this work, or is this work.
    pub fn follows(&self, stream: u32, position: u64) -> bool {
        (stream == self.stream && position <= self.position)
            || self.clock.get(stream as usize).is_some_and(|&known| position <= known)
    }
}
