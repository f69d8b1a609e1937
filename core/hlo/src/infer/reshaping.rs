//! Finds which dimensions of a reshape's result correspond to which dimensions of its operand.

use super::dynamic_size::{Extent, Source};
use crate::ArrayShape;

/// Corresponding dimensions: before a reshape, the dimensions `from` enumerate the same elements as
/// the dimensions `to` after the reshape. The sizes of `from` and the sizes of `to` have equal
/// products.
struct Group {
    from: Vec<usize>,
    to: Vec<usize>,
}

/// Returns the extent of each dimension of a reshape's result.
pub fn extents(operand: &ArrayShape, result: &ArrayShape) -> Vec<Extent> {
    if !operand.has_dynamic_size() {
        return Vec::new();
    }
    if operand.dims == result.dims {
        return (0..result.rank()).map(|d| Extent::Same(vec![Source { operand: 0, dimension: d }])).collect();
    }
    let mut extents = vec![Extent::Bound; result.rank()];
    let Some(groups) = groups(operand, result) else {
        extents.fill(Extent::Unknown);
        return extents;
    };
    for group in groups {
        if group.from.iter().any(|&d| operand.is_dynamic(d)) {
            let (at, extent) = group.extent(operand, result);
            match at {
                Some(at) => extents[at] = extent,
                None => extents.fill(Extent::Unknown),
            }
        }
    }
    extents
}

impl Group {
    /// Returns the dimension that is dynamic after the reshape, and its extent.
    fn extent(&self, operand: &ArrayShape, result: &ArrayShape) -> (Option<usize>, Extent) {
        let source = |&dimension: &usize| Source { operand: 0, dimension };
        let inside = |shape: &ArrayShape, dims: &[usize]| dims.iter().skip(1).map(|&d| shape.dims[d]).product();
        let is_declared = |d: &&usize| result.is_dynamic(**d);
        let is_outermost = self.from.iter().skip(1).all(|&d| !operand.is_dynamic(d));
        match (&self.from[..], &self.to[..]) {
            ([of], [to]) => (Some(*to), Extent::Same(vec![source(of)])),
            ([of, ..], [to, others @ ..]) if is_outermost && others.iter().find(is_declared).is_none() => {
                let (times, per) = (inside(operand, &self.from), inside(result, &self.to));
                (Some(*to), Extent::Scaled { of: source(of), times, per })
            }
            (from, [to]) => (Some(*to), Extent::Merged(from.iter().map(source).collect())),
            _ => (None, Extent::Unknown),
        }
    }
}

/// Returns the smallest groups of corresponding dimensions. Dimensions of size 1 are in no group.
/// Returns `None` if the arrays have no elements. Also returns `None` if a dynamic dimension has
/// the bound 0 or 1, because any dimension of size 1 might correspond to that dimension.
fn groups(operand: &ArrayShape, result: &ArrayShape) -> Option<Vec<Group>> {
    let is_small = |shape: &ArrayShape| (0..shape.rank()).any(|d| shape.dims[d] <= i64::from(shape.is_dynamic(d)));
    if is_small(operand) || is_small(result) {
        return None;
    }
    let large = |shape: &ArrayShape| (0..shape.rank()).filter(|&d| shape.dims[d] > 1).collect::<Vec<_>>();
    let (from, to) = (large(operand), large(result));
    let (mut from, mut to) = (from.into_iter(), to.into_iter());
    let mut groups = Vec::new();
    while let (Some(first), Some(other)) = (from.next(), to.next()) {
        let (mut before, mut after) = (operand.dims[first], result.dims[other]);
        let mut group = Group { from: vec![first], to: vec![other] };
        while before != after {
            if before < after {
                let next = from.next()?;
                before = before.checked_mul(operand.dims[next])?;
                group.from.push(next);
            } else {
                let next = to.next()?;
                after = after.checked_mul(result.dims[next])?;
                group.to.push(next);
            }
        }
        groups.push(group);
    }
    Some(groups)
}
