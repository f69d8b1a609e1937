//! Maps to the elements that an instruction reads.

use std::fmt;

use crate::canonical::renumber;
use crate::{Bounds, Expr, ExprKind, IndexingMap, Variable, simplify_expr};
use fusebox_hlo::{ComputationId, InstrId};

/// The source of a runtime variable's value: an integer element of an instruction's result. The
/// value is clamped to the variable's bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeValue {
    /// The computation that contains the instruction. `None` stands for the computation of the
    /// reading instruction, if the caller did not provide the id of that computation.
    pub computation: Option<ComputationId>,
    /// The instruction.
    pub instruction: InstrId,
    /// Index of the element, as expressions over the variables of the map that uses the value. The
    /// index may use only earlier runtime variables.
    pub index: Vec<Expr>,
}

/// A relation between computed elements and the elements that are read: a map, and the sources of
/// the map's runtime variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// Maps the index of a computed element to the index of an element that is read, or maps in the
    /// opposite direction.
    pub map: IndexingMap,
    /// One value per runtime variable.
    pub runtime: Vec<RuntimeValue>,
    /// Index of the tuple leaf that is read; 0 for arrays.
    pub leaf: usize,
}

/// All readings of an instruction, or the reason why they are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// Distinct readings, in order of discovery. The list is empty if the instruction is never
    /// read.
    Known(Vec<Reading>),
    /// Any element may be read. The string states the reason why the readings are unknown, in words
    /// for the user.
    Unknown(String),
}

impl Reading {
    /// Creates a reading from a map without runtime variables.
    pub fn new(map: IndexingMap) -> Self {
        Reading { map, runtime: Vec::new(), leaf: 0 }
    }

    /// Creates a reading of the element at the index of the computed element.
    pub fn whole(dims: &[i64]) -> Self {
        Reading::new(IndexingMap::identity(dims))
    }

    /// Creates a reading of the only element of a scalar.
    pub fn scalar(output: &[i64]) -> Self {
        Reading::new(IndexingMap::from_tensor_sizes(Vec::new(), output, &[]))
    }

    /// Returns a reading of another leaf, at the same indices.
    #[must_use]
    pub fn of_leaf(self, leaf: usize) -> Self {
        Reading { leaf, ..self }
    }

    /// Adds a runtime variable and returns its expression.
    pub(super) fn add_runtime(&mut self, bounds: Variable, value: RuntimeValue) -> Expr {
        self.map.runtime.push(bounds);
        self.runtime.push(value);
        Expr::runtime(self.runtime.len() as u32 - 1)
    }

    /// Composes two readings: `self` maps to the needed element of an instruction, and `operand`
    /// maps from that element to the instruction's operand. The composed reading is simplified.
    /// Returns `None` if nothing is read, or if the ranks do not match.
    pub fn then(&self, operand: &Reading) -> Option<Reading> {
        let map = self.map.then(&operand.map)?;
        let ranges = (0..operand.map.ranges.len()).map(|i| Expr::range((i + self.map.ranges.len()) as u32));
        let runtime = (0..operand.map.runtime.len()).map(|i| Expr::runtime((i + self.map.runtime.len()) as u32));
        let (ranges, runtime): (Vec<_>, Vec<_>) = (ranges.collect(), runtime.collect());
        let substituted = operand.runtime.iter().map(|value| RuntimeValue {
            index: value.index.iter().map(|e| e.substitute(&self.map.results, &ranges, &runtime)).collect(),
            ..value.clone()
        });
        let runtime = self.runtime.iter().cloned().chain(substituted).collect();
        Reading { map, runtime, leaf: operand.leaf }.simplified()
    }

    /// Returns the reading in canonical form. Simplifies the map, and removes unused range and
    /// runtime variables. Returns `None` if the domain is empty.
    pub fn simplified(mut self) -> Option<Reading> {
        self.map = self.map.simplify();
        if self.map.is_known_empty() {
            return None;
        }
        let bounds = Bounds::of_domain(&self.map);
        for value in &mut self.runtime {
            value.index = value.index.iter().map(|e| simplify_expr(e, &bounds)).collect();
        }
        self.drop_unused();
        Some(self)
    }

    fn drop_unused(&mut self) {
        let mut ranges = vec![false; self.map.ranges.len()];
        let mut runtime = vec![false; self.map.runtime.len()];
        let mut mark = |expr: &Expr, runtime: &mut Vec<bool>| {
            expr.visit_leaves(&mut |leaf| {
                let flag = match leaf {
                    ExprKind::Range(i) => ranges.get_mut(*i as usize),
                    ExprKind::Runtime(i) => runtime.get_mut(*i as usize),
                    _ => None,
                };
                if let Some(flag) = flag {
                    *flag = true;
                }
            });
        };
        for expr in self.map.results.iter().chain(self.map.constraints.iter().map(|c| &c.expr)) {
            mark(expr, &mut runtime);
        }
        // A value's index uses only earlier runtime variables, so one backward sweep suffices.
        for (i, value) in self.runtime.iter().enumerate().rev() {
            if runtime.get(i) == Some(&true) {
                value.index.iter().for_each(|expr| mark(expr, &mut runtime));
            }
        }
        let (new_ranges, new_runtime);
        (self.map.ranges, new_ranges) = renumber(&self.map.ranges, &ranges, Expr::range);
        (self.map.runtime, new_runtime) = renumber(&self.map.runtime, &runtime, Expr::runtime);
        let mut keep = runtime.iter();
        self.runtime.retain(|_| keep.next().copied().unwrap_or(false));
        let indices = self.runtime.iter_mut().flat_map(|value| &mut value.index);
        let constraints = self.map.constraints.iter_mut().map(|c| &mut c.expr);
        for expr in self.map.results.iter_mut().chain(constraints).chain(indices) {
            *expr = expr.substitute(&[], &new_ranges, &new_runtime);
        }
    }
}

impl Indexing {
    /// Returns the readings, if they are known.
    pub fn known(&self) -> Option<&[Reading]> {
        match self {
            Indexing::Known(readings) => Some(readings),
            Indexing::Unknown(_) => None,
        }
    }

    /// Adds the readings of `other` that are not yet present. If there are more than `limit`
    /// readings, the result is unknown.
    pub(crate) fn merge(&mut self, other: Indexing, limit: usize) {
        match (&mut *self, other) {
            (Indexing::Unknown(_), _) => {}
            (_, Indexing::Unknown(reason)) => *self = Indexing::Unknown(reason),
            (Indexing::Known(readings), Indexing::Known(new)) => {
                for reading in new {
                    if !readings.contains(&reading) {
                        readings.push(reading);
                    }
                }
                if readings.len() > limit {
                    *self = Indexing::Unknown(format!("read in more than {limit} different ways"));
                }
            }
        }
    }
}

impl From<IndexingMap> for Reading {
    fn from(map: IndexingMap) -> Self {
        Reading::new(map)
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.map, f)
    }
}
