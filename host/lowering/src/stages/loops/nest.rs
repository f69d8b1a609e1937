//! Rewrites `xla_gpu.loop` as a nest of loops over the domain of an indexing map.
//!
//! A constraint is checked in the outermost loop in which the values of all its variables are
//! known. If a constraint is linear in a loop's variable, the stage narrows the loop's bounds
//! instead of checking the constraint. An unrolled loop may need two versions. If all points of the
//! loop are in the domain, the kernel runs an unrolled version without checks. If only some points
//! are in the domain, the kernel runs a loop with narrowed bounds.

use std::sync::Arc;

use fusebox_core::indexing::{ExprKind, IndexingMap, Interval};
use fusebox_core::ir::{Attribute, OpKind, Operation, Region, Type, Value};

use super::splitting::Splittable;
use super::{Loops, map_of};
use crate::error::{Done, Unsupported};
use crate::indices::Ix;
use crate::stages::rewrite::Stage;

/// A loop operation that is being rewritten.
struct Nest<'s> {
    map: Arc<IndexingMap>,
    /// For each constraint, the number of range variables that must be bound before the constraint
    /// can be evaluated.
    levels: Vec<usize>,
    body: &'s Region,
    dims: Vec<Value>,
    runtime: Vec<Value>,
    dims_ix: Vec<Ix>,
    runtime_ix: Vec<Ix>,
    unroll: Vec<usize>,
    types: Vec<Type>,
}

/// Progress in rewriting a loop nest: the range variables that are bound so far, and the state.
#[derive(Clone)]
struct Progress {
    /// Values of the range variables bound so far.
    ranges: Vec<Value>,
    state: Vec<Value>,
    /// For each constraint, whether the code written so far guarantees the constraint.
    settled: Vec<bool>,
}

impl Nest<'_> {
    fn bounds(&self, variable: usize) -> Interval {
        self.map.ranges[variable].bounds
    }

    /// Returns the constraints that can be evaluated as soon as the next variable is bound.
    fn decided_by<'p>(&'p self, progress: &'p Progress) -> impl Iterator<Item = usize> + 'p {
        let level = progress.ranges.len();
        (0..self.levels.len()).filter(move |&c| !progress.settled[c] && self.levels[c] == level + 1)
    }
}

/// Returns the number of range variables that must be bound to evaluate a constraint.
fn level(map: &IndexingMap, constraint: usize) -> usize {
    let mut level = 0;
    map.constraints[constraint].expr.visit_leaves(&mut |leaf| {
        if let ExprKind::Range(index) = leaf {
            level = level.max(*index as usize + 1);
        }
    });
    level
}

