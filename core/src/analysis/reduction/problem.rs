//! Expresses every reduction as one of two kinds of three-dimensional problems.

use std::fmt;

use crate::indexing::{Expr, IndexingMap, delinearize, dim_exprs, linearize};

/// Whether elements adjacent in memory belong to one result or to adjacent results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReductionKind {
    /// `[reduced, kept, reduced]`: the minor dimension is reduced.
    Row,
    /// `[kept, reduced, kept]`: the minor dimension is kept.
    Column,
}

/// The canonical problem of a reduction. Dimensions of size 1 are dropped, and adjacent dimensions
/// that are both reduced or both kept are merged. The minor dimension is either reduced or kept.
/// The major dimension collects the dimensions that are of the same kind (reduced or kept) as the
/// minor dimension, but are not contiguous with the minor dimension. Every reduction has exactly
/// one canonical problem.
///
/// | reduce | canonical |
/// | --- | --- |
/// | `[8,16,32]`, dimensions 0,1,2 | row `[1, 1, 4096]` |
/// | `[8,16,32]`, dimensions 2 | row `[1, 128, 32]` |
/// | `[8,16,32]`, dimensions 0,2 | row `[8, 16, 32]` |
/// | `[8,16,32]`, dimensions 0,1 | column `[1, 128, 32]` |
/// | `[8,16,32]`, dimensions 1 | column `[8, 16, 32]` |
/// | `[2,3,5,7]`, dimensions 1,3 | row `[3, 10, 7]` |
/// | `[2,3,5,7]`, dimensions 0,2 | column `[3, 10, 7]` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReductionProblem {
    /// Whether the minor dimension is reduced or kept.
    pub kind: ReductionKind,
    /// Sizes of the three dimensions, from the most major to the most minor.
    pub dims: [i64; 3],
}

impl ReductionProblem {
    /// Number of elements of an operand.
    pub fn element_count(&self) -> i64 {
        self.dims.iter().fold(1i64, |n, &d| n.saturating_mul(d))
    }

    /// Number of results.
    pub fn kept_count(&self) -> i64 {
        self.kept_dims().iter().fold(1i64, |n, &d| n.saturating_mul(d))
    }

    /// Number of elements that are combined into one result.
    pub fn reduced_count(&self) -> i64 {
        match self.kind {
            ReductionKind::Row => self.dims[0].saturating_mul(self.dims[2]),
            ReductionKind::Column => self.dims[1],
        }
    }

    /// Sizes of the kept dimensions: `[kept]` for a row problem, `[major, minor]` for a column
    /// problem. The row-major order of the kept dimensions is the order of the result's elements.
    pub fn kept_dims(&self) -> Vec<i64> {
        match self.kind {
            ReductionKind::Row => vec![self.dims[1]],
            ReductionKind::Column => vec![self.dims[0], self.dims[2]],
        }
    }

    /// Returns the map from the kept coordinates to an index in an array with dimensions `dims`. In
    /// row-major order, the index and the kept coordinates have the same position. The array must
    /// have one element per result.
    pub fn kept_to(&self, dims: &[i64]) -> IndexingMap {
        let kept = self.kept_dims();
        let position = linearize(&dim_exprs(kept.len()), &kept);
        position_map(&kept, &position, dims)
    }
}

impl fmt::Display for ReductionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.dims;
        match self.kind {
            ReductionKind::Row => write!(f, "row [{a} reduced, {b} kept, {c} reduced]"),
            ReductionKind::Column => write!(f, "column [{a} kept, {b} reduced, {c} kept]"),
        }
    }
}

/// Returns a map from variables with the given `sizes` to an index in an array with dimensions
/// `dims`. The map returns the index of the element at the row-major position `position`.
pub(super) fn position_map(sizes: &[i64], position: &Expr, dims: &[i64]) -> IndexingMap {
    IndexingMap::from_tensor_sizes(delinearize(position, dims), sizes, &[]).simplify()
}

