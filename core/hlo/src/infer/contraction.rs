//! Shape inference of `dot` and its variants.

use super::{Inferred, Site, array, distinct_dims, sizes_of};
use crate::{ArrayShape, DotDims, ElementType, Shape};

/// Returns the element type of a product's result. The result has the declared type, which may be
/// wider than the operands' types. If the declared shape is absent or no array, the result has the
/// left operand's type.
pub(super) fn result_type(site: &Site, lhs: &ArrayShape) -> ElementType {
    site.declared.and_then(Shape::as_array).map_or(lhs.element_type, |shape| shape.element_type)
}

/// Returns the sizes of all dimensions except those in the lists `taken`.
fn free_sizes(shape: &ArrayShape, taken: &[&[i64]]) -> Vec<i64> {
    let is_free = |dim: usize| !taken.iter().any(|list| list.contains(&(dim as i64)));
    (0..shape.rank()).filter(|&dim| is_free(dim)).map(|dim| shape.dims[dim]).collect()
}

fn check_dims(lhs: &ArrayShape, rhs: &ArrayShape, dims: &DotDims) -> Inferred<()> {
    let sides =
        [("left", lhs, &dims.lhs_batch, &dims.lhs_contracting), ("right", rhs, &dims.rhs_batch, &dims.rhs_contracting)];
    for (side, shape, batch, contracting) in sides {
        let what = format!("the batch and contracting dimensions of the {side} operand");
        distinct_dims(&what, &[&batch[..], &contracting[..]].concat(), shape.rank())?;
    }
    let pairs =
        [("contracting", &dims.lhs_contracting, &dims.rhs_contracting), ("batch", &dims.lhs_batch, &dims.rhs_batch)];
    for (what, left, right) in pairs {
        let (left, right) = (sizes_of(lhs, left), sizes_of(rhs, right));
        ensure!(
            left == right,
            "the {what} dimensions of {lhs} and {rhs} must have equal sizes, found {left:?} and {right:?}"
        );
    }
    Ok(())
}

pub(super) fn dot(site: &Site, dims: &DotDims) -> Inferred {
    site.operand_count(2)?;
    product(site, dims, Vec::new(), &[])
}

/// Infers the shape of a product. The result begins with dimensions of the sizes `leading`, and
/// lacks the dimensions `group` of the right operand.
fn product(site: &Site, dims: &DotDims, leading: Vec<i64>, group: &[i64]) -> Inferred {
    let (lhs, rhs) = (site.array(0)?, site.array(1)?);
    check_dims(lhs, rhs, dims)?;
    let batch = sizes_of(lhs, &dims.lhs_batch);
    let left = free_sizes(lhs, &[&dims.lhs_batch, &dims.lhs_contracting]);
    let right = free_sizes(rhs, &[&dims.rhs_batch, &dims.rhs_contracting, group]);
    array(result_type(site, lhs), [leading, batch, left, right].concat())
}

/// Infers the shape of a scaled dot. The operands are two factors, followed by a scale for each
/// factor. Each scale divides its factor's dimensions into blocks.
pub(super) fn scaled_dot(site: &Site, dims: &DotDims) -> Inferred {
    site.operand_count(4)?;
    for (operand, scale) in [(site.array(0)?, site.array(2)?), (site.array(1)?, site.array(3)?)] {
        let divides = |(&size, &blocks): (&i64, &i64)| blocks > 0 && size % blocks == 0;
        let fits =
            scale.rank() == 0 || (scale.rank() == operand.rank() && operand.dims.iter().zip(&scale.dims).all(divides));
        ensure!(fits, "the scale {scale} of scaled-dot does not divide {operand} into blocks");
    }
    product(site, dims, Vec::new(), &[])
}

pub(super) fn ragged_dot(site: &Site, dims: &DotDims, ragged: &[i64], group: &[i64]) -> Inferred {
    site.operand_count(3)?;
    let (lhs, rhs, groups) = (site.array(0)?, site.array(1)?, site.array(2)?);
    let &[ragged] = ragged else {
        return Err(format!("ragged-dot needs exactly one of lhs_ragged_dims, found {}", ragged.len()));
    };
    distinct_dims("lhs_ragged_dims", &[ragged], lhs.rank())?;
    distinct_dims("rhs_group_dims", group, rhs.rank())?;
    check_dims(lhs, rhs, dims)?;
    ensure!(groups.element_type.is_integer(), "the group sizes of ragged-dot must be integers, are {groups}");
    let Some(&count) = groups.dims.last() else {
        return Err("the group sizes of ragged-dot must be an array".to_owned());
    };
    let contracted = dims.lhs_contracting.contains(&ragged);
    // For a ragged contracting dimension, the result has one product per group.
    let leading = if contracted { vec![count] } else { Vec::new() };
    let needs_group = !contracted && !dims.lhs_batch.contains(&ragged);
    ensure!(
        group.len() == usize::from(needs_group),
        "ragged-dot with this ragged dimension cannot have rhs_group_dims {group:?}"
    );
    ensure!(
        sizes_of(rhs, group).iter().all(|&size| size == count),
        "{rhs} must have a group dimension of size {count}"
    );
    product(site, dims, leading, group)
}
