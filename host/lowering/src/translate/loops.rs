//! `xla_gpu.loop`: nests of loops over the domain of an indexing map.
//!
//! Constraints are checked as far out as their variables allow. One that is linear in a loop's variable narrows
//! the loop's bounds instead. A loop that is unrolled is written twice if it must be: without checks where all its
//! points are in the domain, and as a loop with checks where only some are.

use fusebox_core::indexing::{IndexingMap, Interval};

use super::function::{Done, Function};
use super::slot::Slot;
use super::splitting::Splittable;
use crate::dialect::map_of;
use crate::error::Unsupported;
use crate::indices::Ix;
use crate::llvm::{IntPredicate, Op, Val};
use crate::mlir::{Block, Operation, Type};

/// A loop operation while it is translated.
struct Nest {
    map: IndexingMap,
    body: Block,
    dims: Vec<Ix>,
    runtime: Vec<Ix>,
    unroll: Vec<usize>,
    types: Vec<Type>,
}

/// The points reached so far in a nest.
#[derive(Clone)]
struct Progress {
    /// Values of the range variables bound so far.
    ranges: Vec<Ix>,
    state: Vec<Slot>,
    /// Constraints that hold, by position.
    settled: Vec<bool>,
}

impl Nest {
    /// Number of range variables that must be bound before a constraint can be evaluated.
    fn level(&self, constraint: usize) -> usize {
        let mut level = 0;
        self.map.constraints[constraint].expr.visit_leaves(&mut |leaf| {
            if let fusebox_core::indexing::ExprKind::Range(index) = leaf {
                level = level.max(*index as usize + 1);
            }
        });
        level
    }

    fn bounds(&self, variable: usize) -> Interval {
        self.map.ranges[variable].bounds
    }
}

