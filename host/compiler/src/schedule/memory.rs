//! The memory that a program needs, and the values that need this memory.

use fusebox_core::hlo::{ComputationId, InstrId, Module};

use super::placement::{Occupancy, PlacementRequest};
use crate::memory_use::{LiveBuffer, MemoryUse};

/// The instruction whose steps create a buffer, and its computation.
pub type BufferProducer = (ComputationId, InstrId);

/// A buffer that thunks write and that is placed in memory of its own: a temporary in the arena, or
/// a result.
#[derive(Clone, Debug)]
pub struct WrittenBuffer {
    /// Size and lifetime.
    pub request: PlacementRequest,
    /// The instruction that first writes the buffer.
    pub producer: Option<BufferProducer>,
}

impl MemoryUse {
    /// Computes the peak of memory use, and the buffers that are alive at the peak. The other sizes
    /// in [`MemoryUse`] are not known yet. `temporaries` are the buffers in the arena of `arena`
    /// bytes. `results` have their own allocations, which exist during the whole execution.
    pub fn at_peak(module: &Module, temporaries: &[WrittenBuffer], results: &[WrittenBuffer], arena: u64) -> MemoryUse {
        let requests: Vec<PlacementRequest> = temporaries.iter().map(|it| it.request.clone()).collect();
        let Occupancy { peak, step } = Occupancy::of(&requests);
        let name = |producer: &Option<BufferProducer>| match producer {
            Some((computation, id)) => module.computation(*computation).instruction(*id).name.clone(),
            None => String::new(),
        };
        let at_peak = temporaries.iter().filter(|it| it.request.life.contains(&step));
        let live = |it: &WrittenBuffer| LiveBuffer {
            instruction: name(&it.producer),
            bytes: it.request.bytes,
            first: *it.request.life.start(),
            last: *it.request.life.end(),
        };
        let mut alive: Vec<LiveBuffer> = at_peak.chain(results).map(live).collect();
        alive.sort_by_key(|it| (std::cmp::Reverse(it.bytes), it.first));
        let of_results: u64 = results.iter().map(|it| it.request.bytes).sum();
        let (peak, waste) = (of_results + peak, arena.saturating_sub(peak));
        MemoryUse { peak, waste, peak_step: step, alive, ..MemoryUse::default() }
    }
}
