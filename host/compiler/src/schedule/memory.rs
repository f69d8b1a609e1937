//! The memory that a program needs, and the values that need this memory.

use fusebox_core::hlo::{ComputationId, InstrId, Module};

use super::placement::{Occupancy, PlacementRequest};
use crate::memory_use::{LiveBuffer, MemoryUse};

/// The instruction whose steps create a buffer, and its computation.
pub type BufferProducer = (ComputationId, InstrId);

impl MemoryUse {
    /// Fills in the peak and the buffers that are alive at the peak. The other sizes are not known
    /// yet. `producers` contains the producer of each request.
    pub fn at_peak(
        module: &Module,
        requests: &[PlacementRequest],
        producers: &[Option<BufferProducer>],
        arena: u64,
    ) -> MemoryUse {
        let Occupancy { peak, step } = Occupancy::of(requests);
        let name = |producer: &Option<BufferProducer>| match producer {
            Some((computation, id)) => module.computation(*computation).instruction(*id).name.clone(),
            None => String::new(),
        };
        let mut alive: Vec<LiveBuffer> = requests
            .iter()
            .zip(producers)
            .filter(|(request, _)| request.life.contains(&step))
            .map(|(request, producer)| LiveBuffer {
                instruction: name(producer),
                bytes: request.bytes,
                first: *request.life.start(),
                last: *request.life.end(),
            })
            .collect();
        alive.sort_by_key(|it| (std::cmp::Reverse(it.bytes), it.first));
        MemoryUse { peak, waste: arena.saturating_sub(peak), peak_step: step, alive, ..MemoryUse::default() }
    }
}
