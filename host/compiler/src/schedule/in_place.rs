//! Decides which outputs a kernel writes into the buffer of one of its parameters at every launch.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::pointwise::InPlacePair;

/// The benefit of writing an output into a parameter's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Merit {
    /// No benefit: a launch still needs the parameter's value, or wants the output in another
    /// buffer.
    Refused,
    /// Writing in-place saves memory.
    Possible,
    /// Writing in-place saves a copy, because every launch needs the output in that buffer.
    Wanted,
}

/// For each pair of a parameter and an output of a kernel, the least merit over all launches of the
/// kernel.
pub type Merits = HashMap<(usize, InPlacePair), Merit>;

/// Returns the pairs of a parameter and an output that the kernels use in-place, the pair with the
/// largest merit first. Uses each parameter and each output of a kernel at most once.
pub fn chosen(merits: &Merits) -> Vec<(usize, InPlacePair)> {
    let mut sorted: Vec<(Reverse<Merit>, usize, InPlacePair)> = merits
        .iter()
        .filter(|(_, merit)| **merit > Merit::Refused)
        .map(|(&(unit, pair), &merit)| (Reverse(merit), unit, pair))
        .collect();
    sorted.sort_unstable();
    let (mut parameters, mut outputs) = (HashSet::new(), HashSet::new());
    let mut chosen = Vec::new();
    for (_, unit, pair) in sorted {
        let is_free = !parameters.contains(&(unit, pair.parameter)) && !outputs.contains(&(unit, pair.output));
        if is_free {
            parameters.insert((unit, pair.parameter));
            outputs.insert((unit, pair.output));
            chosen.push((unit, pair));
        }
    }
    chosen
}
