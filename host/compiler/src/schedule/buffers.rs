//! Buffers of values. At first each value has its own buffer. When all uses are known, buffers that
//! are not alive at the same time share memory.
//!
//! Before placement, a slice's allocation number is the number of its buffer.

use fusebox_core::hlo::Module;
use fusebox_runtime::{Allocation, AllocationKind, Slice, Thunk};
use fusebox_thunks::for_all;

use super::concurrency::RequiredOrder;
use super::memory::{BufferProducer, WrittenBuffer};
use super::placement::{PlacementRequest, with_less_order};
use super::result_memory::share;
use crate::memory_use::MemoryUse;

/// Requirements of a target for buffers.
#[derive(Clone, Copy, Debug)]
pub struct BufferRules {
    /// Offsets are multiples of this number of bytes.
    pub alignment: u64,
    /// Whether independent thunks may be executed at the same time.
    pub is_concurrent: bool,
}

/// Buffers before placement. Time is counted in steps of the whole program. The steps of a loop's
/// body lie between the loop's first and last step.
pub struct Buffers {
    rules: BufferRules,
    buffers: Vec<Buffer>,
    now: u32,
    /// Instruction whose steps are being created.
    producer: Option<BufferProducer>,
}

struct Buffer {
    bytes: u64,
    kind: AllocationKind,
    /// First and last step that reads or writes the buffer.
    life: Option<(u32, u32)>,
    producer: Option<BufferProducer>,
}

/// The result of placement: allocations, and the location of each buffer.
pub struct PlacedBuffers {
    /// The allocations.
    pub allocations: Vec<Allocation>,
    /// The program's memory, by purpose.
    pub memory: MemoryUse,
    /// Allocation and offset of each buffer.
    places: Vec<(u32, u64)>,
}

impl Buffers {
    /// Creates an empty set of buffers.
    pub fn new(rules: BufferRules) -> Self {
        Buffers { rules, buffers: Vec::new(), now: 0, producer: None }
    }

    /// Adds a buffer that the caller of the program fills.
    pub fn parameter(&mut self, bytes: u64) -> Slice {
        self.add(bytes, AllocationKind::Parameter)
    }

    /// Adds a buffer that the caller of the program fills and that thunks may write.
    pub fn donated(&mut self, bytes: u64) -> Slice {
        self.add(bytes, AllocationKind::Donated)
    }

    /// Adds a buffer with these contents.
    pub fn constant(&mut self, data: Vec<u8>) -> Slice {
        self.add(data.len() as u64, AllocationKind::Constant(data))
    }

    /// Adds a buffer that thunks write.
    pub fn temporary(&mut self, bytes: u64) -> Slice {
        self.add(bytes, AllocationKind::Temporary)
    }

    /// Declares that a slice holds a result. If thunks write the slice, its buffer becomes a
    /// separate allocation, which the program returns to its caller.
    pub fn hand_out(&mut self, slice: &Slice) {
        let kind = &mut self.buffers[slice.allocation as usize].kind;
        if *kind == AllocationKind::Temporary {
            *kind = AllocationKind::Result;
        }
    }

    /// Whether thunks may write the slice.
    pub fn is_writable(&self, slice: &Slice) -> bool {
        self.buffers[slice.allocation as usize].kind.is_writable()
    }

    /// Returns the requirements of the target.
    pub fn rules(&self) -> BufferRules {
        self.rules
    }

    /// Returns the number of buffers.
    pub fn count(&self) -> usize {
        self.buffers.len()
    }

    /// Declares that no step uses a buffer any more.
    pub fn forget(&mut self, buffer: u32) {
        self.buffers[buffer as usize].life = None;
    }

    fn add(&mut self, bytes: u64, kind: AllocationKind) -> Slice {
        self.buffers.push(Buffer { bytes, kind, life: None, producer: self.producer });
        Slice { allocation: self.buffers.len() as u32 - 1, offset: 0, bytes }
    }

    /// Sets the instruction that is recorded as the producer of buffers added later. Returns the
    /// previous instruction.
    pub fn make_for(&mut self, producer: Option<BufferProducer>) -> Option<BufferProducer> {
        std::mem::replace(&mut self.producer, producer)
    }

    /// Returns the current step.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Advances to the next step.
    pub fn step(&mut self) {
        self.now += 1;
    }

