//! Finds the memory that two programs can exchange, so that both can be measured in the same
//! memory.

use crate::{AllocationKind, Executable};

impl Executable {
    /// Returns pairs of allocations that two programs can exchange. A pair consists of the number
    /// of an allocation of `self` and the number of an allocation of `other`. Both allocations of a
    /// pair have the same size. Both allocations hold the same parameter, or both hold temporary
    /// values, or both hold results.
    pub(crate) fn exchangeable(&self, other: &Executable) -> Vec<(usize, usize)> {
        let parameters = |it: &Executable| -> Vec<usize> {
            it.parameters.iter().flat_map(|it| &it.leaves).map(|leaf| leaf.allocation as usize).collect()
        };
        let mut pairs: Vec<(usize, usize)> = parameters(self).into_iter().zip(parameters(other)).collect();
        pairs.retain(|&(own, number)| self.allocations[own].bytes == other.allocations[number].bytes);
        for kind in [AllocationKind::Temporary, AllocationKind::Result] {
            let written = |it: &Executable| -> Vec<(usize, u64)> {
                let all = it.allocations.iter().enumerate().filter(|(_, it)| it.kind == kind);
                all.map(|(number, allocation)| (number, allocation.bytes)).collect()
            };
            let mut free = written(other);
            for (own, bytes) in written(self) {
                if let Some(place) = free.iter().position(|&(_, others)| others == bytes) {
                    pairs.push((own, free.remove(place).0));
                }
            }
        }
        pairs
    }
}
