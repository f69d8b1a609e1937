//! Predicts a bid together with the kernels around it. Without the bid, the host may fuse some of
//! the bid's instructions into kernels that contain further instructions. If the bid takes some
//! instructions of a host's kernel, the kernel's remaining instructions move to another kernel.
//! This other kernel does not compute the bid's values, but reads them from a buffer that the bid's
//! kernel writes. So the comparison includes all kernels from which the bid takes instructions.

use std::collections::{BTreeSet, HashSet};

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayShape, InstrId, Module};

use super::candidate::Sequence;
use super::convex_region::{ConvexRegion, convex_region};
use super::decide::Decisions;
use super::outline::put_in_place;
use super::region::Region;

/// Largest number of instructions of the compared kernels. Planning kernels with more instructions
/// would take as long as compiling them.
const MOST_INSTRUCTIONS: usize = 64;

/// Returns the instructions of all kernels that would contain some of the bid's instructions if
/// there were no bid. Includes the instructions of the kernels that read the results of such a
/// kernel. `None` if the bid contains all instructions of these kernels, or if there are too many
/// instructions.
pub fn surroundings(sequence: &Sequence, alone: &Decisions, bid: &ConvexRegion) -> Option<Region> {
    let kernels_of = |id: &InstrId| alone.kernels[id.index()].iter().copied();
    let taken_from: BTreeSet<InstrId> =
        bid.exclusive_members(sequence.computation).iter().flat_map(kernels_of).collect();
    // Adds the readers of the kernels' results, because another emitter may bid for these readers
    // together with the instructions that remain.
    let readers = taken_from.iter().flat_map(|&root| sequence.graph.readers(root));
    let readers = readers.map(|&reader| InstrId(reader as u32)).filter(|id| sequence.computable[id.index()]);
    let mut kernels = taken_from.clone();
    kernels.extend(readers.flat_map(|id| kernels_of(&id).collect::<Vec<_>>()));
    let mut members: HashSet<InstrId> = HashSet::new();
    let mut pending: Vec<InstrId> = kernels.iter().copied().collect();
    while let Some(id) = pending.pop() {
        let is_inside = sequence.computable[id.index()] && kernels_of(&id).any(|kernel| kernels.contains(&kernel));
        if is_inside && members.insert(id) {
            pending.extend(&sequence.computation.instruction(id).operands);
        }
        if members.len() > MOST_INSTRUCTIONS {
            return None;
        }
    }
    let own = &bid.region.members;
    if members.iter().all(|id| own.contains(id)) {
        return None;
    }
    members.extend(own);
    Some(convex_region(sequence, members.into_iter().collect()).ok()?.region)
}

/// Returns an upper bound of the additional seconds that a bid costs for writing and reading
/// values. Counts the values that the bid stores, minus the values that the host would store
/// without the bid.
pub fn more_stored(sequence: &Sequence, alone: &Decisions, bid: &ConvexRegion, device: &DeviceDescription) -> f64 {
    let bytes = |id: InstrId| {
        let shape = sequence.computation.instruction(id).shape.as_array();
        shape.map_or(0, ArrayShape::byte_size)
    };
    let roots = &bid.region.roots;
    let stored: i64 = roots.iter().filter(|&&id| !alone.is_root(id)).map(|&id| bytes(id)).sum();
    let exclusive_members = bid.exclusive_members(sequence.computation);
    let not_stored: i64 =
        exclusive_members.into_iter().filter(|&id| alone.is_root(id) && !roots.contains(&id)).map(bytes).sum();
    2.0 * (stored - not_stored) as f64 / device.memory_bandwidth
}

/// A region in which the instructions of a bid are one fusion.
pub struct RegionWithBid {
    pub module: Module,
    /// Ids that the bid's instructions have in the region's module before they become a fusion.
    pub members: Vec<InstrId>,
}

/// Replaces the members of a bid by a fusion in a region. `alone` is the module of the region.
/// `None` if the region does not contain all members.
pub fn with_bid(alone: &Module, region: &Region, bid: &Region) -> Option<RegionWithBid> {
    let parameters = region.operands().count();
    let origin = |id: &InstrId| region.members.binary_search(id).ok().map(|place| InstrId((parameters + place) as u32));
    let members: Vec<InstrId> = bid.members.iter().map(origin).collect::<Option<_>>()?;
    let mut made = alone.clone();
    let entry = alone.entry?;
    let mut sequence = Sequence::of(alone, entry);
    let convex = convex_region(&sequence, members.clone()).ok()?;
    sequence.fuse(convex);
    put_in_place(&mut made, entry, sequence.graph.into_steps()).ok()?;
    Some(RegionWithBid { module: made, members })
}
