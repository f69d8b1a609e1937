//! Distributes kernels over batches, which threads compile in parallel.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use fusebox_lowering::{Composite, KernelSource, Step};
use fusebox_thunks::all;

/// Least weight of a batch with which starting another thread pays off.
const LEAST_OF_BATCH: usize = 75;

/// Kernels and composites that are compiled together.
#[derive(Default)]
pub struct KernelBatch {
    /// Numbers of the kernels.
    pub kernels: Vec<usize>,
    pub composites: Vec<Composite>,
    /// Sum of the kernels' weights.
    weight: usize,
}

impl KernelBatch {
    /// Returns the names of the functions in the batch's code.
    pub fn symbols<'b>(&'b self, sources: &'b [KernelSource]) -> impl Iterator<Item = &'b str> {
        let kernels = self.kernels.iter().map(|&number| sources[number].entry.as_str());
        kernels.chain(self.composites.iter().map(|composite| composite.name.as_str()))
    }

    fn add(&mut self, other: KernelBatch) {
        self.kernels.extend(other.kernels);
        self.composites.extend(other.composites);
        self.weight += other.weight;
    }
}

/// Distributes kernels over at most `threads` batches of about equal weight: assigns each
/// separately compilable part, the heaviest first, to the batch that has the least weight so far.
pub fn batches(
    sources: &[KernelSource],
    composites: &[Composite],
    weights: &[usize],
    threads: usize,
) -> Vec<KernelBatch> {
    if sources.is_empty() {
        return Vec::new();
    }
    let parts = sorted_parts(sources, composites, weights);
    let weight: usize = parts.iter().map(|part| part.weight).sum();
    let count = (weight / LEAST_OF_BATCH).clamp(1, threads.max(1)).min(parts.len());
    let mut batches: Vec<KernelBatch> = (0..count).map(|_| KernelBatch::default()).collect();
    for part in parts {
        if let Some(batch) = batches.iter_mut().min_by_key(|batch| batch.weight) {
            batch.add(part);
        }
    }
    batches
}

/// Returns the separately compilable parts of the kernels, the heaviest part first.
pub fn sorted_parts(sources: &[KernelSource], composites: &[Composite], weights: &[usize]) -> Vec<KernelBatch> {
    let mut parts = parts(sources, composites, weights);
    parts.sort_by_key(|part| Reverse(part.weight));
    parts
}

/// Splits kernels into the smallest parts that can be compiled separately. A part contains whole
/// composites together with the kernels that they call, so composites that call a common kernel are
/// in the same part.
fn parts(sources: &[KernelSource], composites: &[Composite], weights: &[usize]) -> Vec<KernelBatch> {
    let numbers: HashMap<&str, usize> = sources.iter().map(|source| source.entry.as_str()).zip(0..).collect();
    let mut part_of: Vec<usize> = (0..sources.len()).collect();
    let called: Vec<Vec<usize>> = composites.iter().map(|composite| called(composite, &numbers)).collect();
    for numbers in &called {
        let joined: BTreeSet<usize> = numbers.iter().map(|&number| part_of[number]).collect();
        let first = joined.first().copied();
        part_of.iter_mut().filter(|part| joined.contains(part)).for_each(|part| *part = first.unwrap_or(*part));
    }
    let mut parts: BTreeMap<usize, KernelBatch> = BTreeMap::new();
    for (number, (&part, &weight)) in part_of.iter().zip(weights).enumerate() {
        parts.entry(part).or_default().add(KernelBatch { kernels: vec![number], composites: Vec::new(), weight });
    }
    for (composite, numbers) in composites.iter().zip(&called) {
        let part = numbers.first().map_or(0, |&number| part_of[number]);
        parts.entry(part).or_default().composites.push(composite.clone());
    }
    parts.into_values().collect()
}

/// Returns the numbers of the kernels that a composite calls.
pub fn called(composite: &Composite, numbers: &HashMap<&str, usize>) -> Vec<usize> {
    let mut called = BTreeSet::new();
    for step in all(&composite.steps) {
        if let Step::Kernel { kernel, .. } = step {
            called.extend(numbers.get(kernel.as_str()));
        }
    }
    called.into_iter().collect()
}
