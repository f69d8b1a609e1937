//! Records which elements of its arguments each simulated kernel reads, for comparison with its
//! indexing maps.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::fault::KernelMemory;

/// The elements that one launch of a kernel read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchReads {
    pub kernel: String,
    /// Per parameter, row-major indices of the elements read.
    pub parameters: Vec<BTreeSet<u64>>,
    /// Per output, row-major indices of the elements read: earlier values, or values that the
    /// kernel wrote.
    pub outputs: Vec<BTreeSet<u64>>,
    /// Number of reads, counting repeated reads of an element.
    pub count: u64,
}

thread_local! {
    static LAUNCHES: RefCell<Option<Vec<LaunchReads>>> = const { RefCell::new(None) };
}

/// Calls `run`, which simulates kernels on this thread. Returns its result and the reads of each
/// launch, in order. Memory that is both a parameter and an output counts as the output.
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

/// Records that the current launch reads elements of a memory.
pub fn read(memory: KernelMemory, first: u64, count: u64) {
    LAUNCHES.with_borrow_mut(|launches| {
        let Some(launch) = launches.as_mut().and_then(|list| list.last_mut()) else { return };
        let (list, number) = match memory {
            KernelMemory::Parameter(number) => (&mut launch.parameters, number),
            KernelMemory::Output(number) => (&mut launch.outputs, number),
            KernelMemory::Tile(_) | KernelMemory::Unknown => return,
        };
        if list.len() <= number {
            list.resize_with(number + 1, BTreeSet::new);
        }
        list[number].extend(first..first + count);
        launch.count += count;
    });
}
