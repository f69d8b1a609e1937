//! Conversion of indices in a transpose's normal form to indices in arrays of the program.

use fusebox_core::indexing::{Expr, IndexingMap, Variable, delinearize, linearize};

/// Converts an index in an array of dimensions `from` to the index of the element at the same
/// row-major position in an array of dimensions `to`. The returned expressions contain divisions
/// only for dimensions that the conversion splits or merges.
pub fn reshaped(index: &[Expr], from: &[i64], to: &[i64]) -> Vec<Expr> {
    let mut result = Vec::with_capacity(to.len());
    let (mut at, mut done) = (0, 0);
    while done < to.len() {
        let (first, start) = (at, done);
        let (mut have, mut want) = (1i64, to[done]);
        done += 1;
        while have != want && (at < from.len() || done < to.len()) {
            if have < want && at < from.len() {
                have *= from[at];
                at += 1;
            } else if done < to.len() {
                want *= to[done];
                done += 1;
            } else {
                break;
            }
        }
        let position = linearize(&index[first..at], &from[first..at]);
        result.extend(delinearize(&position, &to[start..done]));
    }
    result
}

/// Returns the map `(n0, n1, …) -> index` from the normal form's dimensions `from` to an array of
/// dimensions `to`.
pub fn reshape_map(from: &[i64], to: &[i64]) -> IndexingMap {
    let index: Vec<Expr> = (0..from.len() as u32).map(Expr::dim).collect();
    let dims = from.iter().map(|&size| Variable::from_size(size)).collect();
    IndexingMap { dims, results: reshaped(&index, from, to), ..IndexingMap::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_stay() {
        let cases: [(&[i64], &[i64]); 7] = [
            (&[32, 6], &[4, 8, 6]),
            (&[4, 8, 6], &[32, 6]),
            (&[6, 4], &[1, 6, 1, 4, 1]),
            (&[6, 4], &[8, 3]),
            (&[12], &[3, 4]),
            (&[2, 3, 4], &[4, 6]),
            (&[], &[1, 1]),
        ];
        for (from, to) in cases {
            let map = reshape_map(from, to);
            let count: i64 = from.iter().product();
            for position in 0..count {
                let unrank = |sizes: &[i64]| {
                    let mut rest = position;
                    let mut index: Vec<i64> = sizes.iter().rev().map(|&size| (rest % size, rest /= size).0).collect();
                    index.reverse();
                    index
                };
                assert_eq!(map.evaluate(&unrank(from), &[], &[]), unrank(to), "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn dimensions_that_stay_are_not_divided() {
        let index = [Expr::dim(0), Expr::dim(1)];
        assert_eq!(reshaped(&index, &[32, 6], &[4, 8, 6])[2], Expr::dim(1));
        assert_eq!(reshaped(&index, &[32, 6], &[1, 32, 6])[1..], index);
    }
}
