//! Donated inputs: an execution may write over them, so that they have to be in place anew before the next.

use std::collections::BTreeMap;

use fusebox_core::hlo::ArrayLiteral;

use crate::thunks::Machine;
use crate::{AllocationKind, Executable, RunError, Slice};

/// The donated inputs of a program, by their number among the leaves of all parameters.
#[derive(Debug)]
pub struct Donations(BTreeMap<usize, Donation>);

#[derive(Debug)]
struct Donation {
    place: Slice,
    /// What is put in place before each execution; nothing of a buffer that was handed over.
    kept: Option<ArrayLiteral>,
    /// Whether an execution may have written over it.
    is_taken: bool,
}

impl Donations {
    pub fn of(executable: &Executable) -> Donations {
        let leaves = executable.parameters.iter().flat_map(|it| &it.leaves).enumerate();
        let is_donated =
            |leaf: &Slice| executable.allocations[leaf.allocation as usize].kind == AllocationKind::Donated;
        let donated = leaves.filter(|(_, leaf)| is_donated(leaf));
        Donations(donated.map(|(index, &place)| (index, Donation { place, kept: None, is_taken: false })).collect())
    }

    /// Where a donated input stands.
    pub fn place(&self, index: usize) -> Option<Slice> {
        self.0.get(&index).map(|it| it.place)
    }

    /// All inputs are in place, and these arrays are to be there before every execution.
    pub fn keep(&mut self, inputs: &[ArrayLiteral]) {
        for (&index, donation) in &mut self.0 {
            *donation = Donation { kept: inputs.get(index).cloned(), is_taken: false, ..*donation };
        }
    }

    /// A buffer is in place, for one execution.
    pub fn hand_over(&mut self, index: usize) {
        if let Some(donation) = self.0.get_mut(&index) {
            *donation = Donation { kept: None, is_taken: false, ..*donation };
        }
    }

    /// Something else may be in place now.
    pub fn spoil(&mut self) {
        self.0.values_mut().for_each(|it| it.is_taken = true);
    }

    /// Puts in place what the last execution took, and lets the next one take it.
    pub fn begin(&mut self, machine: &mut dyn Machine) -> Result<(), RunError> {
        for (&index, donation) in &mut self.0 {
            if donation.is_taken {
                let kept = donation.kept.as_ref().ok_or(RunError::Taken { index })?;
                machine.write(&donation.place, &kept.data)?;
            }
            donation.is_taken = true;
        }
        Ok(())
    }
}