impl<'s> Loops<'s, '_> {
    pub(super) fn indexed_loop(&mut self, op: &'s Operation) -> Done {
        let map = map_of(op)?;
        let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
        let outside = map.dims.len() + map.runtime.len();
        let variables = self.rewriter.slots(&op.operands[..outside])?;
        let state = self.rewriter.slots(&op.operands[outside..])?;
        let expressions: Vec<Ix> = variables.iter().map(|&value| self.index_of(value)).collect();
        let (dims, runtime) = variables.split_at(map.dims.len());
        let (dims_ix, runtime_ix) = expressions.split_at(map.dims.len());
        let unroll = op.integers("unroll").unwrap_or_default();
        let nest = Nest {
            body,
            dims: dims.to_vec(),
            runtime: runtime.to_vec(),
            dims_ix: dims_ix.to_vec(),
            runtime_ix: runtime_ix.to_vec(),
            unroll: unroll.iter().filter_map(|&range| usize::try_from(range).ok()).collect(),
            types: self.rewriter.source_types(&op.results),
            levels: (0..map.constraints.len()).map(|constraint| level(&map, constraint)).collect(),
            map,
        };
        let settled = vec![false; nest.levels.len()];
        let results = self.nest(&nest, Progress { ranges: Vec::new(), state, settled })?;
        self.rewriter.bind_all(&op.results, results);
        Ok(())
    }

    /// Writes the loops over the variables that are not bound yet.
    fn nest(&mut self, nest: &Nest<'s>, mut progress: Progress) -> Done<Vec<Value>> {
        let level = progress.ranges.len();
        let mut condition = self.out().bool(true);
        for constraint in 0..nest.levels.len() {
            if !progress.settled[constraint] && nest.levels[constraint] <= level {
                progress.settled[constraint] = true;
                let ranges = self.indices_of(&progress.ranges);
                let ix = self.constraint(nest, constraint, &ranges)?;
                let holds = self.in_interval(ix, nest.map.constraints[constraint].bounds);
                condition = self.out().both(condition, holds);
            }
        }
        let skipped = progress.state.clone();
        self.choose(condition, |this| this.unconditional_nest(nest, progress), |_| Ok(skipped), &nest.types)
    }

    fn indices_of(&mut self, values: &[Value]) -> Vec<Ix> {
        values.iter().map(|&value| self.index_of(value)).collect()
    }

    fn constraint(&mut self, nest: &Nest<'s>, constraint: usize, ranges: &[Ix]) -> Done<Ix> {
        let expr = &nest.map.constraints[constraint].expr;
        self.tracker.algebra.substitute(expr, &nest.dims_ix, ranges, &nest.runtime_ix).map_err(Unsupported)
    }

    fn unconditional_nest(&mut self, nest: &Nest<'s>, progress: Progress) -> Done<Vec<Value>> {
        let level = progress.ranges.len();
        if level == nest.map.ranges.len() {
            self.nest_body(nest, progress)
        } else if nest.unroll.contains(&level) {
            self.unrolled(nest, progress)
        } else {
            self.rolled(nest, progress)
        }
    }

    fn nest_body(&mut self, nest: &Nest<'s>, progress: Progress) -> Done<Vec<Value>> {
        let Progress { ranges, state, .. } = progress;
        let mut arguments = ranges.clone();
        if !nest.map.results.is_empty() {
            let operands = [&nest.dims[..], &ranges, &nest.runtime].concat();
            let types = vec![Type::INDEX; nest.map.results.len()];
            let map = IndexingMap { constraints: Vec::new(), ..(*nest.map).clone() };
            let attributes = vec![("map".into(), Attribute::Map(map.into()))];
            let results = self.out().push(OpKind::ApplyIndexing, operands, attributes, &types, Vec::new());
            let ranges = self.indices_of(&ranges);
            for (expr, &result) in nest.map.results.iter().zip(&results) {
                let algebra = &mut self.tracker.algebra;
                let ix = algebra.substitute(expr, &nest.dims_ix, &ranges, &nest.runtime_ix).map_err(Unsupported)?;
                self.known.insert(result, ix);
            }
            arguments.extend(results);
        }
        arguments.extend(state);
        self.region(nest.body, arguments)
    }

    fn rolled(&mut self, nest: &Nest<'s>, mut progress: Progress) -> Done<Vec<Value>> {
        let (lower, upper) = self.narrowed_bounds(nest, &mut progress)?;
        let state = std::mem::take(&mut progress.state);
        let write = |this: &mut Self, variable, state| {
            let mut progress = progress.clone();
            progress.ranges.push(variable);
            this.nest(nest, Progress { state, ..progress })
        };
        let arguments = |this: &mut Self, variable| this.possible(nest, &progress.ranges, variable);
        let splittable = Splittable { body: nest.body, types: &nest.types, arguments: &arguments, write: &write };
        self.counted_in_parts(lower, upper, state, &splittable)
    }

    /// Returns the index arguments that the body has when `variable` is the value of the next range
    /// variable. Each later range variable is represented by a leaf whose range is the variable's
    /// bounds.
    fn possible(&mut self, nest: &Nest<'s>, bound: &[Value], variable: Ix) -> Done<Vec<Ix>> {
        let mut ranges = self.indices_of(bound);
        ranges.push(variable);
        let depth = self.out().depth() + 2;
        for later in ranges.len()..nest.map.ranges.len() {
            let any = self.tracker.algebra.leaf(nest.bounds(later), depth);
            ranges.push(any);
        }
        let mut arguments = ranges.clone();
        for expr in &nest.map.results {
            let algebra = &mut self.tracker.algebra;
            let ix = algebra.substitute(expr, &nest.dims_ix, &ranges, &nest.runtime_ix).map_err(Unsupported)?;
            arguments.push(ix);
        }
        Ok(arguments)
    }

    /// Computes the bounds of the next loop. The upper bound is exclusive. All constraints that are
    /// linear in the loop's variable narrow the bounds.
    fn narrowed_bounds(&mut self, nest: &Nest<'s>, progress: &mut Progress) -> Done<(Ix, Ix)> {
        let bounds = nest.bounds(progress.ranges.len());
        let mut lower = self.tracker.algebra.constant(bounds.lower);
        let mut upper = self.tracker.algebra.constant(bounds.upper.saturating_add(1));
        for constraint in nest.decided_by(progress).collect::<Vec<usize>>() {
            let Some((rest, factor)) = self.linear_in_next(nest, constraint, &progress.ranges)? else { continue };
            let wanted = nest.map.constraints[constraint].bounds;
            // wanted.lower <= rest + factor * variable <= wanted.upper
            let (least, most) = if factor > 0 { (wanted.lower, wanted.upper) } else { (wanted.upper, wanted.lower) };
            if most != i64::MAX && most != i64::MIN {
                let last = self.solved(rest, factor, most, 0);
                let one = self.tracker.algebra.constant(1);
                let end = self.tracker.algebra.add(last, one);
                upper = self.tracker.algebra.min(upper, end);
            }
            if least != i64::MAX && least != i64::MIN {
                let start = self.solved(rest, factor, least, factor.abs() - 1);
                lower = self.tracker.algebra.max(lower, start);
            }
            progress.settled[constraint] = true;
        }
        Ok((lower, upper))
    }

    /// Computes `floor((±(limit - rest) + shift) / |factor|)`. If `shift` is 0, the result is the
    /// last value of the variable within the limit. If `shift` is `|factor| - 1`, the result is the
    /// first value of the variable that reaches the limit.
    fn solved(&mut self, rest: Ix, factor: i64, limit: i64, shift: i64) -> Ix {
        let algebra = &mut self.tracker.algebra;
        let limit = algebra.constant(limit);
        let distance = algebra.sub(limit, rest);
        let distance = algebra.scaled(distance, factor.signum());
        let shift = algebra.constant(shift);
        let distance = algebra.add(distance, shift);
        algebra.floor_div(distance, factor.abs())
    }

    /// Splits a constraint's expression into `rest + factor * next variable`, if `rest` does not
    /// depend on the next variable.
    fn linear_in_next(&mut self, nest: &Nest<'s>, constraint: usize, ranges: &[Value]) -> Done<Option<(Ix, i64)>> {
        let depth = self.out().depth() + 1;
        let probe = self.tracker.algebra.leaf(nest.bounds(ranges.len()), depth);
        let mut bound = self.indices_of(ranges);
        bound.push(probe);
        let ix = self.constraint(nest, constraint, &bound)?;
        let algebra = &mut self.tracker.algebra;
        Ok(algebra
            .without_term(ix, probe)
            .filter(|&(rest, factor)| factor != 0 && factor != i64::MIN && algebra.depth(rest) < depth))
    }

    fn unrolled(&mut self, nest: &Nest<'s>, progress: Progress) -> Done<Vec<Value>> {
        let Interval { lower, upper } = nest.bounds(progress.ranges.len());
        let mut all_inside = self.out().bool(true);
        let mut all_or_nothing = true;
        let mut checked = progress.clone();
        for constraint in nest.decided_by(&progress).collect::<Vec<usize>>() {
            let Some((rest, factor)) = self.linear_in_next(nest, constraint, &progress.ranges)? else { continue };
            let wanted = nest.map.constraints[constraint].bounds;
            let (first, last) = (factor.saturating_mul(lower), factor.saturating_mul(upper));
            let (least, most) = (first.min(last), first.max(last));
            let fits = Interval::new(wanted.lower.saturating_sub(least), wanted.upper.saturating_sub(most));
            let touches = Interval::new(wanted.lower.saturating_sub(most), wanted.upper.saturating_sub(least));
            all_or_nothing &= same_multiples(self.tracker.algebra.divisibility(rest), fits, touches);
            let condition = self.in_interval(rest, fits);
            all_inside = self.out().both(all_inside, condition);
            checked.settled[constraint] = true;
        }
        let skipped = progress.state.clone();
        self.choose(
            all_inside,
            |this| this.copies(nest, checked),
            |this| if all_or_nothing { Ok(skipped) } else { this.rolled(nest, progress) },
            &nest.types,
        )
    }

    /// Writes the body once for each value of the next variable.
    fn copies(&mut self, nest: &Nest<'s>, progress: Progress) -> Done<Vec<Value>> {
        let Interval { lower, upper } = nest.bounds(progress.ranges.len());
        let mut state = progress.state.clone();
        for value in lower..=upper {
            self.out().check_size()?;
            let mut copy = Progress { state, ..progress.clone() };
            let variable = self.out().index(value);
            copy.ranges.push(variable);
            state = self.nest(nest, copy)?;
        }
        Ok(state)
    }
}

/// Whether both intervals contain the same multiples of `unit`.
fn same_multiples(unit: u64, inner: Interval, outer: Interval) -> bool {
    let Some(unit) = i64::try_from(unit).ok().filter(|&unit| unit > 0) else { return false };
    let below = |value: i64| value.div_euclid(unit);
    let above = |value: i64| value.saturating_add(unit - 1).div_euclid(unit);
    let known = [inner.lower, inner.upper, outer.lower, outer.upper];
    let far = |value: &i64| value.unsigned_abs() > 1 << 62;
    // Very large bounds mean that there is no bound.
    (far(&known[0]) && far(&known[2]) || above(inner.lower) == above(outer.lower))
        && (far(&known[1]) && far(&known[3]) || below(inner.upper) == below(outer.upper))
}
