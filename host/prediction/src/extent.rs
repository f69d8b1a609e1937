//! The points of a visit, and the overhead of the loops over these points.

use std::collections::HashSet;

use fusebox_core::indexing::{Constraint, Expr, ExprKind, IndexingMap, Interval, Program};

use crate::reached::MOST_UNROLLED;

/// The points of a visit.
pub struct Extent<'a> {
    /// The map from the point to the index of the visited values.
    pub map: &'a IndexingMap,
    /// Program that evaluates the results and constraints of the map.
    pub program: Program,
    /// Ranges of the threads and of the blocks that have points.
    pub dims: [Interval; 2],
    /// Number of points, including points that constraints exclude.
    pub points: f64,
    /// Number of points per thread.
    pub turns: f64,
    /// Number of blocks that have points.
    pub blocks: f64,
    /// Number of points of the innermost loop. A short innermost loop and the loop around it are
    /// treated as one loop.
    pub innermost: f64,
    /// Number of quotients and remainders that are computed per point.
    pub divisions: f64,
}

impl<'a> Extent<'a> {
    /// Computes the extent of a map whose dimensions are threads and blocks. Returns `None` if
    /// there are no points.
    pub fn new(map: &'a IndexingMap) -> Option<Self> {
        let bounds = |dim: u32| {
            let own = |c: &&Constraint| *c.expr.kind() == ExprKind::Dim(dim);
            let constraints = map.constraints.iter().filter(own).map(|c| c.bounds);
            constraints.fold(map.dims.get(dim as usize).map_or(Interval::point(0), |it| it.bounds), Interval::intersect)
        };
        let dims = [bounds(0), bounds(1)];
        let size = |interval: &Interval| interval.size() as f64;
        let turns: f64 = map.ranges.iter().map(|range| size(&range.bounds)).product();
        let points = turns * dims.iter().map(size).product::<f64>();
        let exprs: Vec<Expr> = map.results.iter().chain(map.constraints.iter().map(|c| &c.expr)).cloned().collect();
        let (mut innermost, mut around) = (1.0, map.ranges.iter().rev().map(|range| size(&range.bounds)));
        while innermost <= MOST_UNROLLED {
            let Some(turns) = around.next() else { break };
            innermost *= turns;
        }
        let blocks = size(&dims[1]);
        let divisions = divisions(map, &exprs);
        (points > 0.0).then(|| Extent {
            program: Program::new(&exprs),
            map,
            dims,
            points,
            turns,
            blocks,
            innermost,
            divisions,
        })
    }
}

/// Returns the number of quotients and remainders that are computed per point. A quotient that
/// depends on loops is computed once per iteration of the innermost loop on which it depends.
/// Quotients that depend on the innermost loop of the map are not counted, because they mostly
/// cancel out in the memory address.
fn divisions(map: &IndexingMap, exprs: &[Expr]) -> f64 {
    let mut pending: Vec<&Expr> = exprs.iter().collect();
    let mut found: HashSet<&Expr> = HashSet::new();
    let mut count = 0.0;
    while let Some(expr) = pending.pop() {
        let kind = expr.kind();
        let Some((a, b)) = kind.operands() else { continue };
        let mut innermost = None;
        if matches!(kind, ExprKind::FloorDiv(..) | ExprKind::Mod(..)) {
            a.visit_leaves(&mut |leaf| {
                if let ExprKind::Range(number) = *leaf {
                    innermost = innermost.max(Some(number as usize));
                }
            });
        }
        if let Some(number) = innermost
            && found.insert(expr)
        {
            let inside: f64 = map.ranges.iter().skip(number + 1).map(|range| range.bounds.size() as f64).product();
            count += if inside > 1.0 { 1.0 / inside } else { 0.0 };
        }
        pending.extend([a, b]);
    }
    count
}
