//! Groups of boxes that one loop nest visits.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, InstrId};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, dim_exprs};
use fusebox_core::launch::{Nest, cost_per_point, lanes_along, worth_sharing};

use crate::slices::Slice;

/// Largest number of slices of a visit. The values of all slices of a visit are live at the same
/// time.
const MOST_TOGETHER: usize = 8;

/// A loop nest over a box. The box contains one or more slices. The sliced arrays have equal
/// dimensions.
pub struct SliceVisit {
    /// Points of the nest.
    pub nest: Nest,
    /// Map from a point to an index of the arrays.
    pub index: IndexingMap,
    /// The sliced arrays, without duplicates.
    pub arrays: Vec<InstrId>,
    /// The slices.
    pub members: Vec<VisitSlice>,
}

/// A slice of a visit.
pub struct VisitSlice {
    pub slice: Slice,
    /// Position of the slice's array in the list of computed values: the number of its first leaf.
    pub value: usize,
    /// Map from a point to an index of the slice. The map's constraints hold for the points that
    /// the slice contains.
    pub from_point: IndexingMap,
}

/// Returns the loop nests of a fusion.
pub fn visits(slices: &[Slice], computation: &Computation, device: &DeviceDescription) -> Vec<SliceVisit> {
    let slices = slices.iter().filter(|slice| slice.element_count() > 0).cloned();
    let mut clusters: Vec<Vec<Slice>> = Vec::new();
    for slice in slices {
        // A slice may belong to several clusters. These clusters are then merged.
        let (mut meets, disjoint): (Vec<_>, Vec<_>) =
            clusters.into_iter().partition(|cluster| belongs(computation, cluster, &slice));
        clusters = disjoint;
        let count: usize = meets.iter().map(Vec::len).sum();
        if count < MOST_TOGETHER {
            let mut cluster: Vec<Slice> = meets.into_iter().flatten().collect();
            cluster.push(slice);
            clusters.push(cluster);
        } else {
            clusters.append(&mut meets);
            clusters.push(vec![slice]);
        }
    }
    clusters.into_iter().map(|cluster| visit(computation, cluster, device)).collect()
}

/// Whether a slice and a member of the cluster overlap and need common instructions.
fn belongs(computation: &Computation, cluster: &[Slice], slice: &Slice) -> bool {
    let above = worth_sharing(computation, slice.array);
    cluster.iter().any(|other| {
        let meets = |d: usize| slice.first[d] < other.end()[d] && other.first[d] < slice.end()[d];
        other.dims == slice.dims
            && other.is_dense()
            && slice.is_dense()
            && (0..slice.dims.len()).all(meets)
            && !worth_sharing(computation, other.array).is_disjoint(&above)
    })
}

fn visit(computation: &Computation, cluster: Vec<Slice>, device: &DeviceDescription) -> SliceVisit {
    let rank = cluster[0].dims.len();
    let first: Vec<i64> = (0..rank).map(|d| cluster.iter().map(|slice| slice.first[d]).min().unwrap_or(0)).collect();
    let dims: Vec<i64> = match cluster.as_slice() {
        [slice] => slice.sizes.clone(),
        slices => (0..rank).map(|d| slices.iter().map(|s| s.end()[d]).max().unwrap_or(0) - first[d]).collect(),
    };
    let strides = cluster[0].strides.clone();
    let place = |d: usize| Expr::dim(d as u32) * strides[d] + first[d];
    let index = IndexingMap::from_tensor_sizes((0..rank).map(place).collect(), &dims, &[]);
    let mut arrays: Vec<InstrId> = Vec::new();
    let mut members = Vec::new();
    for slice in cluster {
        let known = arrays.iter().position(|&array| array == slice.array).unwrap_or(arrays.len());
        if known == arrays.len() {
            arrays.push(slice.array);
        }
        let value = arrays[..known].iter().map(|&id| computation.instruction(id).shape.leaves().len()).sum();
        let from_point = from_point(&slice, &first, &dims);
        members.push(VisitSlice { slice, value, from_point });
    }
    // The lengths of the rows that the kernel reads and writes, and the position of the first
    // point.
    let last = |sizes: &[i64]| sizes.last().copied().unwrap_or(1);
    let lengths = [last(&dims), last(&members[0].slice.dims), first.last().copied().unwrap_or(0)];
    // If a slice contains only part of the box, the kernel writes lanes one by one.
    let whole = members.iter().all(|member| member.from_point.constraints.is_empty());
    let nest = Nest {
        cost: cost_per_point(computation, &arrays),
        lanes: if whole { lanes_along(computation, &arrays, &lengths, device) } else { 1 },
        dims,
    };
    SliceVisit { nest, index, arrays, members }
}

/// Returns the map from a point of the box that starts at `origin` to an index of the slice.
fn from_point(slice: &Slice, origin: &[i64], dims: &[i64]) -> IndexingMap {
    if slice.sizes == dims {
        return IndexingMap::from_tensor_sizes(dim_exprs(dims.len()), dims, &[]);
    }
    let offset = |d: usize| Expr::dim(d as u32) + (origin[d] - slice.first[d]);
    let mut map = IndexingMap::from_tensor_sizes((0..dims.len()).map(offset).collect(), dims, &[]);
    for d in (0..dims.len()).filter(|&d| slice.sizes[d] < dims[d]) {
        map = map.with_constraint(offset(d), Interval::from_size(slice.sizes[d]));
    }
    map
}
