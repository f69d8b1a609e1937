//! Decides which outputs of kernels are written into a parameter's buffer, at every launch of the
//! kernel.

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

/// The least merit of each pair of a kernel's parameter and output, over all launches.
pub type Merits = HashMap<(usize, InPlacePair), Merit>;

/// Returns the pairs to use, the best first. Uses each parameter and each output of a kernel at
/// most once.
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
