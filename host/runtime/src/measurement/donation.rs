//! Restores donated inputs. An execution may overwrite a donated input, so the input must be
//! restored before the next execution.

use std::collections::BTreeMap;

use fusebox_core::hlo::ArrayLiteral;

use crate::machine::Machine;
use crate::{AllocationKind, Executable, RunError, Slice};

/// The donated inputs of a program. The key of an input is its number among the array leaves of all
/// parameters.
#[derive(Debug)]
pub struct Donations(BTreeMap<usize, Donation>);

#[derive(Debug)]
struct Donation {
    place: Slice,
    /// The array to restore before each execution, or `None` if the inputs were not set.
    kept: Option<ArrayLiteral>,
    /// Whether an execution may have overwritten the input.
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

    /// Records that the memory of all inputs holds `inputs`. From now on, [`Donations::begin`]
    /// restores the arrays of donated inputs.
    pub fn keep(&mut self, inputs: &[ArrayLiteral]) {
        for (&index, donation) in &mut self.0 {
            *donation = Donation { kept: inputs.get(index).cloned(), is_taken: false, ..*donation };
        }
    }

    /// Records that the memory of all donated inputs may hold other values.
    pub fn spoil(&mut self) {
        self.0.values_mut().for_each(|it| it.is_taken = true);
    }

    /// Prepares the donated inputs for an execution: restores each input that the last execution
    /// may have overwritten. Records that the new execution may overwrite all donated inputs.
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
