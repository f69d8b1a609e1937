//! Indexing maps of operations that move elements without arithmetic.

use super::{Reading, Reason, Site, dim, expect_rank, over, position};
use crate::{Constraint, Expr, IndexingMap, Interval, delinearize, dim_exprs, linearize};
use fusebox_hlo::{ArrayShape, PaddingDim, SliceDim};

pub(super) fn broadcast(site: Site, dimensions: &[i64]) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    let sizes = site.operand_dims(0)?;
    expect_rank("the operand", sizes.len(), dimensions.len())?;
    let result = |(&d, &size): (&i64, &i64)| if size == 1 { Ok(Expr::constant(0)) } else { dim(d, output.len()) };
    let results: Result<Vec<Expr>, Reason> = dimensions.iter().zip(sizes).map(result).collect();
    Ok(over(output, results?))
}

pub(super) fn transpose(site: Site, permutation: &[i64]) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    expect_rank("the permutation", permutation.len(), output.len())?;
    let mut results = dim_exprs(output.len());
    for (i, &from) in permutation.iter().enumerate() {
        results[position(from, output.len())?] = Expr::dim(i as u32);
    }
    Ok(over(output, results))
}

pub(super) fn reverse(site: Site, dimensions: &[i64]) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    let mut results = dim_exprs(output.len());
    for &d in dimensions {
        let i = position(d, output.len())?;
        results[i] = -Expr::dim(i as u32) + output[i].saturating_sub(1);
    }
    Ok(over(output, results))
}

pub(super) fn slice(site: Site, dims: &[SliceDim]) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    expect_rank("the slice", dims.len(), output.len())?;
    let results = dims.iter().zip(dim_exprs(dims.len())).map(|(slice, d)| d * slice.stride + slice.start);
    Ok(over(output, results.collect()))
}

/// Returns how a pad reads an operand. Operand 0 is read only at indices that are not padding. The
/// padding value is read at all indices.
pub(super) fn pad(site: Site, operand: usize, dims: &[PaddingDim]) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    if operand > 0 {
        return Ok(Reading::scalar(output));
    }
    let sizes = site.operand_dims(0)?;
    expect_rank("the padding", dims.len(), output.len())?;
    expect_rank("the operand", sizes.len(), output.len())?;
    let mut map = IndexingMap::from_tensor_sizes(Vec::new(), output, &[]);
    for (i, (padding, &size)) in dims.iter().zip(sizes).enumerate() {
        let shifted = Expr::dim(i as u32) + padding.low.checked_neg().ok_or("the padding is too large")?;
        spread(&mut map, shifted, size, padding.interior.checked_add(1).ok_or("the padding is too large")?)?;
    }
    Ok(Reading::new(map))
}

/// Adds a result to a map: the coordinate of the element at `position`. The dimension has `size`
/// elements, and adjacent elements are `distance` apart. Also adds the constraints under which
/// there is an element at `position`.
pub(super) fn spread(map: &mut IndexingMap, position: Expr, size: i64, distance: i64) -> Result<(), Reason> {
    ensure!(distance >= 1, "the distance of neighbours is less than 1");
    // The constraint bounds the coordinate, because code computes the coordinate anyway. For exact
    // multiples, this is equivalent to bounding the position.
    let coordinate = position.clone().floor_div(distance);
    if distance > 1 {
        map.constraints.push(Constraint::new(position.modulo(distance), Interval::point(0)));
    }
    map.constraints.push(Constraint::new(coordinate.clone(), Interval::from_size(size)));
    map.results.push(coordinate);
    Ok(())
}

pub(super) fn concatenate(site: Site, operand: usize, dimension: i64) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    let along = position(dimension, output.len())?;
    let mut offset = 0i64;
    let mut size = 0i64;
    for i in 0..=operand {
        offset = offset.saturating_add(size);
        let dims = site.operand_dims(i)?;
        expect_rank("the operand", dims.len(), output.len())?;
        size = dims[along];
    }
    let mut results = dim_exprs(output.len());
    results[along] = Expr::dim(along as u32) + -offset;
    let own = Interval::new(offset, offset.saturating_add(size).saturating_sub(1));
    let map = IndexingMap::from_tensor_sizes(results, output, &[]);
    Ok(Reading::new(map.with_constraint(Expr::dim(along as u32), own)))
}

pub(super) fn reshape(site: Site) -> Result<Reading, Reason> {
    reshaped(site.output_dims(0)?, site.operand_dims(0)?)
}

