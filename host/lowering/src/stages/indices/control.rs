//! Rewrites loops over indices as loops over integers, with hints to LLVM about unrolling.

use fusebox_core::indexing::Interval;
use fusebox_core::ir::{Attribute, Effect, OpKind, Operation, Scalar, Type, Value};
use rustc_hash::FxHashMap;

use super::{Indexed, Slot};
use crate::error::{Done, Required, Unsupported};
use crate::indices::Ix;
use crate::stages::rewrite::{LoopHead, Stage};
use crate::stages::writer::Attributes;

/// Maximum number of iterations of a loop that is unrolled. `optimize` uses the same limit for
/// loops that remain after vectorisation.
const MOST_TURNS: i64 = 4;
/// Maximum number of operations that result from unrolling a loop without inner loops.
const MOST_UNROLLED: i64 = 8192;

/// Minimum number of iterations of a row. In shorter loops, the time of the loop itself matters.
const LEAST_IN_ROW: i64 = 64;

/// Known facts about a loop's number of iterations.
struct Turns {
    /// Upper bound of the number of iterations, if known.
    most: Option<i64>,
    /// Whether the loop always has exactly `most` iterations.
    always: bool,
}

impl<'s> Indexed<'s, '_> {
    pub(super) fn for_loop(&mut self, op: &'s Operation) -> Done {
        let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
        let inits = self.rewriter.slots(&op.operands[3..])?;
        let types = self.rewriter.source_types(&op.results);
        let results = if *self.rewriter.source.type_of(op.operands[0]) == Type::INDEX {
            let [lower, upper, step] = [0, 1, 2].map(|at| self.index(op.operands[at]));
            let (lower, upper, step) = (lower?, upper?, step?);
            let step = self
                .tracker
                .algebra
                .as_constant(step)
                .filter(|&step| step > 0)
                .required("its step is not a positive constant")?;
            self.counted(op, [lower, upper], step, inits, &types, |this, ix, state| {
                this.region(body, [vec![Slot::Index(ix)], state].concat())
            })?
        } else {
            let bounds = op.operands[..3].iter().map(|&bound| self.value(bound)).collect::<Done<Vec<Value>>>()?;
            let turns = Turns { most: None, always: false };
            self.written_loop(op, bounds, turns, inits, &types, |this, variable, state| {
                this.region(body, [vec![Slot::Value(variable)], state].concat())
            })?
        };
        self.rewriter.bind_all(&op.results, results);
        Ok(())
    }

    /// Writes `for ix in (lower..upper).step_by(step)`. `body` writes one iteration, which maps the
    /// loop's state to the next state. If the difference of the bounds is constant, the loop counts
    /// from zero, so that LLVM knows the number of iterations and generates no loop for a
    /// remainder. This function unrolls a loop of few iterations itself, because LLVM would unroll
    /// the loop only after an analysis of iteration counts.
    fn counted(
        &mut self,
        op: &'s Operation,
        [lower, upper]: [Ix; 2],
        step: i64,
        inits: Vec<Slot>,
        types: &[Type],
        mut body: impl FnMut(&mut Self, Ix, Vec<Slot>) -> Done<Vec<Slot>>,
    ) -> Done<Vec<Slot>> {
        let algebra = &mut self.tracker.algebra;
        let distance = algebra.sub(upper, lower);
        let zero = algebra.constant(0);
        let (base, lower, upper) = match algebra.as_constant(distance) {
            Some(_) => (lower, zero, distance),
            None => (zero, lower, upper),
        };
        let (low, high) = (algebra.range(lower), algebra.range(upper));
        if high.upper <= low.lower {
            return Ok(inits);
        }
        let range = Interval::new(low.lower, high.upper.saturating_sub(1));
        if low.as_point().is_some()
            && range.upper.checked_sub(range.lower).is_some_and(|span| span < step)
            && high.lower > low.upper
        {
            let ix = algebra.add(base, lower);
            return body(self, ix, inits);
        }
        let turns = Turns {
            most: Some((range.upper.saturating_sub(range.lower) / step.max(1)).saturating_add(1)),
            always: low.as_point().is_some() && high.as_point().is_some(),
        };
        if let Turns { most: Some(count), always: true } = turns
            && self.is_unrolled(op, &turns)
        {
            let first = self.tracker.algebra.add(base, lower);
            return self.with_copies(count, |this| {
                (0..count).try_fold(inits, |state, turn| {
                    let algebra = &mut this.tracker.algebra;
                    let distance = algebra.constant(turn * step);
                    let ix = algebra.add(first, distance);
                    body(this, ix, state)
                })
            });
        }
        // After the last iteration, the loop compares the variable with the bound once more. The
        // variable is then one step beyond its range.
        let far = Interval::new(range.lower, range.upper.saturating_add(step));
        let small = Interval::new(i32::MIN.into(), i32::MAX.into()).contains_interval(far);
        let bits = if small { self.target.index_bits } else { 64 };
        let ty = Type::Scalar(Scalar::Int(bits));
        let bounds = vec![self.index_value(lower, bits), self.index_value(upper, bits), self.out().int(step, &ty)];
        self.written_loop(op, bounds, turns, inits, types, |this, variable, state| {
            let turn = this.leaf(variable, range);
            let ix = this.tracker.algebra.add(base, turn);
            body(this, ix, state)
        })
    }

    fn written_loop(
        &mut self,
        op: &'s Operation,
        bounds: Vec<Value>,
        turns: Turns,
        inits: Vec<Slot>,
        types: &[Type],
        body: impl FnOnce(&mut Self, Value, Vec<Slot>) -> Done<Vec<Slot>>,
    ) -> Done<Vec<Slot>> {
        let variable = self.out().type_of(bounds[0]).clone();
        let copies = turns.most.filter(|_| self.is_unrolled(op, &turns));
        let mut attributes: Attributes = Vec::new();
        if copies.is_none() && self.is_kept(op, &turns) {
            attributes.push(("fusebox.unroll".into(), Attribute::str("never")));
        }
        let reports = self.target.reports_accesses && turns.most.is_none_or(|turns| turns > MOST_TURNS);
        let site = self.site(op);
        let head = LoopHead { kind: OpKind::For, operands: bounds, attributes, own: vec![variable] };
        self.with_copies(copies.unwrap_or(1), |this| {
            this.turns(head, inits, types, |this, own, state| {
                if reports {
                    this.out().act(OpKind::ReportTurn, &[], vec![("site".into(), site)]);
                }
                body(this, own[0], state)
            })
        })
    }

    /// Writes the body of a loop. Unrolling makes `count` copies of this body.
    fn with_copies<T>(&mut self, count: i64, write: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        let copies = self.copies;
        self.copies = copies.saturating_mul(count);
        let written = write(self);
        self.copies = copies;
        written
    }

    /// Whether a loop is unrolled. This stage unrolls loops with a fixed number of iterations, and
    /// LLVM unrolls loops whose number of iterations varies.
    fn is_unrolled(&self, op: &Operation, turns: &Turns) -> bool {
        turns.most.is_some_and(|most| {
            most <= MOST_TURNS
                && most.saturating_mul(self.copies) <= self.target.most_copies
                && (most <= 1 || self.may_be_copied(op, most))
        })
    }

    /// Whether `count` copies of a loop's body are few enough to be worth the code size. A body
    /// with a long inner loop over vectors is not copied. The inner loop takes much longer than the
    /// rest of the body, so copies would gain nothing. In addition, the inner loop's body has many
    /// operations. A body that only consists of rows is not copied either.
    fn may_be_copied(&self, op: &Operation, count: i64) -> bool {
        let known = |value| self.index(value).ok().and_then(|ix| self.tracker.algebra.as_constant(ix));
        let Contents { operations, has_loop, long_loops } = Contents::of(op, &known);
        let most = if has_loop { self.target.most_nested } else { MOST_UNROLLED };
        (long_loops == 0 || !self.holds_vectors(op) && !self.consists_of_rows(op, &known))
            && operations.saturating_mul(count) <= most
            && long_loops.saturating_mul(count).saturating_mul(self.copies) <= self.target.most_long_loops
    }

    /// Whether a loop's body consists of rows, and copies of the body would be equal but for the
    /// index of the row. A row is a long inner loop without results and without inner loops or
    /// branches. A comparison of indices could have a constant result in a copy. On GPUs, threads
    /// share the iterations of long loops, so this function returns false.
    fn consists_of_rows(&self, op: &Operation, known: &dyn Fn(Value) -> Option<i64>) -> bool {
        let [body] = op.regions.as_slice() else { return false };
        let is_plain = |op: &Operation| op.regions.is_empty() && op.kind != OpKind::CmpI;
        let has_effect = |op: &Operation| matches!(op.kind.effect(), Effect::Memory | Effect::Allocates);
        let is_row = |row: &Operation| {
            row.kind == OpKind::For
                && row.results.is_empty()
                && turns(row, known).is_some_and(|turns| turns >= LEAST_IN_ROW)
                && row.regions.iter().all(|region| region.operations.iter().all(is_plain))
        };
        self.target.is_cpu()
            && op.results.is_empty()
            && body.operations.iter().all(|op| is_plain(op) && !has_effect(op) || is_row(op))
    }

    /// Whether LLVM must keep a single copy of the loop's body. Callers ask only about loops that
    /// are not unrolled.
    fn is_kept(&self, op: &Operation, turns: &Turns) -> bool {
        // A loop that computes with vectors already gains nothing from vectorisation, and LLVM
        // takes long to estimate the cost of its copies.
        self.target.keeps_long_loops || turns.most.is_some_and(|most| most <= MOST_TURNS) || self.holds_vectors(op)
    }

    /// Whether any result inside an operation is a vector.
    fn holds_vectors(&self, op: &Operation) -> bool {
        let is_vector = |&value: &Value| matches!(self.rewriter.source.type_of(value), Type::Vector(..));
        let mut found = false;
        op.walk(&mut |inner| found |= inner.results.iter().any(is_vector));
        found
    }
}

