//! Groups of values that one loop nest computes, and the points of each nest.

use std::collections::HashSet;

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, InstrId};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize, dim_exprs};
use fusebox_core::launch::{Nest, cost_per_point, lanes_along, worth_sharing};

use crate::bundles::{Bundle, ConcatenateVisit, ValueTarget};
use crate::concatenates::{ConcatenateHero, ConcatenateResults, SideResult};
use crate::row_major::is_row_major;
use crate::rows;

/// Largest number of values of a bundle. The values of a bundle are live at the same time.
const MOST_TOGETHER: usize = 4;

/// The loop nests of a kernel, and the concatenates to which they write.
pub struct KernelVisits<'r> {
    /// The concatenates.
    pub concatenates: &'r [ConcatenateHero],
    /// Loop nests of the kernel.
    pub visits: Vec<ConcatenateVisit>,
}

/// A value that will be added to a bundle.
struct BundleEntry {
    instruction: InstrId,
    dims: Vec<i64>,
    /// The first dimension that the nest may merge with all later dimensions.
    dimension: usize,
    target: EntryTarget,
}

enum EntryTarget {
    Element { concatenate: usize, offset: i64 },
    Outputs(Vec<usize>),
}

/// Returns the loop nests of a fusion.
pub fn work<'r>(
    results: &'r ConcatenateResults,
    computation: &Computation,
    device: &DeviceDescription,
) -> KernelVisits<'r> {
    let ConcatenateResults { concatenates, side_results } = results;
    let mut visits = Vec::new();
    let mut entries = Vec::new();
    let alone = concatenates.len() == 1 && side_results.is_empty();
    for (number, concatenate) in concatenates.iter().enumerate() {
        if let Some(kind) = rows::suits(concatenate, alone, device) {
            visits.push(rows::visit(computation, concatenate, number, kind));
            continue;
        }
        entries.extend(concatenate.operands.iter().filter_map(|operand| {
            Some(BundleEntry {
                instruction: operand.instruction,
                dims: computation.instruction(operand.instruction).shape.as_array()?.dims.clone(),
                dimension: concatenate.dimension,
                target: EntryTarget::Element { concatenate: number, offset: operand.offset },
            })
        }));
    }
    entries.extend(side_results.iter().filter_map(|result| side_result(computation, result)));
    let groups = groups(computation, entries);
    visits.extend(groups.into_iter().map(|group| together(computation, concatenates, group, device)));
    KernelVisits { concatenates, visits }
}

fn side_result(computation: &Computation, result: &SideResult) -> Option<BundleEntry> {
    let leaf = computation.instruction(result.root).shape.leaves().into_iter().next()?.as_array()?.clone();
    let target = EntryTarget::Outputs(result.outputs.clone());
    let has_elements = leaf.element_count() > 0;
    let dimension = leaf.rank().saturating_sub(1);
    has_elements.then_some(BundleEntry { instruction: result.root, dims: leaf.dims, dimension, target })
}

/// Groups entries with equal dimensions and common instructions. One loop nest computes a group.
fn groups(computation: &Computation, entries: Vec<BundleEntry>) -> Vec<Vec<BundleEntry>> {
    let mut groups: Vec<(Vec<BundleEntry>, HashSet<InstrId>)> = Vec::new();
    for entry in entries {
        let above = worth_sharing(computation, entry.instruction);
        let fits = |(group, shared): &&mut (Vec<BundleEntry>, HashSet<InstrId>)| {
            group[0].dims == entry.dims && group.len() < MOST_TOGETHER && !above.is_disjoint(shared)
        };
        match groups.iter_mut().find(fits) {
            Some((group, shared)) => {
                group.push(entry);
                shared.extend(above);
            }
            None => groups.push((vec![entry], above)),
        }
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

fn together(
    computation: &Computation,
    concatenates: &[ConcatenateHero],
    group: Vec<BundleEntry>,
    device: &DeviceDescription,
) -> ConcatenateVisit {
    let epilogues: Vec<InstrId> = concatenates.iter().flat_map(ConcatenateHero::epilogue_roots).collect();
    let dims = group[0].dims.clone();
    let index = IndexingMap::identity(&dims);
    let mut bundle = Bundle { values: Vec::new(), index, unrolled: true, writes: Vec::new() };
    for entry in &group {
        let leaves =
            |ids: &[InstrId]| -> usize { ids.iter().map(|&id| computation.instruction(id).shape.leaves().len()).sum() };
        let known = bundle.values.iter().position(|&value| value == entry.instruction);
        let value = leaves(&bundle.values[..known.unwrap_or(bundle.values.len())]);
        bundle.values.extend(known.is_none().then_some(entry.instruction));
        match &entry.target {
            EntryTarget::Element { concatenate, offset } => {
                bundle.writes.push(ValueTarget::Element { value, concatenate: *concatenate, offset: *offset });
            }
            EntryTarget::Outputs(outputs) => bundle.writes.extend(
                outputs.iter().enumerate().map(|(leaf, &output)| ValueTarget::Output { value: value + leaf, output }),
            ),
        }
    }
    // Merges inner dimensions if all instructions keep row-major order.
    let dimension = group.iter().map(|entry| entry.dimension).max().unwrap_or(0);
    let starts = [bundle.values.as_slice(), &epilogues].concat();
    let mut nest_dims = dims.clone();
    if dims.len() > dimension + 1 && is_row_major(computation, &starts, dimension) {
        let (outer, inner) = dims.split_at(dimension);
        nest_dims = [outer, &[inner.iter().product()]].concat();
        let position = Expr::dim(dimension as u32);
        let results = [dim_exprs(dimension), delinearize(&position, inner)].concat();
        bundle.index = IndexingMap::from_tensor_sizes(results, &nest_dims, &[]);
    }
    // A write is a vector write only if operands start at multiples of the vector width.
    let mut lengths = vec![nest_dims.last().copied().unwrap_or(1)];
    for write in &bundle.writes {
        let ValueTarget::Element { concatenate: number, offset, .. } = *write else { continue };
        let concatenate = &concatenates[number];
        let (_, inner) = concatenate.dims.split_at(concatenate.dimension);
        lengths.push(inner.iter().product());
        lengths.push(offset * inner[1..].iter().product::<i64>());
    }
    let nest = Nest {
        cost: cost_per_point(computation, &bundle.values),
        lanes: lanes_along(computation, &bundle.values, &lengths, device),
        dims: nest_dims,
    };
    ConcatenateVisit { nest, bundles: vec![bundle] }
}
