//! Compiles loops of small thunks to functions, so that a thunk costs at most a call instead of a
//! launch.
//!
//! ```text
//! while(s) { kernel k(s, t); copy t -> s }     only the loop uses t
//! kernel while(s)                              copies s to a local buffer, iterates k and the copy with a local t, copies s back
//! ```
//!
//! A thunk is small if one thread executes it in any case, or executes it faster than several
//! threads would. For example, a kernel of one block is a small thunk, and so is a copy that is not
//! split among threads. A kernel with small arrays is also a small thunk, if several cores would
//! have to fetch the arrays from each other. The function of a loop has local buffers for small
//! arrays, which LLVM keeps in registers where it can.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use fusebox_lowering::{Argument, Composite, Step};
use fusebox_runtime::{PART_BYTES, Slice, Thunk};
use fusebox_thunks::{all, for_all};

use super::PlannedFusion;
use super::buffers::Buffers;
use crate::kernels::symbol;

/// Largest total size, in bytes, of a composite's local buffers: as much as a processor's vector
/// registers hold. LLVM would keep larger local buffers in memory in any case.
const MOST_OWN: u64 = 2 << 10;
/// Bytes of the largest read-only buffer that gets a local copy: a few scalars.
const FEW: u64 = 64;
/// Largest number of nested loops in a composite. The time of LLVM's passes over loops grows faster
/// than the depth of nesting: 40 nested loops took 0.2 s, 80 took 0.6 s, and 200 took 11 s.
const MOST_NESTED_LOOPS: usize = 24;

/// Replaces loops by launches of composites.
pub struct CompositeBuilder<'s, 'a> {
    /// Name and planned fusion of each kernel, by the kernel's number.
    kernels: &'s [(&'a str, PlannedFusion<'a>)],
    buffers: &'s mut Buffers,
    /// Number of uses of each buffer in the program.
    uses: HashMap<u32, usize>,
    /// Names in use.
    names: HashSet<String>,
    composites: Vec<Composite>,
}

/// Uses of a buffer inside a loop.
#[derive(Clone, Copy, Debug, Default)]
struct LoopBufferUse {
    bytes: u64,
    uses: usize,
    is_written: bool,
}

impl<'s, 'a> CompositeBuilder<'s, 'a> {
    /// Creates a builder for the program that consists of these thunks. `interface` are the buffers
    /// of the program's parameters and result. No buffer is placed yet.
    pub fn new(
        kernels: &'s [(&'a str, PlannedFusion<'a>)],
        buffers: &'s mut Buffers,
        thunks: &[Thunk],
        interface: &[Slice],
    ) -> Self {
        let mut uses: HashMap<u32, usize> = HashMap::new();
        interface.iter().for_each(|slice| *uses.entry(slice.allocation).or_default() += 1);
        each_slice(kernels, thunks, &mut |slice, _| *uses.entry(slice.allocation).or_default() += 1);
        let names = kernels.iter().map(|(name, _)| (*name).to_owned()).collect();
        CompositeBuilder { kernels, buffers, uses, names, composites: Vec::new() }
    }

    /// Replaces the outermost loops that consist only of small thunks. Composites are numbered
    /// after the kernels.
    pub fn compose(mut self, thunks: &mut [Thunk]) -> Vec<Composite> {
        for_all(thunks, &mut |thunk| {
            if let Some(launch) = self.launch(thunk) {
                *thunk = launch;
            }
        });
        self.composites
    }

