//! Which elements of its arguments each simulated kernel reads: for comparison with what its indexing maps say.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::fault::Memory;

/// The elements that one launch of a kernel read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchReads {
    pub kernel: String,
    /// Per parameter, row-major numbers of its elements.
    pub parameters: Vec<BTreeSet<u64>>,
    /// Per output, the same: what was there before, or what the kernel wrote.
    pub outputs: Vec<BTreeSet<u64>>,
    /// Elements read, each as often as it was.
    pub count: u64,
}

thread_local! {
    static LAUNCHES: RefCell<Option<Vec<LaunchReads>>> = const { RefCell::new(None) };
}

/// Runs something that simulates kernels on this thread, and gives what each launch read, in order. Memory that is both
/// a parameter and an output counts as the output.
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

/// The current launch reads elements of a memory.
pub fn read(memory: Memory, first: u64, count: u64) {
    LAUNCHES.with_borrow_mut(|launches| {
        let Some(launch) = launches.as_mut().and_then(|list| list.last_mut()) else { return };
        let (list, number) = match memory {
            Memory::Parameter(number) => (&mut launch.parameters, number),
            Memory::Output(number) => (&mut launch.outputs, number),
            Memory::Tile(_) | Memory::Unknown => return,
        };
        if list.len() <= number {
            list.resize_with(number + 1, BTreeSet::new);
        }
        list[number].extend(first..first + count);
        launch.count += count;
    });
}
