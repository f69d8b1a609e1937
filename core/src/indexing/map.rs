//! The maps themselves.

use super::{Expr, Interval};

/// A variable of a map: its values and, for people, its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// The values it takes.
    pub bounds: Interval,
    /// Shown in place of `d0`, `s0`, `rt0` if not empty (`th`, `bl`, …).
    pub name: String,
}

/// A point belongs to the domain only if `expr` lies within `bounds`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraint {
    /// Expression over the map's variables.
    pub expr: Expr,
    /// The values it may take.
    pub bounds: Interval,
}

/// `(dims)[ranges]{runtime} -> (results)` on the domain given by bounds and constraints.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct IndexingMap {
    /// `d0, d1, …`
    pub dims: Vec<Variable>,
    /// `s0, s1, …`
    pub ranges: Vec<Variable>,
    /// `rt0, rt1, …`
    pub runtime: Vec<Variable>,
    /// One expression per coordinate of the target.
    pub results: Vec<Expr>,
    /// All must hold.
    pub constraints: Vec<Constraint>,
}

impl Variable {
    /// `0..size`, without a name.
    pub fn from_size(size: i64) -> Self {
        Variable { bounds: Interval::from_size(size), name: String::new() }
    }

    /// `0..size`, named.
    pub fn named(name: &str, size: i64) -> Self {
        Variable { bounds: Interval::from_size(size), name: name.into() }
    }
}
