//! Which launches and copies of a sequence must wait for earlier ones.

use crate::Slice;
use crate::executable::{Access, DeviceStep, KernelImage};

/// The memory that a step accesses.
struct Accesses<'t> {
    reads: Vec<&'t Slice>,
    writes: Vec<&'t Slice>,
}

impl<'t> Accesses<'t> {
    fn of(step: &DeviceStep<'t>, kernels: &[&KernelImage]) -> Accesses<'t> {
        match *step {
            DeviceStep::Launch { kernel, arguments } => {
                let mut accesses = Accesses { reads: Vec::new(), writes: Vec::new() };
                for (slice, argument) in arguments.iter().zip(&kernels[kernel as usize].arguments) {
                    let is_read = argument.access == Access::Read;
                    if is_read { &mut accesses.reads } else { &mut accesses.writes }.push(slice);
                }
                accesses
            }
            DeviceStep::Copy { from, to } => Accesses { reads: vec![from], writes: vec![to] },
        }
    }

    /// Whether the order of the two matters: one writes what the other reads or writes.
    fn conflicts_with(&self, other: &Accesses) -> bool {
        let overlap = |some: &[&Slice], others: &[&Slice]| some.iter().any(|a| others.iter().any(|b| a.overlaps(b)));
        overlap(&self.writes, &other.writes)
            || overlap(&self.writes, &other.reads)
            || overlap(&self.reads, &other.writes)
    }
}

/// Returns, for each step of a sequence, the earlier steps for which it must wait. Omits those for
/// which it waits indirectly.
pub fn predecessors(steps: &[DeviceStep], kernels: &[&KernelImage]) -> Vec<Vec<usize>> {
    let accesses: Vec<Accesses> = steps.iter().map(|step| Accesses::of(step, kernels)).collect();
    // For each step, whether each earlier step is ordered before it.
    let mut ordered: Vec<Vec<bool>> = Vec::with_capacity(steps.len());
    let mut predecessors = Vec::with_capacity(steps.len());
    for (number, this) in accesses.iter().enumerate() {
        let (mut before, mut direct) = (vec![false; number], Vec::new());
        for earlier in (0..number).rev() {
            if !before[earlier] && this.conflicts_with(&accesses[earlier]) {
                direct.push(earlier);
                before[earlier] = true;
                before.iter_mut().zip(&ordered[earlier]).for_each(|(mine, other)| *mine |= *other);
            }
        }
        ordered.push(before);
        predecessors.push(direct);
    }
    predecessors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executable::KernelArgument;

    fn slice(allocation: u32, offset: u64, bytes: u64) -> Slice {
        Slice { allocation, offset, bytes }
    }

    fn kernel(accesses: &[Access]) -> KernelImage {
        let argument = |&access: &Access| KernelArgument { name: String::new(), bytes: 64, element_bytes: 4, access };
        KernelImage {
            symbol: "k".into(),
            emitter: "test 1.0.0".into(),
            code: 0,
            blocks: 1,
            threads_per_block: 1,
            shared_bytes: 0,
            predicted_ns: None,
            arguments: accesses.iter().map(argument).collect(),
        }
    }

    #[test]
    fn a_step_waits_for_the_last_writer_and_for_readers_of_what_it_writes() {
        let map = kernel(&[Access::Read, Access::WriteOnce]);
        let arguments = |from: u32, to: u32| [slice(from, 0, 64), slice(to, 0, 64)];
        // 0 -> 1, 1 -> 2 and 1 -> 3 are a fork; the copy joins; the last overwrites what was read.
        let launches = [arguments(0, 1), arguments(1, 2), arguments(1, 3), arguments(4, 1)];
        let launch = |number: usize| DeviceStep::Launch { kernel: 0, arguments: &launches[number] };
        let copy = DeviceStep::Copy { from: &slice(2, 0, 32), to: &slice(3, 0, 32) };
        let found = predecessors(&[launch(0), launch(1), launch(2), copy, launch(3)], &[&map]);
        assert_eq!(found, [vec![], vec![0], vec![0], vec![2, 1], vec![2, 1]]);
    }

    #[test]
    fn different_bytes_of_one_allocation_do_not_conflict() {
        let update = kernel(&[Access::Update]);
        let arguments = [0, 64, 32, 0].map(|offset| [slice(0, offset, 64)]);
        let launches = arguments.each_ref().map(|arguments| DeviceStep::Launch { kernel: 0, arguments });
        let found = predecessors(&launches, &[&update]);
        assert_eq!(found, [vec![], vec![], vec![1, 0], vec![2]]);
    }
}
