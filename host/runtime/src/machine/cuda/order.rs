//! Determines which steps of a sequence must wait for earlier steps, and which stream executes each
//! step.

use crate::Slice;
use crate::executable::{Access, DeviceStep, KernelImage};

/// The memory that a step accesses.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    pub reads: Vec<Slice>,
    pub writes: Vec<Slice>,
}

impl Accesses {
    /// Returns the accesses of a step.
    pub fn of(step: &DeviceStep, kernels: &[&KernelImage]) -> Accesses {
        let mut accesses = Accesses::default();
        accesses.add(step, kernels);
        accesses
    }

    /// Adds the accesses of other steps.
    pub fn extend(&mut self, others: impl IntoIterator<Item = Accesses>) {
        for other in others {
            self.reads.extend(other.reads);
            self.writes.extend(other.writes);
        }
    }

    fn add(&mut self, step: &DeviceStep, kernels: &[&KernelImage]) {
        match *step {
            DeviceStep::Launch { kernel, arguments } => {
                for (slice, argument) in arguments.iter().zip(&kernels[kernel as usize].arguments) {
                    let is_read = argument.access == Access::Read;
                    if is_read { &mut self.reads } else { &mut self.writes }.push(*slice);
                }
            }
            DeviceStep::Copy { from, to } => {
                self.reads.push(*from);
                self.writes.push(*to);
            }
        }
    }

    /// Whether the order of two steps matters: one step writes memory that the other step reads or
    /// writes.
    fn conflicts_with(&self, other: &Accesses) -> bool {
        let overlap = |some: &[Slice], others: &[Slice]| some.iter().any(|a| others.iter().any(|b| a.overlaps(b)));
        overlap(&self.writes, &other.writes)
            || overlap(&self.writes, &other.reads)
            || overlap(&self.reads, &other.writes)
    }
}

/// The stream of a step, and the earlier steps of the sequence for which the step waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the stream that executes the step.
    pub stream: usize,
    /// The earlier steps for which the step must wait, because they access the same memory or
    /// precede the step in its stream. Omits earlier steps for which the step waits indirectly.
    pub after: Vec<usize>,
    /// Whether a step of another stream waits for this step.
    pub is_awaited: bool,
}

/// Divides the steps of a sequence among streams: at most `most_streams`, but at least one. Steps
/// that access the same memory keep their order.
pub fn places(steps: &[Accesses], most_streams: usize) -> Vec<Place> {
    // For each step, whether each earlier step is ordered before it.
    let mut ordered: Vec<Vec<bool>> = Vec::with_capacity(steps.len());
    // For each stream, its last step.
    let mut last: Vec<usize> = Vec::new();
    let mut places: Vec<Place> = Vec::with_capacity(steps.len());
    for (number, this) in steps.iter().enumerate() {
        let (mut before, mut after) = (vec![false; number], Vec::new());
        for earlier in (0..number).rev() {
            if !before[earlier] && this.conflicts_with(&steps[earlier]) {
                after.push(earlier);
                wait_for(earlier, &mut before, &ordered);
            }
        }
        let stream = stream(&last, &before, most_streams);
        match last.get_mut(stream) {
            Some(previous) => {
                if !before[*previous] {
                    wait_for(*previous, &mut before, &ordered);
                    after.retain(|&earlier| !ordered[*previous].get(earlier).copied().unwrap_or(false));
                    after.push(*previous);
                }
                *previous = number;
            }
            None => last.push(number),
        }
        ordered.push(before);
        for &earlier in &after {
            let earlier = &mut places[earlier];
            earlier.is_awaited |= earlier.stream != stream;
        }
        places.push(Place { stream, after, is_awaited: false });
    }
    places
}

/// Records that a step waits for an earlier step, and so also for all steps for which the earlier
/// step waits.
fn wait_for(earlier: usize, before: &mut [bool], ordered: &[Vec<bool>]) {
    before[earlier] = true;
    before.iter_mut().zip(&ordered[earlier]).for_each(|(mine, other)| *mine |= *other);
}

/// Returns the stream of a step. If the step must wait for the last step of a stream anyway, the
/// function returns that stream. Otherwise the function returns a new stream. If no new stream is
/// allowed, returns the stream that has received no step for the longest time.
fn stream(last: &[usize], before: &[bool], most_streams: usize) -> usize {
    let streams = || last.iter().enumerate();
    let continued = streams().filter(|(_, step)| before[**step]).max_by_key(|(_, step)| **step);
    let idle = || streams().min_by_key(|(_, step)| **step);
    match continued {
        Some((stream, _)) => stream,
        None if last.len() < most_streams.max(1) => last.len(),
        None => idle().map_or(0, |(stream, _)| stream),
    }
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

    fn placed(steps: &[DeviceStep], kernel: &KernelImage, most_streams: usize) -> Vec<Place> {
        let accesses: Vec<Accesses> = steps.iter().map(|step| Accesses::of(step, &[kernel])).collect();
        places(&accesses, most_streams)
    }

    #[test]
    fn a_step_waits_for_the_last_writer_and_for_readers_of_what_it_writes() {
        let map = kernel(&[Access::Read, Access::WriteOnce]);
        let arguments = |from: u32, to: u32| [slice(from, 0, 64), slice(to, 0, 64)];
        // 0 -> 1, 1 -> 2 and 1 -> 3 are a fork; the copy joins; the last overwrites what was read.
        let launches = [arguments(0, 1), arguments(1, 2), arguments(1, 3), arguments(4, 1)];
        let launch = |number: usize| DeviceStep::Launch { kernel: 0, arguments: &launches[number] };
        let copy = DeviceStep::Copy { from: &slice(2, 0, 32), to: &slice(3, 0, 32) };
        let steps = [launch(0), launch(1), launch(2), copy, launch(3)];
        let after = |streams| placed(&steps, &map, streams).into_iter().map(|place| place.after).collect::<Vec<_>>();
        assert_eq!(after(2), [vec![], vec![0], vec![0], vec![2, 1], vec![2, 1]]);
        assert_eq!(after(1), [vec![], vec![0], vec![1], vec![2], vec![3]]);
    }

    #[test]
    fn different_bytes_of_one_allocation_do_not_conflict() {
        let update = kernel(&[Access::Update]);
        let arguments = [0, 64, 32, 0].map(|offset| [slice(0, offset, 64)]);
        let launches = arguments.each_ref().map(|arguments| DeviceStep::Launch { kernel: 0, arguments });
        let places = placed(&launches, &update, 2);
        let after: Vec<_> = places.iter().map(|place| place.after.clone()).collect();
        assert_eq!(after, [vec![], vec![], vec![1, 0], vec![2]]);
        assert_eq!(places.iter().map(|place| place.stream).collect::<Vec<_>>(), [0, 1, 1, 1]);
    }

    #[test]
    fn more_steps_than_streams_share_streams() {
        let map = kernel(&[Access::Read, Access::WriteOnce]);
        let launches = [1, 2, 3, 4, 5].map(|to| [slice(0, 0, 64), slice(to, 0, 64)]);
        let steps = launches.each_ref().map(|arguments| DeviceStep::Launch { kernel: 0, arguments });
        let streams = |most| placed(&steps, &map, most).into_iter().map(|place| place.stream).collect::<Vec<_>>();
        assert_eq!(streams(2), [0, 1, 0, 1, 0]);
        assert_eq!(streams(8), [0, 1, 2, 3, 4]);
        // One stream is the order of the sequence.
        let alone = placed(&steps, &map, 1);
        assert!(alone.iter().skip(1).enumerate().all(|(number, place)| place.after == [number] && place.stream == 0));
    }
}
