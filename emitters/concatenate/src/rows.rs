//! Nests over rows of the result. A row comprises the dimension of the concatenate and all inner
//! dimensions. The kernel writes a row at a time, operand after operand.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, InstrId};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize, dim_exprs};
use fusebox_core::launch::{Cost, Nest, cost_per_point, worth_sharing};

use crate::joined::Joined;
use crate::visits::{Bundle, Visit, Write, is_row_major};

/// Largest number of elements of a row that is written without loops.
const SHORT_ROW: i64 = 16;
/// Fewest rows per core that can be distributed evenly without splitting a row.
const ROWS_PER_CORE: i64 = 16;

/// The way in which a row is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// By one thread, element by element.
    Short,
    /// By a loop per operand, so that the result is written from start to end.
    Long,
}

/// Returns whether and how the concatenate is written row by row. `alone` means that the fusion has
/// no other result.
pub fn suits(joined: &Joined, alone: bool, device: &DeviceDescription) -> Option<Rows> {
    let (outer, inner) = joined.dims.split_at(joined.dimension);
    let (rows, row): (i64, i64) = (outer.iter().product(), inner.iter().product());
    if rows > 1 && row <= SHORT_ROW {
        return Some(Rows::Short);
    }
    let enough = rows >= ROWS_PER_CORE * i64::from(device.core_count);
    (alone && enough && device.is_single_threaded_block()).then_some(Rows::Long)
}

/// Returns the nest over the rows.
pub fn visit(computation: &Computation, joined: &Joined, number: usize, kind: Rows) -> Visit {
    let outer = &joined.dims[..joined.dimension];
    let mut bundles: Vec<Bundle> = Vec::new();
    for operand in &joined.operands {
        let write = |value| Write::Element { value, joined: number, offset: operand.offset };
        let index = index(computation, joined, operand.instruction, kind);
        let above = worth_sharing(computation, operand.instruction);
        let fits = |bundle: &&mut Bundle| {
            let shares = |&value| !worth_sharing(computation, value).is_disjoint(&above);
            bundle.index == index && (kind == Rows::Short || bundle.values.iter().any(shares))
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
                unrolled: kind == Rows::Short,
                writes: vec![write(0)],
            }),
        }
    }
    let of_bundle = |bundle: &Bundle| {
        let points = bundle.index.ranges.iter().fold(1i64, |n, range| n.saturating_mul(range.bounds.size() as i64));
        cost_per_point(computation, &bundle.values).times(points)
    };
    let cost = bundles.iter().map(of_bundle).fold(Cost::default(), |sum, one| sum + one);
    Visit { nest: Nest { dims: point_dims(outer, kind), cost, lanes: 1 }, bundles }
}

/// Returns the dimensions of the nest's points. A long row is a row of the nest too. Short rows are
/// not, because a vector needs several.
fn point_dims(outer: &[i64], kind: Rows) -> Vec<i64> {
    match kind {
        Rows::Short => outer.to_vec(),
        Rows::Long => [outer, &[1]].concat(),
    }
}

/// Returns the map from a row to an index of the operand. Range variables are the positions in the
/// row.
fn index(computation: &Computation, joined: &Joined, operand: InstrId, kind: Rows) -> IndexingMap {
    let outer = &joined.dims[..joined.dimension];
    let dims = computation.instruction(operand).shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
    let inner = &dims[joined.dimension..];
    let starts = [&[operand], joined.epilogue_roots().as_slice()].concat();
    let (sizes, within): (Vec<i64>, Vec<Expr>) =
        if kind == Rows::Long && is_row_major(computation, &starts, joined.dimension) {
            (vec![inner.iter().product()], delinearize(&Expr::range(0), inner))
        } else {
            (inner.to_vec(), (0..inner.len() as u32).map(Expr::range).collect())
        };
    IndexingMap::from_tensor_sizes([dim_exprs(outer.len()), within].concat(), &point_dims(outer, kind), &sizes)
}
