//! Checks the memory accesses of simulated kernels.

use super::fault::{FaultKind, Faults, KernelMemory, SimulatorFault};
use super::history::{AccessKind, Event, History, HistoryTooLarge};
use crate::{Access, KernelArgument};

pub struct Checker {
    /// The memories of the kernel's arguments, followed by the memories of the tiles.
    memories: Vec<WatchedMemory>,
    /// Index of the memory of the last access. The search for a memory starts at this index,
    /// because the next access is often to the same memory.
    last: usize,
    /// The current event: the running thread, its block, and the number of barriers that the block
    /// has passed.
    pub now: Event,
    /// The error, if memory for the history of an access could not be allocated.
    pub short: Option<HistoryTooLarge>,
    faults: Faults,
}

struct WatchedMemory {
    name: KernelMemory,
    start: u64,
    bytes: u64,
    element_bytes: u64,
    rule: AccessRule,
    history: History,
}

/// The rule that says which accesses to a memory are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct AccessRule {
    written: WriteLimit,
    /// Whether elements have a value before the kernel writes them.
    initialised: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteLimit {
    Never,
    Once,
    Often,
}

impl Checker {
    /// Creates the checker of a launch. `addresses` are the addresses of the buffers of
    /// `arguments`.
    pub fn new(arguments: &[KernelArgument], addresses: &[*mut u8]) -> Checker {
        let all: Vec<(&KernelArgument, u64)> =
            arguments.iter().zip(addresses.iter().map(|&start| start as u64)).collect();
        Checker {
            memories: (0..all.len()).filter_map(|number| WatchedMemory::argument(&all, number)).collect(),
            last: 0,
            now: Event { block: 0, thread: 0, epoch: 0, site: -1, atomic: false },
            short: None,
            faults: Faults::default(),
        }
    }

    /// Adds a tile of shared memory. The contents of the tile are separate for every block,
    /// although all blocks use the same address.
    pub fn add_tile(&mut self, number: usize, start: u64, bytes: u64, element_bytes: u32) {
        let rule = AccessRule { written: WriteLimit::Often, initialised: false };
        self.memories.push(WatchedMemory::new(KernelMemory::Tile(number), start, bytes, element_bytes, rule));
    }

    /// Checks and records an access to `bytes` bytes at the address `place`. The access must lie in
    /// the memory that starts at `tensor`. Returns `false` if the kernel must not make the access.
    pub fn access(&mut self, tensor: u64, place: u64, bytes: u64, kind: AccessKind, site: i32) -> bool {
        let now = Event { site, atomic: kind == AccessKind::Atomic, ..self.now };
        let Some(index) = self.find(tensor) else {
            let fault = FaultKind::OutOfBounds { memory: KernelMemory::Unknown, kind, bytes, offset: 0, size: 0 };
            self.faults.add(SimulatorFault { kind: fault, at: now });
            return false;
        };
        self.last = index;
        let memory = &mut self.memories[index];
        let inside = place >= memory.start && place + bytes <= memory.start + memory.bytes;
        if inside && kind == AccessKind::Read {
            let first = (place - memory.start) / memory.element_bytes;
            super::trace::read(memory.name, first, bytes.div_ceil(memory.element_bytes));
            if memory.rule.written == WriteLimit::Never {
                return true;
            }
        }
        let name = memory.name;
        if !inside {
            let (offset, size) = (place.wrapping_sub(memory.start) as i64, memory.bytes);
            let fault = FaultKind::OutOfBounds { memory: name, kind, bytes, offset, size };
            self.faults.add(SimulatorFault { kind: fault, at: now });
            return false;
        }
        let first = ((place - memory.start) / memory.element_bytes) as usize;
        if memory.rule.written == WriteLimit::Never {
            self.faults.add(SimulatorFault { kind: FaultKind::ReadOnly { memory: name, element: first }, at: now });
            return false;
        }
        let elements = first..first + bytes.div_ceil(memory.element_bytes) as usize;
        // A vector read of a row in a tile may include uninitialised padding, because the kernel
        // drops these lanes. So allow uninitialised lanes if at least one lane has a value.
        let (mut lanes, has_padding) = (elements.len(), matches!(name, KernelMemory::Tile(_)));
        for element in elements {
            match memory.access_element(element, kind, now) {
                Ok(Some(FaultKind::Uninitialised { .. })) if has_padding && lanes > 1 => lanes -= 1,
                Ok(fault) => fault.into_iter().for_each(|kind| self.faults.add(SimulatorFault { kind, at: now })),
                Err(short) => {
                    self.short = Some(short);
                    return false;
                }
            }
        }
        true
    }

