//! Groups of results that one loop nest computes, and the points of each nest.

use fusebox_core::cost;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{InstrId, Instruction, Op, Shape};
use fusebox_core::indexing::{Expr, IndexingMap, combined_elements, delinearize};
use fusebox_core::launch::{Nest, cost_per_point};

use crate::alignment::lanes_of_reads;
use crate::factors::{factors, from_digits};
use crate::roots::{RootGroup, is_elementwise};

/// Largest number of elements that a point may read if a thread computes several points.
const MOST_READS_WITH_LANES: i64 = 8;
/// Least cost, in additions, of an operation whose code consists of several basic blocks, such as
/// the sine of an `f64`. Accesses of adjacent points are not merged across the code of an operation
/// with several basic blocks.
const COST_OF_BRANCHES: f64 = 100.0;
/// Minimum length of a row that is a loop of its own, for elementwise fusions and blocks of one
/// thread. If rows are shorter, the kernel merges all dimensions.
const SHORT_ROW: i64 = 64;
/// Like [`SHORT_ROW`], for rows that do not fill vector registers of 64 bytes. Each of these rows
/// ends with a loop over single elements. Merged, rows of 100 elements take 0.55 to 0.64 of the
/// time for math functions. Rows of 1,000 elements take as long, and their kernels compile faster
/// if they are not merged.
const SHORT_ROW_WITH_REMAINDER: i64 = 512;
/// Number of 32-bit elements in a vector register of 64 bytes.
const WHOLE_VECTORS: i64 = 16;

/// A loop nest, and the results that are computed at each of its points.
pub struct LoopVisit {
    /// Points of the nest.
    pub nest: Nest,
    /// The results.
    pub members: Vec<VisitResults>,
}

/// Results of one shape.
pub struct VisitResults {
    /// The results.
    pub group: RootGroup,
    /// Map from a point to the index of the results.
    pub from_point: IndexingMap,
}

/// Returns the loop nests of a fusion. If blocks have many threads, one nest computes results with
/// equally many elements and common instructions, so that it computes the common instructions once.
/// If blocks have one thread, every group has a separate nest, because index arithmetic in the
/// innermost loop is slow.
pub fn visits(groups: &[RootGroup], fusion: &Fusion, device: &DeviceDescription) -> Vec<LoopVisit> {
    let mut together: Vec<Vec<RootGroup>> = Vec::new();
    for group in groups.iter().filter(|group| group.element_count() > 0).cloned() {
        let fits = |others: &&mut Vec<RootGroup>| {
            !device.is_single_threaded_block()
                && others[0].element_count() == group.element_count()
                && others.iter().any(|other| other.goes_with(&group.needs))
        };
        match together.iter_mut().find(fits) {
            Some(others) => others.push(group),
            None => together.push(vec![group]),
        }
    }
    together.into_iter().map(|groups| visit(fusion, groups, device)).collect()
}

fn visit(fusion: &Fusion, groups: Vec<RootGroup>, device: &DeviceDescription) -> LoopVisit {
    let lanes = lanes(fusion, &groups, device);
    let points = groups[0].element_count();
    let factors = match groups.as_slice() {
        [group] => factors_of_points(fusion, group, lanes, device),
        _ => None,
    };
    let dims = factors.as_ref().map_or_else(|| vec![points], |factors| factors.concat());
    let values: Vec<InstrId> = groups.iter().flat_map(|group| group.instructions.iter().copied()).collect();
    let nest = Nest { cost: cost_per_point(fusion.computation(), &values), lanes, dims };
    let from_point = |group: &RootGroup| match &factors {
        Some(factors) => from_digits(factors),
        None => IndexingMap::from_tensor_sizes(delinearize(&Expr::dim(0), &group.dims), &nest.dims, &[]),
    };
    let member = |group: RootGroup| VisitResults { from_point: from_point(&group), group };
    let members = groups.into_iter().map(member).collect();
    LoopVisit { nest, members }
}

/// Returns the sizes of the loops over each dimension of a group's results, or `None` if all
/// dimensions are merged.
fn factors_of_points(
    fusion: &Fusion,
    group: &RootGroup,
    lanes: i64,
    device: &DeviceDescription,
) -> Option<Vec<Vec<i64>>> {
    let whole = || group.dims.iter().map(|&size| vec![size]).collect();
    let row = group.dims.last().copied().unwrap_or(lanes);
    if !device.is_single_threaded_block() {
        return (row % lanes == 0).then(whole);
    }
    if is_elementwise(fusion, group) {
        let least = if row % WHOLE_VECTORS == 0 { SHORT_ROW } else { SHORT_ROW_WITH_REMAINDER };
        return (group.dims.is_empty() || row >= least).then(whole);
    }
    Some(factors(fusion, group))
}

/// Returns the number of lanes: the largest power of two with which a thread accesses each array by
/// one instruction. If a thread accesses an array by one instruction, the accesses of a warp have
/// no gaps. The number of points need not be a multiple of the number of lanes; the last thread
/// computes the remaining points. The number of lanes is 1 for fusions that read many elements per
/// point, that compute operations with branches, or that cannot read vectors.
fn lanes(fusion: &Fusion, groups: &[RootGroup], device: &DeviceDescription) -> i64 {
    let computation = fusion.computation();
    let most_reads = computation.instructions.iter().map(|i| combined_elements(computation, i)).max().unwrap_or(1);
    let branches =
        |it: &Instruction| matches!(it.op, Op::Pad { .. }) || cost::per_element(computation, it) >= COST_OF_BRANCHES;
    let is_plain = most_reads <= MOST_READS_WITH_LANES && !computation.instructions.iter().any(branches);
    if device.is_single_threaded_block() || !is_plain {
        return 1;
    }
    let points = groups[0].element_count();
    let parameters = computation.parameters().into_iter().map(|id| &computation.instruction(id).shape);
    let of_points = parameters.chain(fusion.output_shapes()).flat_map(Shape::leaves).filter_map(Shape::as_array);
    let sizes =
        of_points.filter(|array| array.element_count() == points).map(|array| array.element_type.byte_size() as i64);
    let Some(widest) = sizes.max() else { return 1 };
    let limit = (i64::from(device.vector_bytes) / widest).clamp(1, points);
    let lanes = (0..7).map(|exponent| 1 << exponent).take_while(|lanes| *lanes <= limit).last().unwrap_or(1);
    lanes_of_reads(fusion, groups, lanes)
}