/// Returns the canonical problem of reducing the dimensions `reduced` of an array, and the map from
/// the problem's coordinates to the array's index.
pub(super) fn canonical(dims: &[i64], reduced: &[i64]) -> (ReductionProblem, IndexingMap) {
    let is_reduced = |dim: usize| reduced.contains(&(dim as i64));
    let last = (0..dims.len()).rev().find(|&dim| dims[dim] > 1);
    let kind = match last {
        Some(last) if !is_reduced(last) => ReductionKind::Column,
        _ => ReductionKind::Row,
    };
    let minor_is_reduced = kind == ReductionKind::Row;
    // The trailing run consists of the last dimensions that are all reduced, or all kept, as the
    // minor dimension is.
    let end = (0..dims.len()).rev().find(|&dim| dims[dim] > 1 && is_reduced(dim) != minor_is_reduced);
    let run = end.map_or(0, |end| end + 1);
    let coordinate = |dim: usize| match (dim >= run, is_reduced(dim) == minor_is_reduced) {
        (true, _) => 2,
        (false, true) => 0,
        (false, false) => 1,
    };
    let mut sizes = [1i64; 3];
    let mut index = vec![Expr::constant(0); dims.len()];
    for (axis, size) in sizes.iter_mut().enumerate() {
        let members: Vec<usize> = (0..dims.len()).filter(|&dim| coordinate(dim) == axis).collect();
        let lengths: Vec<i64> = members.iter().map(|&dim| dims[dim]).collect();
        *size = lengths.iter().product();
        for (dim, expr) in members.into_iter().zip(delinearize(&Expr::dim(axis as u32), &lengths)) {
            index[dim] = expr;
        }
    }
    let map = IndexingMap::from_tensor_sizes(index, &sizes, &[]).simplify();
    (ReductionProblem { kind, dims: sizes }, map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alternation_has_a_canonical_form() {
        use ReductionKind::{Column, Row};
        type Case = (&'static [i64], &'static [i64], ReductionKind, [i64; 3]);
        let cases: [Case; 12] = [
            (&[8, 16, 32], &[0, 1, 2], Row, [1, 1, 4096]),
            (&[8, 16, 32], &[2], Row, [1, 128, 32]),
            (&[8, 16, 32], &[0, 2], Row, [8, 16, 32]),
            (&[8, 16, 32], &[0, 1], Column, [1, 128, 32]),
            (&[8, 16, 32], &[1], Column, [8, 16, 32]),
            (&[2, 3, 5, 7], &[1, 3], Row, [3, 10, 7]),
            (&[2, 3, 5, 7], &[0, 2], Column, [3, 10, 7]),
            (&[8, 1, 32, 1], &[3], Column, [1, 1, 256]),
            (&[8, 1, 32, 1], &[1, 2], Row, [1, 8, 32]),
            (&[1, 1], &[0], Row, [1, 1, 1]),
            (&[], &[], Row, [1, 1, 1]),
            (&[5], &[], Column, [1, 1, 5]),
        ];
        for (dims, reduced, kind, sizes) in cases {
            let (problem, _) = canonical(dims, reduced);
            assert_eq!(problem, ReductionProblem { kind, dims: sizes }, "{dims:?} {reduced:?}");
        }
    }

    /// Checks that the coordinates map to each element once, and that the kept coordinates map to
    /// the result to which the element belongs.
    #[test]
    fn coordinates_name_elements() {
        for (dims, reduced) in
            [([2i64, 3, 5, 7], vec![1i64, 3]), ([2, 3, 5, 7], vec![0, 2]), ([2, 3, 1, 7], vec![0, 2, 3])]
        {
            let (problem, map) = canonical(&dims, &reduced);
            let kept: Vec<usize> = (0..4).filter(|d| !reduced.contains(&(*d as i64))).collect();
            let result_dims: Vec<i64> = kept.iter().map(|&d| dims[d]).collect();
            let to_result = problem.kept_to(&result_dims);
            let mut seen = std::collections::HashSet::new();
            let [a, b, c] = problem.dims;
            for (i, j, k) in (0..a).flat_map(|i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k)))) {
                let index = map.evaluate(&[i, j, k], &[], &[]);
                let coordinates = if problem.kind == ReductionKind::Row { vec![j] } else { vec![i, k] };
                let of_result: Vec<i64> = kept.iter().map(|&d| index[d]).collect();
                assert_eq!(to_result.evaluate(&coordinates, &[], &[]), of_result, "{dims:?} {reduced:?}");
                assert!(seen.insert(index));
            }
            assert_eq!(seen.len() as i64, dims.iter().product::<i64>());
        }
    }
}