    /// Records the fault that an index is out of the bounds of a dimension.
    pub fn index_out_of_bounds(&mut self, tensor: u64, dimension: i32, index: i64, size: i64, site: i32) {
        let memory = self.find(tensor).map_or(KernelMemory::Unknown, |index| self.memories[index].name);
        self.fault(FaultKind::Index { memory, dimension, index, size }, site);
    }

    fn find(&self, tensor: u64) -> Option<usize> {
        if self.memories.get(self.last).is_some_and(|memory| memory.start == tensor) {
            return Some(self.last);
        }
        self.memories.iter().position(|memory| memory.start == tensor)
    }

    /// Records a fault of the running thread at the position `site`.
    pub fn fault(&mut self, kind: FaultKind, site: i32) {
        self.faults.add(SimulatorFault { kind, at: Event { site, ..self.now } });
    }

    /// Checks that the kernel has written every element of its write-once outputs. Call this
    /// function after the whole grid has run.
    pub fn check_coverage(&mut self) {
        for memory in &self.memories {
            let to_be_covered = memory.rule == AccessRule { written: WriteLimit::Once, initialised: false };
            if let Some(element) = memory.history.first_unwritten().filter(|_| to_be_covered) {
                let kind = FaultKind::NeverWritten { memory: memory.name, element };
                self.faults.add(SimulatorFault { kind, at: Event { site: -1, ..self.now } });
            }
        }
    }

    /// Returns a text with one line per fault; `None` if there are no faults.
    pub fn report(&self, names: &dyn Fn(KernelMemory) -> String, site: &dyn Fn(i32) -> String) -> Option<String> {
        self.faults.report(names, site)
    }
}

impl WatchedMemory {
    /// Returns the memory of an argument. Returns `None` for an empty argument, because an empty
    /// buffer may start at any address. Returns `None` also if a later argument has the same
    /// address: an in-place output may reuse the buffer of a parameter. Accesses to such a
    /// parameter follow the rule of the output.
    fn argument(all: &[(&KernelArgument, u64)], number: usize) -> Option<WatchedMemory> {
        let (argument, start) = all[number];
        let later = all[number + 1..].iter().any(|&(other, place)| other.bytes > 0 && place == start);
        if argument.bytes == 0 || later {
            return None;
        }
        let parameters = all.iter().filter(|(argument, _)| argument.access == Access::Read).count();
        let (written, initialised) = match argument.access {
            Access::Read => (WriteLimit::Never, true),
            Access::WriteOnce => (WriteLimit::Once, false),
            Access::InPlace => (WriteLimit::Once, true),
            Access::Update => (WriteLimit::Often, true),
        };
        let name = match argument.access {
            Access::Read => KernelMemory::Parameter(number),
            _ => KernelMemory::Output(number - parameters),
        };
        let rule = AccessRule { written, initialised };
        Some(WatchedMemory::new(name, start, argument.bytes, argument.element_bytes, rule))
    }

    fn new(name: KernelMemory, start: u64, bytes: u64, element_bytes: u32, rule: AccessRule) -> WatchedMemory {
        let element_bytes = u64::from(element_bytes.max(1));
        let elements = if rule.written == WriteLimit::Never { 0 } else { bytes.div_ceil(element_bytes) as usize };
        let history = History::new(elements, matches!(name, KernelMemory::Tile(_)));
        WatchedMemory { name, start, bytes, element_bytes, rule, history }
    }