impl Function<'_, '_, '_> {
    pub(super) fn indexed_loop(&mut self, op: Operation) -> Done {
        let map = map_of(op).map_err(Unsupported)?;
        let Some(body) = op.block(0) else { return Unsupported::because("it has no body") };
        let outside = map.dims.len() + map.runtime.len();
        let variables = op.operands().take(outside).map(|value| self.index(value)).collect::<Done<Vec<Ix>>>()?;
        let state = op.operands().skip(outside).map(|value| self.slot(value)).collect::<Done<Vec<Slot>>>()?;
        let (dims, runtime) = variables.split_at(map.dims.len());
        let unroll = op.attribute("unroll").and_then(|it| it.integers()).unwrap_or_default();
        let nest = Nest {
            body,
            dims: dims.to_vec(),
            runtime: runtime.to_vec(),
            unroll: unroll.into_iter().filter_map(|range| usize::try_from(range).ok()).collect(),
            types: op.results().map(|result| result.ty()).collect(),
            map,
        };
        let settled = vec![false; nest.map.constraints.len()];
        let results = self.nest(&nest, Progress { ranges: Vec::new(), state, settled })?;
        for (result, slot) in op.results().zip(results) {
            self.bind(result, slot);
        }
        Ok(())
    }

    /// The loops over the variables not bound yet.
    fn nest(&mut self, nest: &Nest, mut progress: Progress) -> Done<Vec<Slot>> {
        let level = progress.ranges.len();
        let mut conditions: Option<Val> = None;
        for constraint in 0..nest.map.constraints.len() {
            if !progress.settled[constraint] && nest.level(constraint) <= level {
                progress.settled[constraint] = true;
                let condition = self.constraint(nest, constraint, &progress.ranges)?;
                conditions = Some(self.both(conditions, condition));
            }
        }
        let Some(condition) = conditions else { return self.unconditional_nest(nest, progress) };
        let skipped = progress.state.clone();
        self.choose(condition, |this| this.unconditional_nest(nest, progress), |_| Ok(skipped), &nest.types)
    }

    fn unconditional_nest(&mut self, nest: &Nest, progress: Progress) -> Done<Vec<Slot>> {
        let level = progress.ranges.len();
        if level == nest.map.ranges.len() {
            self.nest_body(nest, progress)
        } else if nest.unroll.contains(&level) {
            self.unrolled(nest, progress)
        } else {
            self.rolled(nest, progress)
        }
    }

    fn nest_body(&mut self, nest: &Nest, progress: Progress) -> Done<Vec<Slot>> {
        let Progress { ranges, state, .. } = progress;
        let mut arguments: Vec<Slot> = ranges.iter().map(|&ix| Slot::Index(ix)).collect();
        for expr in &nest.map.results {
            let ix = self.indices.substitute(expr, &nest.dims, &ranges, &nest.runtime).map_err(Unsupported)?;
            arguments.push(Slot::Index(ix));
        }
        arguments.extend(state);
        for (argument, slot) in nest.body.arguments().zip(arguments) {
            self.bind(argument, slot);
        }
        self.region(Some(nest.body))
    }

    fn rolled(&mut self, nest: &Nest, mut progress: Progress) -> Done<Vec<Slot>> {
        let level = progress.ranges.len();
        let (lower, upper) = self.narrowed_bounds(nest, &mut progress)?;
        let state = std::mem::take(&mut progress.state);
        let write = |this: &mut Function<'_, '_, '_>, variable, state| {
            let variable = this.within(variable, nest.bounds(level));
            let mut progress = progress.clone();
            progress.ranges.push(variable);
            this.nest(nest, Progress { state, ..progress })
        };
        let arguments = |this: &mut Function<'_, '_, '_>, variable| this.possible(nest, &progress.ranges, variable);
        let splittable = Splittable { body: nest.body, types: &nest.types, arguments: &arguments, write: &write };
        self.counted_in_parts(lower, upper, state, &splittable)
    }

    /// The body's index arguments with this value of the next variable and any values of the later ones.
    fn possible(&mut self, nest: &Nest, bound: &[Ix], variable: Ix) -> Done<Vec<Ix>> {
        let mut ranges = [bound, &[variable]].concat();
        let depth = self.depth() + 2;
        for later in ranges.len()..nest.map.ranges.len() {
            let any = self.indices.leaf(nest.bounds(later), depth);
            ranges.push(any);
        }
        let mut arguments = ranges.clone();
        for expr in &nest.map.results {
            arguments.push(self.indices.substitute(expr, &nest.dims, &ranges, &nest.runtime).map_err(Unsupported)?);
        }
        Ok(arguments)
    }

    /// The variable, known to be in these bounds. Bounds that were narrowed at run time lie within.
    fn within(&mut self, variable: Ix, bounds: Interval) -> Ix {
        match self.leaves.get(&variable).copied() {
            Some(value) if !bounds.contains_interval(self.indices.range(variable)) => {
                let range = bounds.intersect(self.indices.range(variable));
                self.leaf(value, range)
            }
            _ => variable,
        }
    }

    /// Bounds of the next loop, the upper one exclusive, after all constraints that they can express.
    fn narrowed_bounds(&mut self, nest: &Nest, progress: &mut Progress) -> Done<(Ix, Ix)> {
        let level = progress.ranges.len();
        let bounds = nest.bounds(level);
        let mut lower = self.indices.constant(bounds.lower);
        let mut upper = self.indices.constant(bounds.upper.saturating_add(1));
        for constraint in 0..nest.map.constraints.len() {
            if progress.settled[constraint] || nest.level(constraint) != level + 1 {
                continue;
            }
            let Some((rest, factor)) = self.linear_in_next(nest, constraint, &progress.ranges)? else { continue };
            let wanted = nest.map.constraints[constraint].bounds;
            // wanted.lower <= rest + factor * variable <= wanted.upper
            let (least, most) = if factor > 0 { (wanted.lower, wanted.upper) } else { (wanted.upper, wanted.lower) };
            if most != i64::MAX && most != i64::MIN {
                let last = self.solved(rest, factor, most, 0);
                let one = self.indices.constant(1);
                let end = self.indices.add(last, one);
                upper = self.indices.min(upper, end);
            }
            if least != i64::MAX && least != i64::MIN {
                let start = self.solved(rest, factor, least, factor.abs() - 1);
                lower = self.indices.max(lower, start);
            }
            progress.settled[constraint] = true;
        }
        Ok((lower, upper))
    }

    /// `floor((±(limit - rest) + shift) / |factor|)`: the last variable up to the limit, or with a shift the first
    /// from the limit on.
    fn solved(&mut self, rest: Ix, factor: i64, limit: i64, shift: i64) -> Ix {
        let limit = self.indices.constant(limit);
        let distance = self.indices.sub(limit, rest);
        let distance = self.indices.scaled(distance, factor.signum());
        let shift = self.indices.constant(shift);
        let distance = self.indices.add(distance, shift);
        self.indices.floor_div(distance, factor.abs())
    }

    /// A constraint's expression as `rest + factor * next variable`, if the rest does not depend on the variable.
    fn linear_in_next(&mut self, nest: &Nest, constraint: usize, ranges: &[Ix]) -> Done<Option<(Ix, i64)>> {
        let depth = self.depth() + 1;
        let probe = self.indices.leaf(nest.bounds(ranges.len()), depth);
        let mut bound = ranges.to_vec();
        bound.push(probe);
        let expr = &nest.map.constraints[constraint].expr;
        let ix = self.indices.substitute(expr, &nest.dims, &bound, &nest.runtime).map_err(Unsupported)?;
        Ok(self
            .indices
            .without_term(ix, probe)
            .filter(|&(rest, factor)| factor != 0 && factor != i64::MIN && self.indices.depth(rest) < depth))
    }

    /// Whether a point satisfies a constraint.
    fn constraint(&mut self, nest: &Nest, constraint: usize, ranges: &[Ix]) -> Done<Val> {
        let wanted = nest.map.constraints[constraint].bounds;
        let expr = &nest.map.constraints[constraint].expr;
        let ix = self.indices.substitute(expr, &nest.dims, ranges, &nest.runtime).map_err(Unsupported)?;
        Ok(self.in_interval(ix, wanted))
    }

    fn in_interval(&mut self, ix: Ix, wanted: Interval) -> Val {
        let (lower, upper) = (self.indices.constant(wanted.lower), self.indices.constant(wanted.upper));
        let above = self.compare_indices(IntPredicate::LLVMIntSGE, ix, lower);
        let below = self.compare_indices(IntPredicate::LLVMIntSLE, ix, upper);
        self.both(Some(above), below)
    }

    /// Both conditions, of which the first may be missing.
    fn both(&self, first: Option<Val>, second: Val) -> Val {
        match first {
            None => second,
            Some(first) if self.llvm().known_bool(first) == Some(true) => second,
            Some(first) if self.llvm().known_bool(second) == Some(true) => first,
            Some(first) => self.llvm().binary(Op::LLVMAnd, first, second),
        }
    }

    fn unrolled(&mut self, nest: &Nest, progress: Progress) -> Done<Vec<Slot>> {
        let level = progress.ranges.len();
        let mut all_inside: Option<Val> = None;
        let mut all_or_nothing = true;
        let mut checked = progress.clone();
        for constraint in 0..nest.map.constraints.len() {
            if progress.settled[constraint] || nest.level(constraint) != level + 1 {
                continue;
            }
            let Some((rest, factor)) = self.linear_in_next(nest, constraint, &progress.ranges)? else { continue };
            let wanted = nest.map.constraints[constraint].bounds;
            let Interval { lower, upper } = nest.bounds(level);
            let (first, last) = (factor.saturating_mul(lower), factor.saturating_mul(upper));
            let (least, most) = (first.min(last), first.max(last));
            let fits = Interval::new(wanted.lower.saturating_sub(least), wanted.upper.saturating_sub(most));
            let touches = Interval::new(wanted.lower.saturating_sub(most), wanted.upper.saturating_sub(least));
            all_or_nothing &= same_multiples(self.indices.divisibility(rest), fits, touches);
            let condition = self.in_interval(rest, fits);
            all_inside = Some(self.both(all_inside, condition));
            checked.settled[constraint] = true;
        }
        let Some(condition) = all_inside else { return self.copies(nest, progress) };
        let skipped = progress.state.clone();
        self.choose(
            condition,
            |this| this.copies(nest, checked),
            |this| if all_or_nothing { Ok(skipped) } else { this.rolled(nest, progress) },
            &nest.types,
        )
    }

    /// The body once for each value of the next variable.
    fn copies(&mut self, nest: &Nest, progress: Progress) -> Done<Vec<Slot>> {
        let Interval { lower, upper } = nest.bounds(progress.ranges.len());
        let mut state = progress.state.clone();
        for value in lower..=upper {
            self.count(1)?;
            let mut copy = Progress { state, ..progress.clone() };
            let variable = self.indices.constant(value);
            copy.ranges.push(variable);
            state = self.nest(nest, copy)?;
        }
        Ok(state)
    }
}

/// Whether the same multiples of `unit` lie in both intervals.
fn same_multiples(unit: u64, inner: Interval, outer: Interval) -> bool {
    let Some(unit) = i64::try_from(unit).ok().filter(|&unit| unit > 0) else { return false };
    let below = |value: i64| value.div_euclid(unit);
    let above = |value: i64| value.saturating_add(unit - 1).div_euclid(unit);
    let known = [inner.lower, inner.upper, outer.lower, outer.upper];
    let far = |value: &i64| value.unsigned_abs() > 1 << 62;
    // Bounds far out stand for no bound at all.
    (far(&known[0]) && far(&known[2]) || above(inner.lower) == above(outer.lower))
        && (far(&known[1]) && far(&known[3]) || below(inner.upper) == below(outer.upper))
}
