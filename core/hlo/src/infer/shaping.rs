//! Shape inference of operations that create or move elements without arithmetic.

use super::{Inferred, Site, array, dimension, distinct_dims};
use crate::{ArrayShape, ElementType, Literal, PaddingDim, Shape, SliceDim};

pub(super) fn constant(site: &Site, literal: &Literal) -> Inferred {
    site.operand_count(0)?;
    Ok(literal.shape())
}

pub(super) fn parameter(site: &Site, number: i64) -> Inferred {
    site.operand_count(0)?;
    ensure!(number >= 0, "the parameter number {number} is negative");
    site.declared().cloned()
}

pub(super) fn iota(site: &Site, dim: i64) -> Inferred {
    site.operand_count(0)?;
    let result = site.declared_array()?;
    dimension("iota_dimension", dim, result.rank())?;
    ensure!(result.element_type != ElementType::Pred, "iota cannot count in pred");
    array(result.element_type, result.dims.clone())
}

pub(super) fn broadcast(site: &Site, dimensions: &[i64]) -> Inferred {
    let operand = site.only_array()?;
    let result = site.declared_array()?;
    let (rank, found) = (operand.rank(), dimensions.len());
    ensure!(
        found == rank,
        "broadcast needs one of `dimensions` for each of the {rank} dimensions of {operand}, found {found}"
    );
    distinct_dims("broadcast's `dimensions`", dimensions, result.rank())?;
    for (source, &target) in dimensions.iter().enumerate() {
        let (from, to) = (operand.dims[source], result.dims[target as usize]);
        ensure!(
            from == to,
            "broadcast maps dimension {source} of {operand} to dimension {target} of {result}: {from} is not {to}"
        );
    }
    array(operand.element_type, result.dims.clone())
}

pub(super) fn reshape(site: &Site) -> Inferred {
    let operand = site.only_array()?;
    let result = site.declared_array()?;
    let (from, to) = (operand.element_count(), result.element_count());
    ensure!(from == to, "reshape of {operand} with {from} elements cannot give {result} with {to}");
    array(operand.element_type, result.dims.clone())
}

/// Number of bits that the elements of an array occupy.
fn total_bits(shape: &ArrayShape) -> i64 {
    shape.element_count().saturating_mul(shape.element_type.stored_bits().into())
}

pub(super) fn bitcast(site: &Site) -> Inferred {
    site.operand_count(1)?;
    let result = site.declared()?;
    if let (Some(from), Some(to)) = (site.operand(0)?.as_array(), result.as_array()) {
        ensure!(total_bits(from) == total_bits(to), "bitcast of {from} cannot give {to}, which has another size");
    }
    Ok(result.clone())
}

pub(super) fn transpose(site: &Site, permutation: &[i64]) -> Inferred {
    let operand = site.only_array()?;
    let (rank, found) = (operand.rank(), permutation.len());
    ensure!(
        found == rank,
        "transpose of {operand} needs a permutation of its {rank} dimensions, found {found} numbers"
    );
    distinct_dims("transpose's `dimensions`", permutation, rank)?;
    array(operand.element_type, super::sizes_of(operand, permutation))
}

pub(super) fn reverse(site: &Site, dimensions: &[i64]) -> Inferred {
    let operand = site.only_array()?;
    distinct_dims("reverse's `dimensions`", dimensions, operand.rank())?;
    array(operand.element_type, operand.dims.clone())
}

pub(super) fn concatenate(site: &Site, dim: i64) -> Inferred {
    let first = site.array(0)?;
    let dim = dimension("concatenate's dimension", dim, first.rank())?;
    let mut dims = first.dims.clone();
    for position in 1..site.operands.len() {
        let other = site.array(position)?;
        let fits = other.element_type == first.element_type
            && other.rank() == first.rank()
            && (0..first.rank()).all(|d| d == dim || other.dims[d] == first.dims[d]);
        ensure!(fits, "concatenate along dimension {dim} cannot join {first} and {other}");
        dims[dim] = dims[dim].checked_add(other.dims[dim]).ok_or("the result of concatenate is too large")?;
    }
    array(first.element_type, dims)
}

pub(super) fn slice(site: &Site, ranges: &[SliceDim]) -> Inferred {
    let operand = site.only_array()?;
    let (rank, found) = (operand.rank(), ranges.len());
    ensure!(found == rank, "slice of {operand} needs {rank} ranges, found {found}");
    let mut dims = Vec::with_capacity(rank);
    for (dim, (range, &size)) in ranges.iter().zip(&operand.dims).enumerate() {
        let SliceDim { start, limit, stride } = *range;
        ensure!(stride >= 1, "slice needs a stride of at least 1 in dimension {dim}, found {stride}");
        let inside = 0 <= start && start <= limit && limit <= size;
        ensure!(inside, "slice [{start}:{limit}] of dimension {dim} must lie within the {size} elements of {operand}");
        dims.push((limit - start) / stride + i64::from((limit - start) % stride != 0));
    }
    array(operand.element_type, dims)
}

pub(super) fn pad(site: &Site, paddings: &[PaddingDim]) -> Inferred {
    site.operand_count(2)?;
    let (operand, value) = (site.array(0)?, site.scalar(1)?);
    let same = value.element_type == operand.element_type;
    ensure!(same, "the padding value must be a scalar of the type of {operand}, is {value}");
    let (rank, found) = (operand.rank(), paddings.len());
    ensure!(found == rank, "pad of {operand} needs padding for {rank} dimensions, found {found}");
    let mut dims = Vec::with_capacity(rank);
    for (dim, (padding, &size)) in paddings.iter().zip(&operand.dims).enumerate() {
        ensure!(padding.interior >= 0, "pad's interior padding of dimension {dim} is negative");
        let padded = padded_size(size, padding);
        ensure!(padded.is_some_and(|size| size >= 0), "pad makes dimension {dim} of {operand} negative or too large");
        dims.extend(padded);
    }
    array(operand.element_type, dims)
}

fn padded_size(size: i64, padding: &PaddingDim) -> Option<i64> {
    let between = padding.interior.checked_mul((size - 1).max(0))?;
    size.checked_add(between)?.checked_add(padding.low)?.checked_add(padding.high)
}

/// Returns the operand's shape, for operations whose result has the same shape.
pub(super) fn unchanged(shape: &Shape) -> Inferred {
    Ok(shape.clone())
}
