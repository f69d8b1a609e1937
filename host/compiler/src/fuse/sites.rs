//! Sites in a kernel where values are computed. A value that is read at one site is computed there.
//! A value that is read at several sites becomes a function, which each site calls.

use std::collections::HashMap;
use std::iter::Sum;

use fusebox_core::hlo::InstrId;

use super::reads::Index;

/// An index in a function of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    function: InstrId,
    index: u32,
}

/// Number of the index that consists of a function's own arguments.
const OWN_INDEX: u32 = 0;

/// Numbers of the indices at which values are read.
#[derive(Debug, Default)]
pub struct Indices {
    numbers: HashMap<(u32, Index), u32>,
    /// Nested divisions that compute each index, from number 1 on.
    divisions: Vec<u32>,
}

impl Site {
    /// Returns the site of a function's result: the function that computes an instruction, at its
    /// own arguments.
    pub fn function_of(id: InstrId) -> Site {
        Site { function: id, index: OWN_INDEX }
    }
}

impl Indices {
    /// Returns the site at which an instruction at `site` reads an operand with index `step`.
    pub fn read(&mut self, site: Site, step: &Index) -> Site {
        if *step == Index::Own {
            return site;
        }
        let next = self.numbers.len() as u32 + 1;
        let index = *self.numbers.entry((site.index, step.clone())).or_insert(next);
        if index == next {
            self.divisions.push(self.divisions(site) + u32::from(step.divides()));
        }
        Site { index, ..site }
    }

    /// Returns the number of nested divisions that compute the index of a site.
    pub fn divisions(&self, site: Site) -> u32 {
        site.index.checked_sub(1).map_or(0, |position| self.divisions[position as usize])
    }
}

/// Returns the site that computes a value with these reads, and the value's evaluations. Each read
/// is a site with its evaluations.
pub fn common<N: Copy + Sum>(id: InstrId, reads: &[(Site, N)]) -> (Site, N) {
    match reads {
        [one] => *one,
        several => (Site::function_of(id), several.iter().map(|(_, evaluations)| *evaluations).sum()),
    }
}

/// Adds a read unless its site is known already: each site computes a value once.
pub fn add<N>(reads: &mut Vec<(Site, N)>, read: (Site, N)) {
    if !reads.iter().any(|(known, _)| *known == read.0) {
        reads.push(read);
    }
}