    fn access_element(
        &mut self,
        element: usize,
        kind: AccessKind,
        now: Event,
    ) -> Result<Option<FaultKind>, HistoryTooLarge> {
        let memory = self.name;
        let earlier = self.history.write_of(element, now);
        let conflict = self.history.record(element, kind, now)?;
        Ok(match earlier {
            None if kind != AccessKind::Write && !self.rule.initialised => {
                Some(FaultKind::Uninitialised { memory, element })
            }
            Some(earlier) if kind != AccessKind::Read && self.rule.written == WriteLimit::Once => {
                Some(FaultKind::WrittenTwice { memory, element, earlier })
            }
            _ => {
                conflict.map(|(earlier_kind, earlier)| FaultKind::Race { memory, element, kind, earlier_kind, earlier })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::AccessKind::{Read, Write};
    use super::*;

    fn checker(buffers: &mut [Vec<u8>], access: &[Access]) -> Checker {
        let argument = |(buffer, &access): (&Vec<u8>, &Access)| KernelArgument {
            bytes: buffer.len() as u64,
            element_bytes: 4,
            name: String::new(),
            access,
        };
        let arguments: Vec<KernelArgument> = buffers.iter().zip(access).map(argument).collect();
        let addresses: Vec<*mut u8> = buffers.iter_mut().map(|b| b.as_mut_ptr()).collect();
        Checker::new(&arguments, &addresses)
    }

    fn report(checker: &Checker) -> Option<String> {
        checker.report(&|memory| format!("{memory:?}"), &|number| format!("access {number}"))
    }

    #[test]
    fn a_read_past_the_end_is_refused_and_named() {
        let mut buffers = [vec![0u8; 16], vec![0u8; 16]];
        let mut checker = checker(&mut buffers, &[Access::Read, Access::WriteOnce]);
        let start = buffers[0].as_ptr() as u64;
        assert!(checker.access(start, start + 12, 4, Read, 0));
        (checker.now.block, checker.now.thread) = (3, 5);
        assert!(!checker.access(start, start + 13, 4, Read, 7));
        let report = report(&checker).unwrap();
        assert!(report.contains("read of 4 bytes out of bounds, at byte 13 of Parameter(0) (16 bytes)"), "{report}");
        assert!(report.contains("thread 5 of block 3: access 7"), "{report}");
    }

    #[test]
    fn another_buffer_is_out_of_bounds_too() {
        let mut buffers = [vec![0u8; 16], vec![0u8; 16]];
        let mut checker = checker(&mut buffers, &[Access::Read, Access::Update]);
        let (first, second) = (buffers[0].as_ptr() as u64, buffers[1].as_ptr() as u64);
        assert!(!checker.access(first, second, 4, Read, 0));
    }

    #[test]
    fn double_and_missing_writes_are_reported() {
        let mut buffers = [vec![0u8; 100]];
        let mut checker = checker(&mut buffers, &[Access::WriteOnce]);
        let start = buffers[0].as_ptr() as u64;
        for element in 0..24 {
            assert!(checker.access(start, start + 4 * element, 4, Write, 0));
        }
        assert!(checker.access(start, start, 4, Write, 1), "the second write happens, but is recorded");
        checker.check_coverage();
        let report = report(&checker).unwrap();
        assert!(report.contains("second write to element 0 of Output(0)"), "{report}");
        assert!(report.contains("element 24 of Output(0) is never written"), "{report}");
    }

    #[test]
    fn a_vector_covers_its_elements() {
        let mut buffers = [vec![0u8; 32]];
        let mut checker = checker(&mut buffers, &[Access::WriteOnce]);
        let start = buffers[0].as_ptr() as u64;
        assert!(checker.access(start, start, 16, Write, 0));
        assert!(checker.access(start, start + 16, 16, Write, 0));
        checker.check_coverage();
        assert_eq!(report(&checker), None);
    }

    #[test]
    fn a_row_of_a_tile_may_have_padding() {
        let mut tile = [0u8; 32];
        let start = tile.as_mut_ptr() as u64;
        let mut checker = checker(&mut [], &[]);
        checker.add_tile(0, start, 32, 4);
        assert!(checker.access(start, start, 4, Write, 0) && checker.access(start, start, 16, Read, 1));
        assert_eq!(report(&checker), None);
        assert!(checker.access(start, start + 16, 16, Read, 2));
        let report = report(&checker).unwrap();
        assert!(report.contains("which has not been written, by thread 0 of block 0: access 2"), "{report}");
    }

    #[test]
    fn writing_a_parameter_is_refused() {
        let mut buffers = [vec![0u8; 8]];
        let mut checker = checker(&mut buffers, &[Access::Read]);
        let start = buffers[0].as_ptr() as u64;
        assert!(!checker.access(start, start, 4, Write, 0));
        assert!(report(&checker).unwrap().contains("which is an input"));
    }

    #[test]
    fn an_empty_buffer_replaces_nothing() {
        let mut buffer = vec![0u8; 8];
        let argument = |bytes, access| KernelArgument { bytes, element_bytes: 4, name: String::new(), access };
        let address = buffer.as_mut_ptr();
        let arguments = [argument(8, Access::Read), argument(0, Access::WriteOnce)];
        let mut checker = Checker::new(&arguments, &[address, address]);
        assert!(checker.access(address as u64, address as u64 + 4, 4, Read, 0));
        checker.check_coverage();
        assert_eq!(report(&checker), None);
    }

    #[test]
    fn an_output_that_replaces_a_parameter_counts_as_the_output() {
        let mut buffer = vec![0u8; 8];
        let argument = |access| KernelArgument { bytes: 8, element_bytes: 4, name: String::new(), access };
        let address = buffer.as_mut_ptr();
        let mut checker = Checker::new(&[argument(Access::Read), argument(Access::InPlace)], &[address, address]);
        let start = address as u64;
        assert!(checker.access(start, start, 4, Read, 0));
        assert!(checker.access(start, start, 4, Write, 1));
        checker.now.block = 1;
        assert!(checker.access(start, start, 4, Read, 2));
        let report = report(&checker).unwrap();
        assert!(report.contains("data race on element 0 of Output(0): read by thread 0 of block 1"), "{report}");
    }
}
