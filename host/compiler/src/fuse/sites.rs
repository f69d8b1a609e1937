//! Sites in a kernel where values are computed. A value that is read at one site is computed at
//! this site. A value that is read at several sites becomes a function, which each site calls.

use std::collections::HashMap;
use std::iter::Sum;

use fusebox_core::hlo::InstrId;

use super::reads::ReadIndex;

/// An index in a function of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EvaluationSite {
    function: InstrId,
    index: u32,
}

/// Number of the index that consists of a function's own arguments.
const OWN_INDEX: u32 = 0;

/// Numbers of the indices at which values are read.
#[derive(Debug, Default)]
pub struct SiteIndices {
    numbers: HashMap<(u32, ReadIndex), u32>,
    /// Number of nested divisions that compute each index. Index number 1 has the first entry.
    divisions: Vec<u32>,
}

impl EvaluationSite {
    /// Returns the site of an instruction that has its own function. The site is this function, at
    /// the index that consists of the function's arguments.
    pub fn function_of(id: InstrId) -> EvaluationSite {
        EvaluationSite { function: id, index: OWN_INDEX }
    }
}

impl SiteIndices {
    /// Returns the site of an operand that an instruction at `site` reads. `step` is the index of
    /// the operand relative to the instruction.
    pub fn read(&mut self, site: EvaluationSite, step: &ReadIndex) -> EvaluationSite {
        if *step == ReadIndex::Own {
            return site;
        }
        let next = self.numbers.len() as u32 + 1;
        let index = *self.numbers.entry((site.index, step.clone())).or_insert(next);
        if index == next {
            self.divisions.push(self.divisions(site) + u32::from(step.divides()));
        }
        EvaluationSite { index, ..site }
    }

    /// Returns the number of nested divisions that compute the index of a site.
    pub fn divisions(&self, site: EvaluationSite) -> u32 {
        site.index.checked_sub(1).map_or(0, |position| self.divisions[position as usize])
    }
}

/// Returns the site that computes a value, and how often the value is evaluated there. `reads` are
/// the sites that read the value, each with its number of evaluations.
pub fn common<N: Copy + Sum>(id: InstrId, reads: &[(EvaluationSite, N)]) -> (EvaluationSite, N) {
    match reads {
        [one] => *one,
        several => (EvaluationSite::function_of(id), several.iter().map(|(_, evaluations)| *evaluations).sum()),
    }
}

/// Adds a read if `reads` does not contain the read's site yet. A second read at one site adds no
/// evaluation, because each site computes a value once.
pub fn add<N>(reads: &mut Vec<(EvaluationSite, N)>, read: (EvaluationSite, N)) {
    if !reads.iter().any(|(known, _)| *known == read.0) {
        reads.push(read);
    }
}