    /// Returns the launch of a composite that computes a loop.
    fn launch(&mut self, thunk: &Thunk) -> Option<Thunk> {
        let Thunk::While { name, .. } = thunk else { return None };
        if nested_loops(thunk) > MOST_NESTED_LOOPS {
            return None;
        }
        let mut inside: BTreeMap<u32, LoopBufferUse> = BTreeMap::new();
        each_slice(self.kernels, std::slice::from_ref(thunk), &mut |slice, is_written| {
            let it = inside.entry(slice.allocation).or_default();
            *it = LoopBufferUse { bytes: slice.bytes, uses: it.uses + 1, is_written: it.is_written || is_written };
        });
        let CompositeBuffers { argument_buffers, own, numbers } =
            CompositeBuffers::of(&inside, |number| self.is_inner(number, &inside));
        let repeated = self.step(thunk, &numbers)?;
        let argument = |number: &u32| Argument {
            bytes: inside[number].bytes,
            alignment: self.buffers.rules().alignment as u32,
            read_only: !inside[number].is_written,
            // Two buffers that only the loop uses may share memory, at different times.
            no_alias: !self.is_inner(*number, &inside),
        };
        let arguments = argument_buffers.iter().map(argument).collect();
        let shared = own.iter().filter_map(|own| {
            Some((own, argument_buffers.iter().position(|argument_buffers| argument_buffers == own)?))
        });
        let begins = shared.clone().map(|(own, argument)| Step::Copy { from: argument, to: numbers[own] });
        let written = shared.filter(|(own, _)| inside[own].is_written);
        let ends = written.map(|(own, argument)| Step::Copy { from: numbers[own], to: argument });
        let steps = begins.chain([repeated]).chain(ends).collect();
        let own_bytes = own.iter().map(|number| inside[number].bytes).collect();
        own.iter().filter(|number| !argument_buffers.contains(number)).for_each(|&number| self.buffers.forget(number));
        let name = symbol(&format!("loop_{name}"), &mut self.names);
        self.composites.push(Composite { name, arguments, own: own_bytes, steps });
        let slice = |&allocation: &u32| Slice { allocation, offset: 0, bytes: inside[&allocation].bytes };
        let kernel = (self.kernels.len() + self.composites.len() - 1) as u32;
        Some(Thunk::Kernel { kernel, arguments: argument_buffers.iter().map(slice).collect() })
    }

    /// Whether the program uses a buffer only in the loop, and the loop writes the buffer. A buffer
    /// that the loop only reads receives its contents outside of the loop, even if the buffer is a
    /// constant.
    fn is_inner(&self, number: u32, inside: &BTreeMap<u32, LoopBufferUse>) -> bool {
        inside.get(&number).is_some_and(|it| it.is_written && self.uses.get(&number) == Some(&it.uses))
    }

    /// Returns a thunk as a step of a composite. `None` if the thunk is not small.
    fn step(&self, thunk: &Thunk, numbers: &BTreeMap<u32, usize>) -> Option<Step> {
        let is_large = |thunk: &Thunk| matches!(thunk, Thunk::Copy { from, .. } if from.bytes > PART_BYTES);
        if all(std::slice::from_ref(thunk)).any(is_large) {
            return None;
        }
        let number = |slice: &Slice| numbers.get(&slice.allocation).copied();
        let kernel = |&number: &u32| {
            let (name, planned) = self.kernels.get(number as usize)?;
            planned.runs_alone.then(|| (*name).to_owned())
        };
        thunk.try_map(&number, &kernel, &|_| None)
    }
}

/// The buffers of a loop that is compiled to a composite.
struct CompositeBuffers {
    /// Buffers that are arguments of the composite, in order.
    argument_buffers: Vec<u32>,
    /// Local buffers, in order. A local buffer that is also an argument starts as a copy of the
    /// argument. If the loop writes the local buffer, the function copies the buffer back to the
    /// argument at the end.
    own: Vec<u32>,
    /// For each buffer, the number by which the steps of the loop refer to it.
    numbers: BTreeMap<u32, usize>,
}