/// Returns the reading that leads from an index to the index at the same row-major position.
pub(super) fn reshaped(from: &[i64], to: &[i64]) -> Result<Reading, Reason> {
    ensure!(count(from) == count(to), "{from:?} and {to:?} have different numbers of elements");
    Ok(over(from, in_runs(&dim_exprs(from.len()), from, to)))
}

/// Converts `index`, an index in an array with dimensions `from`, to the index in an array with
/// dimensions `to`. Both arrays are row-major and have equally many elements. If a run of
/// dimensions in `from` has as many elements as a run in `to`, the function converts these runs
/// separately, so that the expressions remain small.
fn in_runs(index: &[Expr], from: &[i64], to: &[i64]) -> Vec<Expr> {
    if from.contains(&0) || to.contains(&0) {
        return vec![Expr::constant(0); to.len()];
    }
    let mut result = Vec::with_capacity(to.len());
    let (mut i, mut j) = (0, 0);
    while j < to.len() {
        let (first_i, first_j) = (i, j);
        let (mut a, mut b) = (1i64, to[j]);
        j += 1;
        while a != b {
            // The element counts are equal, so the side with the smaller product has another
            // dimension.
            match (a < b, from.get(i), to.get(j)) {
                (true, Some(size), _) => (a, i) = (a.saturating_mul(*size), i + 1),
                (false, _, Some(size)) => (b, j) = (b.saturating_mul(*size), j + 1),
                _ => break,
            }
        }
        let place = linearize(&index[first_i..i], &from[first_i..i]);
        result.extend(delinearize(&place, &to[first_j..j]));
    }
    result
}

pub(super) fn bitcast(site: Site) -> Result<Reading, Reason> {
    let operand = site.operand(0)?;
    match (site.instruction.shape.as_array(), operand.shape.as_array()) {
        (Some(output), Some(operand)) => same_place(output, operand),
        _ => Err("bitcasts of tuples are not supported".into()),
    }
}

/// Returns the reading that leads from an index to the index at the same position in memory.
pub(super) fn same_place(from: &ArrayShape, to: &ArrayShape) -> Result<Reading, Reason> {
    let fits = count(&from.dims) == count(&to.dims) && from.element_type.byte_size() == to.element_type.byte_size();
    ensure!(fits, "the element sizes differ");
    let (outer, from_sizes) = physical(from)?;
    let index: Vec<Expr> = outer.iter().map(|&d| Expr::dim(d as u32)).collect();
    let (inner, to_sizes) = physical(to)?;
    let mut results = vec![Expr::constant(0); to.rank()];
    for (&d, coordinate) in inner.iter().zip(in_runs(&index, &from_sizes, &to_sizes)) {
        results[d] = coordinate;
    }
    Ok(over(&from.dims, results))
}

/// Returns the dimensions and their sizes. The dimension that varies slowest comes first.
fn physical(shape: &ArrayShape) -> Result<(Vec<usize>, Vec<i64>), Reason> {
    let order: Vec<usize> = match &shape.layout {
        Some(layout) => layout.minor_to_major.iter().rev().copied().collect(),
        None => (0..shape.rank()).collect(),
    };
    expect_rank("the layout", order.len(), shape.rank())?;
    let sizes = order.iter().map(|&d| shape.dims.get(d).copied().ok_or_else(|| format!("there is no dimension {d}")));
    Ok((order.clone(), sizes.collect::<Result<_, _>>()?))
}

/// Returns how a bitcast-convert reads its operand. If the widths differ, elements are split or
/// joined along an additional last dimension.
pub(super) fn bitcast_convert(site: Site) -> Result<Reading, Reason> {
    let output = site.output_dims(0)?;
    let operand = site.operand_dims(0)?;
    if output == operand {
        return Ok(Reading::whole(output));
    }
    if output.len() == operand.len() + 1 && output.starts_with(operand) {
        return Ok(over(output, dim_exprs(operand.len())));
    }
    if operand.len() == output.len() + 1 && operand.starts_with(output) {
        let mut results = dim_exprs(output.len());
        results.push(Expr::range(0));
        return Ok(Reading::new(IndexingMap::from_tensor_sizes(results, output, &operand[output.len()..])));
    }
    Err(format!("dimensions {operand:?} do not become {output:?}"))
}

fn count(dims: &[i64]) -> i64 {
    dims.iter().fold(1i64, |n, &d| n.saturating_mul(d))
}
