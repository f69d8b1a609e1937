//! Splits dimensions that a reshape has merged. For example, if the kernel reads a dimension of
//! size 63 as 7 rows of 9 elements, a loop of 7 iterations around a loop of 9 iterations visits the
//! points. Because of the split, the innermost loop contains no index division.

use std::collections::BTreeSet;

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ArrayShape, Computation, InstrId, Op};
use fusebox_core::indexing::{
    Bounds, Expr, ExprKind, Indexing, IndexingMap, Reading, linearize, maps_from, simplify_expr,
};

use crate::roots::RootGroup;

/// Largest size of expressions in which the emitter searches for factors. The search of larger
/// expressions takes long and does not help to choose the loops.
const LARGEST: u32 = 256;

/// Largest number of merging reshapes for which the emitter splits dimensions. With more reshapes,
/// composed maps may be larger than [`LARGEST`], and the composition takes long.
const MOST_MERGES: usize = 16;

/// Splits each dimension of a group's results into the factors with which the kernel reads the
/// operands. For example, `[20000, 63]` becomes `[[20000], [7, 9]]`.
pub fn factors(fusion: &Fusion, group: &RootGroup) -> Vec<Vec<i64>> {
    let computation = fusion.computation();
    let mut periods = vec![BTreeSet::new(); group.dims.len()];
    let merges = computation.ids().filter(|&id| merges(computation, id)).count();
    if (1..=MOST_MERGES).contains(&merges) {
        for position in group.instructions.iter().flat_map(|&root| positions(fusion, root)) {
            periods_of(&position, &mut periods);
        }
    }
    group.dims.iter().zip(&periods).map(|(&size, periods)| factors_of(size, periods)).collect()
}

/// Returns the map from the digits of an index, one per factor, to the index.
pub fn from_digits(factors: &[Vec<i64>]) -> IndexingMap {
    let mut digits = (0..).map(Expr::dim);
    let mut dimension = |sizes: &Vec<i64>| linearize(&digits.by_ref().take(sizes.len()).collect::<Vec<_>>(), sizes);
    let results = factors.iter().map(&mut dimension).collect();
    IndexingMap::from_tensor_sizes(results, &factors.concat(), &[]).simplify()
}

/// Whether the instruction is a reshape that merges several dimensions of its operand into one.
fn merges(computation: &Computation, id: InstrId) -> bool {
    let instruction = computation.instruction(id);
    let sizes = |array: &ArrayShape| array.dims.iter().copied().filter(|&size| size > 1).collect::<Vec<_>>();
    let merged = || {
        let operand = computation.instruction(*instruction.operands.first()?).shape.as_array()?;
        let (from, to) = (sizes(operand), sizes(instruction.shape.as_array()?));
        Some(to.iter().any(|size| !from.contains(size)))
    };
    matches!(instruction.op, Op::Reshape) && merged().unwrap_or(false)
}

/// Returns expressions for the positions in memory at which a result reads arrays, and for the
/// numbers that the result reads from iotas.
fn positions(fusion: &Fusion, root: InstrId) -> Vec<Expr> {
    let computation = fusion.computation();
    let maps = maps_from(&fusion.module, fusion.entry(), root, 0);
    let of_instruction = |(id, reads): (InstrId, &Indexing)| {
        let position = |reading: &Reading| position(computation, id, &reading.map);
        reads.known().unwrap_or_default().iter().filter_map(position).collect::<Vec<_>>()
    };
    computation.ids().zip(&maps.instructions).flat_map(of_instruction).collect()
}

/// Returns the position in memory at which a parameter or constant is read, or the number that is
/// read from an iota. `map` computes the index of the read element. Returns `None` for instructions
/// that are not parameters, constants or iotas, and if the expression is large.
pub fn position(computation: &Computation, id: InstrId, map: &IndexingMap) -> Option<Expr> {
    let instruction = computation.instruction(id);
    let position = match &instruction.op {
        Op::Parameter { .. } | Op::Constant(_) => linearize(&map.results, &instruction.shape.as_array()?.dims),
        Op::Iota { dimension } => map.results.get(usize::try_from(*dimension).ok()?)?.clone(),
        _ => return None,
    };
    (position.size() <= LARGEST).then(|| simplify_expr(&position, &Bounds::of_domain(map)))
}

/// Finds the digits of the index that an expression uses, and adds their periods to `periods`. A
/// digit is an index divided by a constant, modulo a constant. If the whole expression consists of
/// adjacent digits of one dimension, returns this dimension and the number of elements after which
/// the lowest digit changes.
fn periods_of(expr: &Expr, periods: &mut [BTreeSet<i64>]) -> Option<(usize, i64)> {
    match expr.kind() {
        ExprKind::Dim(dimension) => Some((*dimension as usize, 1)),
        ExprKind::FloorDiv(a, b) => {
            let (dimension, scale) = periods_of(a, periods)?;
            let scale = scale.checked_mul(b.as_constant()?)?;
            periods.get_mut(dimension)?.insert(scale);
            Some((dimension, scale))
        }
        ExprKind::Mod(a, b) => {
            let (dimension, scale) = periods_of(a, periods)?;
            periods.get_mut(dimension)?.insert(scale.checked_mul(b.as_constant()?)?);
            Some((dimension, scale))
        }
        ExprKind::Add(a, b) | ExprKind::Mul(a, b) | ExprKind::Min(a, b) | ExprKind::Max(a, b) => {
            periods_of(a, periods);
            periods_of(b, periods);
            None
        }
        ExprKind::Constant(_) | ExprKind::Range(_) | ExprKind::Runtime(_) => None,
    }
}

/// Splits a dimension into factors. If a period is not a multiple of the previous period, returns
/// the whole dimension as one factor.
fn factors_of(size: i64, periods: &BTreeSet<i64>) -> Vec<i64> {
    let mut factors = Vec::new();
    let mut below = 1;
    for &period in periods.iter().filter(|&&period| period > 1 && period < size).chain([&size]) {
        if period % below != 0 {
            return vec![size];
        }
        factors.push(period / below);
        below = period;
    }
    factors.reverse();
    factors
}