impl CompositeBuffers {
    /// Makes the smallest buffers local. Large buffers, and buffers that are also used outside of
    /// the loop, are arguments.
    fn of(inside: &BTreeMap<u32, LoopBufferUse>, is_inner: impl Fn(u32) -> bool) -> CompositeBuffers {
        let is_small = |it: &LoopBufferUse| it.bytes <= if it.is_written { MOST_OWN } else { FEW };
        let mut small: Vec<(u64, u32)> =
            inside.iter().filter(|(_, it)| is_small(it)).map(|(&number, it)| (it.bytes, number)).collect();
        small.sort_unstable();
        let mut total = 0;
        let fits = |&(bytes, _): &(u64, u32)| {
            total += bytes;
            total <= MOST_OWN
        };
        let own: Vec<u32> = small.into_iter().take_while(fits).map(|(_, number)| number).collect();
        let is_own: BTreeSet<u32> = own.iter().copied().collect();
        let argument_buffers: Vec<u32> =
            inside.keys().copied().filter(|&number| !(is_own.contains(&number) && is_inner(number))).collect();
        let mut numbers: BTreeMap<u32, usize> = argument_buffers.iter().copied().zip(0..).collect();
        numbers.extend(own.iter().copied().zip(argument_buffers.len()..));
        CompositeBuffers { argument_buffers, own, numbers }
    }
}

/// Returns the largest number of loops that are nested in each other in this thunk. If the thunk is
/// a loop, it counts, too.
fn nested_loops(thunk: &Thunk) -> usize {
    let inside = thunk.nested().iter().flat_map(|(_, thunks)| thunks.iter().map(nested_loops)).max();
    inside.unwrap_or(0) + usize::from(matches!(thunk, Thunk::While { .. }))
}

/// Calls `f` for all slices that these thunks access, including nested thunks. The flag tells `f`
/// whether a thunk writes the slice.
fn each_slice(kernels: &[(&str, PlannedFusion)], thunks: &[Thunk], f: &mut dyn FnMut(&Slice, bool)) {
    let outputs = |kernel: u32| kernels.get(kernel as usize).map_or(0, |(_, planned)| planned.plan.outputs.len());
    all(thunks).for_each(|thunk| each_slice_of(thunk, &outputs, f));
}

/// Calls `f` for the slices that one thunk accesses, but not for the slices that its nested thunks
/// access. The flag tells `f` whether the thunk writes the slice. `outputs` returns the number of
/// outputs of a kernel.
pub fn each_slice_of(thunk: &Thunk, outputs: &dyn Fn(u32) -> usize, f: &mut dyn FnMut(&Slice, bool)) {
    match thunk {
        Thunk::Kernel { kernel, arguments } => {
            let parameters = arguments.len().saturating_sub(outputs(*kernel));
            arguments.iter().enumerate().for_each(|(number, slice)| f(slice, number >= parameters));
        }
        Thunk::Copy { from, to } => {
            f(from, false);
            f(to, true);
        }
        Thunk::HostOp { arguments, results, .. } => {
            arguments.iter().for_each(|slice| f(slice, false));
            results.iter().for_each(|slice| f(slice, true));
        }
        Thunk::While { predicate: read, .. } | Thunk::Conditional { index: read, .. } => f(read, false),
    }
}

/// Renumbers launches: first the kernels that thunks still launch, then the composites. Returns the
/// old numbers of the kernels that thunks still launch.
pub fn renumber(sequences: &mut [&mut [Thunk]], kernels: usize) -> Vec<u32> {
    let mut launched = BTreeSet::new();
    sequences.iter_mut().for_each(|thunks| each_launch(thunks, &mut |number| launched.extend([*number])));
    let new: HashMap<u32, u32> = launched.range(..kernels as u32).copied().zip(0..).collect();
    let composite = |number: u32| number - kernels as u32 + new.len() as u32;
    let renumbered = |number: &mut u32| *number = new.get(number).copied().unwrap_or_else(|| composite(*number));
    sequences.iter_mut().for_each(|thunks| each_launch(thunks, &mut |number| renumbered(number)));
    launched.range(..kernels as u32).copied().collect()
}

fn each_launch(thunks: &mut [Thunk], f: &mut dyn FnMut(&mut u32)) {
    for_all(thunks, &mut |thunk| {
        if let Thunk::Kernel { kernel, .. } = thunk {
            f(kernel);
        }
    });
}
