//! Where in a kernel values are computed: a value that is read at one place is computed there, one
//! that is read at several is a function of its own, which every place calls.

use std::collections::HashMap;
use std::iter::Sum;

use fusebox_core::hlo::InstrId;

use super::reads::Index;

/// A place: in a function, at an index of that function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    function: InstrId,
    index: u32,
}

/// A function's own arguments.
const OWN_INDEX: u32 = 0;

/// The indices that values are read at, by number.
#[derive(Debug, Default)]
pub struct Indices {
    numbers: HashMap<(u32, Index), u32>,
    /// By number from 1 on, the divisions in a row that make an index.
    divisions: Vec<u32>,
}

impl Site {
    /// A function of which an instruction is the result, at its own arguments.
    pub fn function_of(id: InstrId) -> Site {
        Site { function: id, index: OWN_INDEX }
    }
}

impl Indices {
    /// The place that an instruction at `site` reads with `step`.
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

    /// The number of divisions in a row that make the index of a place.
    pub fn divisions(&self, site: Site) -> u32 {
        site.index.checked_sub(1).map_or(0, |position| self.divisions[position as usize])
    }
}

/// Where a value is computed that is read at these places, each with its number of reads, and the
/// number of its evaluations.
pub fn common<N: Copy + Sum>(id: InstrId, reads: &[(Site, N)]) -> (Site, N) {
    match reads {
        [one] => *one,
        several => (Site::function_of(id), several.iter().map(|(_, evaluations)| *evaluations).sum()),
    }
}

/// Adds a place unless it is known: a value is computed once there.
pub fn add<N>(reads: &mut Vec<(Site, N)>, read: (Site, N)) {
    if !reads.iter().any(|(known, _)| *known == read.0) {
        reads.push(read);
    }
}
