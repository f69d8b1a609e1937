//! Simplifies minima and maxima.

use super::{Algebra, Ix, Kind};

/// Largest number of operands of nested minima or maxima that the algebra compares with each other.
const MAX_OPERANDS: usize = 8;

impl Algebra {
    /// Returns the smaller of two expressions.
    pub fn min(&mut self, a: Ix, b: Ix) -> Ix {
        self.extremum(a, b, true)
    }

    /// Returns the larger of two expressions.
    pub fn max(&mut self, a: Ix, b: Ix) -> Ix {
        self.extremum(a, b, false)
    }

    /// Treats the operands of nested minima (or maxima) as one set, and sorts them. Drops each
    /// operand that another operand makes redundant.
    fn extremum(&mut self, a: Ix, b: Ix, is_min: bool) -> Ix {
        let mut operands = self.operands_of(a, b, is_min).unwrap_or_else(|| vec![a, b]);
        operands.sort_unstable_by(|a, b| self.compare(*a, *b));
        operands.dedup();
        let mut kept: Vec<Ix> = Vec::new();
        for operand in operands {
            if kept.iter().any(|&other| self.beats(other, operand, is_min)) {
                continue;
            }
            kept.retain(|&other| !self.beats(operand, other, is_min));
            kept.push(operand);
        }
        let make = if is_min { Kind::Min } else { Kind::Max };
        let first = kept[0];
        kept[1..].iter().fold(first, |result, &operand| self.intern(make(result, operand)))
    }

    /// Returns the operands of the nested minima (or maxima) of `a` and `b`; `None` if there are
    /// more than `MAX_OPERANDS`.
    fn operands_of(&self, a: Ix, b: Ix, is_min: bool) -> Option<Vec<Ix>> {
        let (mut operands, mut open) = (Vec::new(), vec![a, b]);
        while let Some(ix) = open.pop() {
            match *self.node(ix).kind {
                Kind::Min(a, b) if is_min => open.extend([a, b]),
                Kind::Max(a, b) if !is_min => open.extend([a, b]),
                _ => operands.push(ix),
            }
            if operands.len() + open.len() > MAX_OPERANDS {
                return None;
            }
        }
        Some(operands)
    }

    /// Whether `a` makes `b` redundant. In a minimum, this means that `a` is never larger than `b`.
    /// In a maximum, this means that `a` is never smaller than `b`.
    fn beats(&mut self, a: Ix, b: Ix, is_min: bool) -> bool {
        let (x, y) = (self.range(a), self.range(b));
        if if is_min { x.upper <= y.lower } else { x.lower >= y.upper } {
            return true;
        }
        let difference = self.sub(a, b);
        let range = self.range(difference);
        if is_min { range.upper <= 0 } else { range.lower >= 0 }
    }
}