/// Contents of a loop's body.
#[derive(Default)]
struct Contents {
    operations: i64,
    has_loop: bool,
    /// Number of loops in the body that are not unrolled. A loop counts once for each copy that
    /// results from unrolling the loops around it.
    long_loops: i64,
}

impl Contents {
    /// Counts the contents of a loop's body. `known` returns the values of constants outside of the
    /// loop.
    fn of(op: &Operation, known: &dyn Fn(Value) -> Option<i64>) -> Contents {
        let mut inside: FxHashMap<Value, i64> = FxHashMap::default();
        op.walk(&mut |inner| {
            if let (OpKind::Constant, Some(value)) = (inner.kind, inner.integer("value")) {
                inside.insert(inner.result(), value);
            }
        });
        let mut contents = Contents::default();
        contents.add(op, 1, &|value| inside.get(&value).copied().or_else(|| known(value)));
        contents
    }

    fn add(&mut self, op: &Operation, copies: i64, known: &dyn Fn(Value) -> Option<i64>) {
        for inner in op.regions.iter().flat_map(|region| &region.operations) {
            self.operations += 1;
            let is_loop = matches!(inner.kind, OpKind::For | OpKind::While);
            self.has_loop |= is_loop;
            let turns = match inner.kind {
                OpKind::For => turns(inner, known).filter(|turns| *turns <= MOST_TURNS),
                _ => None,
            };
            self.long_loops = self.long_loops.saturating_add(if is_loop && turns.is_none() { copies } else { 0 });
            self.add(inner, copies.saturating_mul(turns.unwrap_or(1)), known);
        }
    }
}

/// Returns the number of iterations of a loop, if its bounds are constants.
fn turns(op: &Operation, known: &dyn Fn(Value) -> Option<i64>) -> Option<i64> {
    let [lower, upper, step] = op.operands.first_chunk()?.map(known);
    let (distance, step) = (upper?.checked_sub(lower?)?, step.filter(|step| *step > 0)?);
    Some(distance.max(0).checked_add(step - 1)? / step)
}
