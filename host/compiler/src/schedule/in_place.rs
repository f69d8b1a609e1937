//! Which outputs of kernels take the place of a parameter, wherever the kernel is launched.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::pointwise::Pair;

/// What an output that takes a parameter's place is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Merit {
    /// Nothing: the parameter's value is still needed somewhere, or the output is wanted in another place.
    Refused,
    /// It saves memory.
    Possible,
    /// It saves a copy, as the output is wanted in that place everywhere.
    Wanted,
}

/// The least merit of each pair of a kernel's parameter and output, over all launches.
pub type Merits = HashMap<(usize, Pair), Merit>;

/// The pairs to go by: the best first, each parameter and each output of a kernel once.
pub fn chosen(merits: &Merits) -> Vec<(usize, Pair)> {
    let mut sorted: Vec<(Reverse<Merit>, usize, Pair)> = merits
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
