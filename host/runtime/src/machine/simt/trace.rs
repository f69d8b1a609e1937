//! Records which elements of its arguments each simulated kernel reads. Tests compare these
//! elements with the kernel's indexing maps.

use std::cell::RefCell;

use fixedbitset::FixedBitSet;

use super::fault::KernelMemory;

/// The elements that one launch of a kernel has read.
#[derive(Clone, Debug, Default)]
pub struct LaunchReads {
    pub kernel: String,
    /// For each parameter, the row-major indices of the elements that the kernel has read.
    pub parameters: Vec<FixedBitSet>,
    /// For each output, the row-major indices of the elements that the kernel has read. The kernel
    /// may have read values from before the launch, or values that it has written.
    pub outputs: Vec<FixedBitSet>,
    /// Number of reads of elements. If an element is read several times, each read counts.
    pub count: u64,
}

thread_local! {
    static LAUNCHES: RefCell<Option<Vec<LaunchReads>>> = const { RefCell::new(None) };
}

/// Calls `run`, which simulates kernels on this thread. Returns the result of `run`, and the reads
/// of each launch, in order. If an output reuses the memory of a parameter, reads of this memory
/// are recorded for the output.
pub fn trace_reads<R>(run: impl FnOnce() -> R) -> (R, Vec<LaunchReads>) {
    LAUNCHES.set(Some(Vec::new()));
    let result = run();
    (result, LAUNCHES.take().unwrap_or_default())
}

pub fn launch(kernel: &str) {
    LAUNCHES.with_borrow_mut(|launches| {
        launches.iter_mut().for_each(|list| list.push(LaunchReads { kernel: kernel.into(), ..LaunchReads::default() }));
    });
}

/// Records that the current launch reads `count` elements of a memory, from the element `first` on.
pub fn read(memory: KernelMemory, first: u64, count: u64) {
    LAUNCHES.with_borrow_mut(|launches| {
        let Some(launch) = launches.as_mut().and_then(|list| list.last_mut()) else { return };
        let (list, number) = match memory {
            KernelMemory::Parameter(number) => (&mut launch.parameters, number),
            KernelMemory::Output(number) => (&mut launch.outputs, number),
            KernelMemory::Tile(_) | KernelMemory::Unknown => return,
        };
        if list.len() <= number {
            list.resize_with(number + 1, FixedBitSet::new);
        }
        // The elements are in the simulator's memory, so their numbers fit into `usize`.
        let elements = first as usize..(first + count) as usize;
        list[number].grow(elements.end);
        list[number].insert_range(elements);
        launch.count += count;
    });
}
