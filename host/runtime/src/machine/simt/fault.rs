//! Collects the faults of simulated kernels and reports them.

use std::fmt;

use fusebox_core::ir::MatrixProduct;

use super::history::{AccessKind, Event};

/// Maximum number of different faults that a report lists. If there are more faults, the report
/// says "and more".
const MOST_LINES: usize = 8;

/// A memory that a kernel accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelMemory {
    Parameter(usize),
    Output(usize),
    /// A tile of shared memory. Tiles are numbered in the order of their allocation.
    Tile(usize),
    /// An address that belongs to no argument and no tile of the kernel.
    Unknown,
}

/// The state of a thread that has not reached the barrier, shuffle or product at which another
/// thread waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherThread {
    /// The thread with this number has ended.
    Finished(u32),
    /// The thread waits at another position in the code. `what` names the operation at this
    /// position.
    Waiting { thread: u32, what: &'static str, site: i32 },
}

/// A kind of fault, and the details of its first occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access to bytes outside a memory.
    OutOfBounds {
        memory: KernelMemory,
        kind: AccessKind,
        bytes: u64,
        offset: i64,
        size: u64,
    },
    /// An index that is not below the size of its dimension.
    Index {
        memory: KernelMemory,
        dimension: i32,
        index: i64,
        size: i64,
    },
    ReadOnly {
        memory: KernelMemory,
        element: usize,
    },
    /// A second write to an element of a write-once output.
    WrittenTwice {
        memory: KernelMemory,
        element: usize,
        earlier: Event,
    },
    /// An element of a write-once output that the kernel never writes.
    NeverWritten {
        memory: KernelMemory,
        element: usize,
    },
    /// A read of an element without a value: no thread has written the element before.
    Uninitialised {
        memory: KernelMemory,
        element: usize,
    },
    Race {
        memory: KernelMemory,
        element: usize,
        kind: AccessKind,
        earlier_kind: AccessKind,
        earlier: Event,
    },
    /// A tile for which the host cannot allocate memory.
    NoMemory {
        bytes: u64,
    },
    /// An integer division without a result: a division by zero, or the division of the lowest
    /// number by -1.
    Division,
    Endless,
    /// A barrier that only some threads of the block reach.
    Barrier(OtherThread),
    /// A shuffle that only some lanes of the warp reach.
    Shuffle {
        distance: i32,
        other: OtherThread,
    },
    /// A matrix product that only some lanes of the warp reach.
    Product {
        product: MatrixProduct,
        other: OtherThread,
    },
}

impl FaultKind {
    fn memory(&self) -> Option<KernelMemory> {
        match *self {
            FaultKind::OutOfBounds { memory, .. } | FaultKind::Index { memory, .. } => Some(memory),
            FaultKind::ReadOnly { memory, .. } | FaultKind::Uninitialised { memory, .. } => Some(memory),
            FaultKind::WrittenTwice { memory, .. } | FaultKind::NeverWritten { memory, .. } => Some(memory),
            FaultKind::Race { memory, .. } => Some(memory),
            _ => None,
        }
    }

    /// Returns the position in the code of the earlier access, if the fault is a conflict of two
    /// accesses.
    fn earlier_site(&self) -> Option<i32> {
        match self {
            FaultKind::WrittenTwice { earlier, .. } | FaultKind::Race { earlier, .. } => Some(earlier.site),
            _ => None,
        }
    }
}

/// A fault, and the thread and the position in the code that caused the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatorFault {
    pub kind: FaultKind,
    pub at: Event,
}

/// The faults of one grid. Faults of the same kind at the same position in the code are combined
/// and counted.
#[derive(Debug, Default)]
pub struct Faults {
    seen: Vec<(SimulatorFault, u64)>,
    more: bool,
}

impl Faults {
    pub fn add(&mut self, fault: SimulatorFault) {
        if let Some((_, count)) = self.seen.iter_mut().find(|(known, _)| known.is_like(&fault)) {
            *count += 1;
        } else if self.seen.len() == MOST_LINES {
            self.more = true;
        } else {
            self.seen.push((fault, 1));
        }
    }