    /// Declares that the current step reads or writes the slices.
    pub fn touch<'s>(&mut self, slices: impl IntoIterator<Item = &'s Slice>) {
        for slice in slices {
            let life = &mut self.buffers[slice.allocation as usize].life;
            let (first, last) = life.unwrap_or((self.now, self.now));
            *life = Some((first.min(self.now), last.max(self.now)));
        }
    }

    /// Places all buffers. Temporaries share one allocation, or are in the memory of results that
    /// are written later. `order` is the order of thunks that the program requires as long as no
    /// buffers share memory.
    pub fn place(self, module: &Module, order: &RequiredOrder) -> PlacedBuffers {
        let places = vec![(0, 0); self.buffers.len()];
        let mut placed = PlacedBuffers { allocations: Vec::new(), memory: MemoryUse::default(), places };
        let (mut temporaries, mut results) = (Vec::new(), Vec::new());
        for (index, buffer) in self.buffers.iter().enumerate() {
            match (&buffer.kind, buffer.life) {
                (AllocationKind::Temporary, Some((first, last))) => {
                    let bytes = buffer.bytes.max(1).next_multiple_of(self.rules.alignment);
                    temporaries.push((index, PlacementRequest { bytes, life: first..=last }));
                }
                (AllocationKind::Temporary, None) => {}
                (kind, life) => {
                    placed.places[index] = (placed.allocations.len() as u32, 0);
                    placed.allocations.push(Allocation { bytes: buffer.bytes, kind: kind.clone() });
                    if let (AllocationKind::Result, Some((first, last))) = (kind, life) {
                        results.push((index, PlacementRequest { bytes: buffer.bytes, life: first..=last }));
                    }
                }
            }
        }
        self.place_temporaries(&mut placed, (module, order), temporaries, results);
        placed
    }

    /// Places temporaries, and computes the memory of temporaries and results.
    fn place_temporaries(
        &self,
        placed: &mut PlacedBuffers,
        (module, order): (&Module, &RequiredOrder),
        temporaries: Vec<(usize, PlacementRequest)>,
        results: Vec<(usize, PlacementRequest)>,
    ) {
        let (indices, requests): (Vec<usize>, Vec<PlacementRequest>) = temporaries.into_iter().unzip();
        let (of_results, lives): (Vec<usize>, Vec<PlacementRequest>) = results.into_iter().unzip();
        let mut shared = share(&requests, &lives);
        if self.rules.is_concurrent {
            let alone = (0..requests.len()).filter(|&number| shared.in_results[number].is_none());
            let alone: Vec<usize> = alone.collect();
            let added = |one: usize, other: usize| order.added(indices[alone[one]], indices[alone[other]]);
            let of_arena: Vec<PlacementRequest> = alone.iter().map(|&number| requests[number].clone()).collect();
            shared.arena = with_less_order(&of_arena, shared.arena, &added);
        }
        let arena = placed.allocations.len() as u32;
        let mut offsets = shared.arena.offsets.into_iter();
        let mut in_arena = Vec::new();
        let written = |(&index, request): (&usize, PlacementRequest)| WrittenBuffer {
            request,
            producer: self.buffers[index].producer,
        };
        for ((index, request), place) in indices.iter().zip(requests).zip(shared.in_results) {
            placed.places[*index] = match place {
                Some((result, offset)) => (placed.places[of_results[result]].0, offset),
                None => {
                    in_arena.push(written((index, request)));
                    (arena, offsets.next().unwrap_or_default())
                }
            };
        }
        if shared.arena.bytes > 0 {
            placed.allocations.push(Allocation { bytes: shared.arena.bytes, kind: AllocationKind::Temporary });
        }
        let results: Vec<WrittenBuffer> = of_results.iter().zip(lives).map(written).collect();
        placed.memory = MemoryUse::at_peak(module, &in_arena, &results, shared.arena.bytes);
    }
}

impl PlacedBuffers {
    /// Replaces a slice of a buffer by its location in an allocation.
    pub fn resolve(&self, slice: &mut Slice) {
        let (allocation, offset) = self.places[slice.allocation as usize];
        slice.allocation = allocation;
        slice.offset += offset;
    }

    /// Resolves all slices of thunks.
    pub fn resolve_all(&self, thunks: &mut [Thunk]) {
        for_all(thunks, &mut |thunk| thunk.places_mut().into_iter().for_each(|slice| self.resolve(slice)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_alive_together_never_overlap() {
        let mut buffers = Buffers::new(BufferRules { alignment: 64, is_concurrent: false });
        let sizes = [100, 64, 1, 300, 64, 0, 200, 128];
        let slices: Vec<Slice> = sizes.iter().map(|&bytes| buffers.temporary(bytes)).collect();
        let lives = [(0, 3), (1, 2), (2, 2), (3, 6), (4, 5), (4, 4), (5, 7), (7, 7)];
        for now in 0..8 {
            for (slice, (first, last)) in slices.iter().zip(lives) {
                if now == first || now == last {
                    buffers.touch([slice]);
                }
            }
            buffers.step();
        }
        let placed = buffers.place(&Module::default(), &RequiredOrder::default());
        let mut resolved = slices.clone();
        resolved.iter_mut().for_each(|s| placed.resolve(s));
        for a in 0..slices.len() {
            assert_eq!(resolved[a].offset % 64, 0);
            for b in 0..a {
                let together = lives[a].0 <= lives[b].1 && lives[b].0 <= lives[a].1;
                assert!(!(together && resolved[a].overlaps(&resolved[b])), "{a} and {b}");
            }
        }
        let total: u64 = sizes.iter().map(|&s| u64::from(s as u32).max(1).next_multiple_of(64)).sum();
        assert!(placed.allocations[0].bytes < total, "places are shared");
    }
}
