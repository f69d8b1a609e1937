//! Loop nests over rows of the result. A row consists of the elements along the concatenated
//! dimension and all later dimensions. The kernel writes one row at a time, operand after operand.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, InstrId};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize, dim_exprs};
use fusebox_core::launch::{Cost, Nest, cost_per_point, worth_sharing};

use crate::bundles::{Bundle, ConcatenateVisit, ValueTarget};
use crate::concatenates::ConcatenateHero;
use crate::row_major::is_row_major;

/// Largest number of elements for which the kernel writes a row without loops.
const SHORT_ROW: i64 = 16;
/// Least number of rows per core for which the kernel can distribute whole rows evenly over the
/// cores.
const ROWS_PER_CORE: i64 = 16;

/// The method by which the kernel writes a row of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// One thread writes the row, element by element.
    Short,
    /// One loop per operand writes a part of the row, so that the kernel writes the result from
    /// start to end.
    Long,
}

/// Returns the method by which the kernel writes rows, or `None` if the kernel does not write the
/// concatenate row by row. `alone` means that all results of the fusion come from this concatenate.
pub fn suits(concatenate: &ConcatenateHero, alone: bool, device: &DeviceDescription) -> Option<RowKind> {
    let (outer, inner) = concatenate.dims.split_at(concatenate.dimension);
    let (rows, row): (i64, i64) = (outer.iter().product(), inner.iter().product());
    if rows > 1 && row <= SHORT_ROW {
        return Some(RowKind::Short);
    }
    let enough = rows >= ROWS_PER_CORE * i64::from(device.core_count);
    (alone && enough && device.is_single_threaded_block()).then_some(RowKind::Long)
}

/// Returns the nest over the rows.
pub fn visit(
    computation: &Computation,
    concatenate: &ConcatenateHero,
    number: usize,
    kind: RowKind,
) -> ConcatenateVisit {
    let outer = &concatenate.dims[..concatenate.dimension];
    let mut bundles: Vec<Bundle> = Vec::new();
    for operand in &concatenate.operands {
        let write = |value| ValueTarget::Element { value, concatenate: number, offset: operand.offset };
        let index = index(computation, concatenate, operand.instruction, kind);
        let above = worth_sharing(computation, operand.instruction);
        let fits = |bundle: &&mut Bundle| {
            let shares = |&value| !worth_sharing(computation, value).is_disjoint(&above);
            bundle.index == index && (kind == RowKind::Short || bundle.values.iter().any(shares))
        };
        match bundles.iter_mut().find(fits) {
            Some(bundle) => {
                let known = bundle.values.iter().position(|&value| value == operand.instruction);
                bundle.writes.push(write(known.unwrap_or(bundle.values.len())));
                bundle.values.extend(known.is_none().then_some(operand.instruction));
            }
            None => bundles.push(Bundle {
                values: vec![operand.instruction],
                index,
                unrolled: kind == RowKind::Short,
                writes: vec![write(0)],
            }),
        }
    }
    let of_bundle = |bundle: &Bundle| {
        let points = bundle.index.ranges.iter().fold(1i64, |n, range| n.saturating_mul(range.bounds.size() as i64));
        cost_per_point(computation, &bundle.values).times(points)
    };
    let cost = bundles.iter().map(of_bundle).fold(Cost::default(), |sum, one| sum + one);
    ConcatenateVisit { nest: Nest { dims: point_dims(outer, kind), cost, lanes: 1 }, bundles }
}

/// Returns the dimensions of the nest's points. For long rows, the function appends a dimension of
/// size 1, so that each row of the result is also a row of the nest. For short rows, the function
/// appends no dimension, because the lanes of a vector compute several rows.
fn point_dims(outer: &[i64], kind: RowKind) -> Vec<i64> {
    match kind {
        RowKind::Short => outer.to_vec(),
        RowKind::Long => [outer, &[1]].concat(),
    }
}

/// Returns the map from a row to an index of the operand. The range variables are the coordinates
/// of the position in the row.
fn index(computation: &Computation, concatenate: &ConcatenateHero, operand: InstrId, kind: RowKind) -> IndexingMap {
    let outer = &concatenate.dims[..concatenate.dimension];
    let dims = computation.instruction(operand).shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
    let inner = &dims[concatenate.dimension..];
    let starts = [&[operand], concatenate.epilogue_roots().as_slice()].concat();
    let (sizes, within): (Vec<i64>, Vec<Expr>) =
        if kind == RowKind::Long && is_row_major(computation, &starts, concatenate.dimension) {
            (vec![inner.iter().product()], delinearize(&Expr::range(0), inner))
        } else {
            (inner.to_vec(), (0..inner.len() as u32).map(Expr::range).collect())
        };
    IndexingMap::from_tensor_sizes([dim_exprs(outer.len()), within].concat(), &point_dims(outer, kind), &sizes)
}