    /// Returns a text with one line per fault; `None` if there are no faults. `names` returns the
    /// name of a memory in the program. `site` takes the number of a position in the kernel's code,
    /// and returns a description of the position.
    pub fn report(&self, names: &dyn Fn(KernelMemory) -> String, site: &dyn Fn(i32) -> String) -> Option<String> {
        let lines = self.seen.iter().map(|(fault, count)| {
            let again = if *count > 1 { format!(" ({} more like this)", count - 1) } else { String::new() };
            format!("  {}{again}", fault.describe(names, site))
        });
        let mut lines: Vec<String> = lines.collect();
        if self.more {
            lines.push("  … and more".into());
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl SimulatorFault {
    fn is_like(&self, other: &SimulatorFault) -> bool {
        std::mem::discriminant(&self.kind) == std::mem::discriminant(&other.kind)
            && self.at.site == other.at.site
            && self.kind.memory() == other.kind.memory()
            && self.kind.earlier_site() == other.kind.earlier_site()
    }

    fn describe(&self, names: &dyn Fn(KernelMemory) -> String, site: &dyn Fn(i32) -> String) -> String {
        let by = |event: &Event| format!("thread {} of block {}: {}", event.thread, event.block, site(event.site));
        let thread = by(&self.at);
        match &self.kind {
            FaultKind::OutOfBounds { memory, kind, bytes, offset, size } => format!(
                "{kind} of {bytes} bytes out of bounds, at byte {offset} of {} ({size} bytes), by {thread}",
                names(*memory)
            ),
            FaultKind::Index { memory, dimension, index, size } => {
                format!(
                    "index {index} out of bounds of dimension {dimension} (size {size}) of {}, by {thread}",
                    names(*memory)
                )
            }
            FaultKind::ReadOnly { memory, element } => {
                format!("write to element {element} of {}, which is an input, by {thread}", names(*memory))
            }
            FaultKind::WrittenTwice { memory, element, earlier } => format!(
                "second write to element {element} of {}, by {thread}; the first by {}",
                names(*memory),
                by(earlier)
            ),
            FaultKind::NeverWritten { memory, element } => {
                format!("element {element} of {} is never written", names(*memory))
            }
            FaultKind::Uninitialised { memory, element } => {
                format!("read of element {element} of {}, which has not been written, by {thread}", names(*memory))
            }
            FaultKind::Race { memory, element, kind, earlier_kind, earlier } => {
                let order = if earlier.block == self.at.block {
                    "no barrier separates them"
                } else {
                    "blocks run in no fixed order"
                };
                format!(
                    "data race on element {element} of {}: {kind} by {thread}; {earlier_kind} by {}; {order}",
                    names(*memory),
                    by(earlier)
                )
            }
            FaultKind::NoMemory { bytes } => format!("no memory for a tile of {bytes} bytes, asked for by {thread}"),
            FaultKind::Division => format!("division by zero, or of the lowest number by -1, by {thread}"),
            FaultKind::Endless => format!("a loop does not end in {thread}"),
            FaultKind::Barrier(other) => format!("divergent barrier: {thread} waits for it; {}", other.describe(site)),
            FaultKind::Shuffle { distance, other } => {
                format!("divergent shuffle over {distance} lanes, by {thread}; {}", other.describe(site))
            }
            FaultKind::Product { product, other } => {
                format!("divergent product {}, by {thread}; {}", product.name(), other.describe(site))
            }
        }
    }
}

impl OtherThread {
    fn describe(&self, site: &dyn Fn(i32) -> String) -> String {
        match self {
            OtherThread::Finished(thread) => format!("thread {thread} has finished"),
            OtherThread::Waiting { thread, what, site: at } => {
                format!("thread {thread} waits for a {what}: {}", site(*at))
            }
        }
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic update",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_two_memories_are_two_lines() {
        let mut faults = Faults::default();
        for (output, element) in [(0, 1), (1, 1), (0, 2)] {
            let kind = FaultKind::NeverWritten { memory: KernelMemory::Output(output), element };
            faults.add(SimulatorFault { kind, at: Event { block: 0, thread: 0, epoch: 0, site: -1, atomic: false } });
        }
        let report = faults.report(&|memory| format!("{memory:?}"), &|_| String::new());
        let lines = "  element 1 of Output(0) is never written (1 more like this)\n  \
                     element 1 of Output(1) is never written";
        assert_eq!(report.as_deref(), Some(lines));
    }
}
