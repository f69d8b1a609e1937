//! Rewrites loops over indexing maps as nests of `scf.for`. Unrolls a loop if an attribute of the
//! loop requests unrolling. If possible, splits a loop into parts so that a condition has the same
//! outcome in all iterations of a part.
//!
//! The stage copies index arithmetic unchanged. In parallel, [`Tracker`] keeps an expression for
//! each index. With these expressions the stage narrows loop bounds and decides comparisons.

mod nest;
mod splitting;

use fusebox_core::builder::IntPredicate;
use fusebox_core::indexing::{Expr, ExprKind, IndexingMap, Interval, Variable};
use fusebox_core::ir::{Attribute, OpKind, Operation, Scalar, Type, Value};
use rustc_hash::FxHashMap;

use self::splitting::{Splittable, Splitting, Turn};
use super::rewrite::{LoopHead, Rewriter, Stage};
use super::tracker::{Definitions, Tracker};
use super::{Facts, Form, KernelFunctions, StageError, map_of};
use crate::error::{Done, Required, Unsupported};
use crate::indices::{Ix, Kind};
use crate::targets::TargetInfo;

/// Maximum number of operations in an index expression that is written as one map.
const MOST_NODES: usize = 24;

pub(super) fn lower(
    kernel: &KernelFunctions,
    facts: &Facts<'_>,
    target: &TargetInfo,
) -> Result<KernelFunctions, StageError> {
    kernel.each(|_, function| {
        let loops = Loops {
            rewriter: Rewriter::new(function),
            tracker: Tracker::default(),
            known: FxHashMap::default(),
            written: FxHashMap::default(),
            definitions: Definitions::of(function),
            splitting: Splitting::default(),
            facts,
            target,
        };
        loops.written()
    })
}

struct Loops<'s, 'k> {
    rewriter: Rewriter<'s, Value>,
    tracker: Tracker,
    /// Expressions of the new function's indices.
    known: FxHashMap<Value, Ix>,
    /// Values that were written for expressions, and the scope in which each value was written.
    written: FxHashMap<Ix, (Value, u32)>,
    definitions: Definitions<'s>,
    splitting: Splitting,
    facts: &'k Facts<'k>,
    target: &'k TargetInfo,
}

impl<'s> Stage<'s> for Loops<'s, '_> {
    type Slot = Value;

    fn rewriter(&mut self) -> &mut Rewriter<'s, Value> {
        &mut self.rewriter
    }

    fn passed(&self, ty: &Type) -> Done<Vec<Type>> {
        Ok(vec![ty.clone()])
    }

    fn values(&mut self, slot: &Value) -> Done<Vec<Value>> {
        Ok(vec![*slot])
    }

    fn slot_of(&mut self, ty: &Type, values: &[Value], _: &[Value]) -> Done<Value> {
        if *ty == Type::INDEX && !self.known.contains_key(&values[0]) {
            self.leaf(values[0], Interval::ALL);
        }
        Ok(values[0])
    }

    fn operation(&mut self, op: &'s Operation) -> Done {
        match op.kind {
            OpKind::Constant => {
                let ty = self.rewriter.source.type_of(op.result()).clone();
                let value = self.out().constant_like(op, &ty)?;
                self.rewriter.bind(op.result(), value);
                Ok(())
            }
            OpKind::ThreadId | OpKind::BlockId => self.id(op),
            OpKind::CmpI => self.compare(op),
            OpKind::AndI if *self.rewriter.source.type_of(op.result()) == Type::I1 => {
                let operands = self.rewriter.slots(&op.operands)?;
                let both = self.out().both(operands[0], operands[1]);
                self.rewriter.bind(op.result(), both);
                Ok(())
            }
            OpKind::Select if self.is_decided(op.operands[0])? => {
                let operands = self.rewriter.slots(&op.operands)?;
                let chosen = if self.out().as_bool(operands[0]) == Some(true) { operands[1] } else { operands[2] };
                self.rewriter.bind(op.result(), chosen);
                Ok(())
            }
            OpKind::Loop => self.indexed_loop(op),
            OpKind::For => self.for_loop(op),
            OpKind::If => self.if_else(op),
            OpKind::IndexSwitch => self.index_switch(op),
            OpKind::While => self.while_loop(op, |_| ()),
            OpKind::AtomicRmw => self.atomic_region(op),
            _ => {
                self.copied(op)?;
                self.follow(op)
            }
        }
    }
}

impl<'s, 'k> Loops<'s, 'k> {
    /// Returns the expression of an index of the new function.
    fn index_of(&mut self, value: Value) -> Ix {
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let ix = match self.out().as_int(value) {
            Some(constant) => self.tracker.algebra.constant(constant),
            None => {
                let depth = self.out().depth();
                self.tracker.leaf(value, Interval::ALL, depth)
            }
        };
        self.known.insert(value, ix);
        ix
    }

    /// Records a value of the new function as a leaf of expressions, with this range.
    fn leaf(&mut self, value: Value, range: Interval) -> Ix {
        let depth = self.out().depth();
        let ix = self.tracker.leaf(value, range, depth);
        self.known.insert(value, ix);
        ix
    }

    fn id(&mut self, op: &'s Operation) -> Done {
        let Some(count) = self.facts.id_count(op) else {
            let zero = self.out().index(0);
            self.rewriter.bind(op.result(), zero);
            return Ok(());
        };
        self.copied(op)?;
        let value = self.rewriter.slot(op.result())?;
        self.leaf(value, Interval::from_size(count));
        Ok(())
    }

    fn compare(&mut self, op: &'s Operation) -> Done {
        let decided = match self.splitting.decided(op) {
            None if *self.rewriter.source.type_of(op.operands[0]) == Type::INDEX => {
                let operands = self.rewriter.slots(&op.operands)?;
                let (a, b) = (self.index_of(operands[0]), self.index_of(operands[1]));
                op.integer("predicate").and_then(|predicate| self.tracker.decided(predicate, a, b))
            }
            decided => decided,
        };
        match decided {
            Some(outcome) => {
                let outcome = self.out().bool(outcome);
                self.rewriter.bind(op.result(), outcome);
                Ok(())
            }
            None => self.copied(op),
        }
    }

    /// Whether the outcome of a condition in the source function is known.
    fn is_decided(&mut self, condition: Value) -> Done<bool> {
        let condition = self.rewriter.slot(condition)?;
        Ok(self.out().as_bool(condition).is_some())
    }

    /// Copies an atomic update. The argument and the result of the update's region are the bits of
    /// the element.
    fn atomic_region(&mut self, op: &'s Operation) -> Done {
        let operands = self.rewriter.slots(&op.operands)?;
        super::copy_atomic(self, op, operands, op.attributes.clone())
    }

    /// Records the expressions or the ranges of the indices that a copied operation returns.
    fn follow(&mut self, op: &'s Operation) -> Done {
        let is_index = |value: Value| *self.rewriter.source.type_of(value) == Type::INDEX;
        if !op.results.iter().copied().any(is_index) {
            return Ok(());
        }
        let results = self.rewriter.slots(&op.results)?;
        let operands = self.rewriter.slots(&op.operands)?;
        match op.kind {
            OpKind::ApplyIndexing => {
                let operands: Vec<Ix> = operands.into_iter().map(|operand| self.index_of(operand)).collect();
                let values = self.tracker.apply(&*map_of(op)?, &operands)?;
                self.known.extend(results.into_iter().zip(values));
            }
            kind if kind.form() == Form::IndexCast => {
                if let Type::Scalar(Scalar::Int(bits)) = *self.rewriter.source.type_of(op.operands[0]) {
                    let signed = kind == OpKind::IndexCast;
                    let range = self.definitions.range_of_index(op.operands[0], bits, signed);
                    self.leaf(results[0], range);
                }
            }
            OpKind::Select => {
                let (a, b) = (self.index_of(operands[1]), self.index_of(operands[2]));
                let range = self.tracker.algebra.range(a).hull(self.tracker.algebra.range(b));
                self.leaf(results[0], range);
            }
            _ if operands.len() == 2 && op.operands.iter().copied().all(is_index) => {
                let (a, b) = (self.index_of(operands[0]), self.index_of(operands[1]));
                if let Some(ix) = self.tracker.arithmetic(op.kind, a, b) {
                    self.known.insert(results[0], ix);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn for_loop(&mut self, op: &'s Operation) -> Done {
        let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
        if *self.rewriter.source.type_of(op.operands[0]) != Type::INDEX {
            return self.same_loop(op, 3, 1);
        }
        let bounds = self.rewriter.slots(&op.operands[..3])?;
        let inits = self.rewriter.slots(&op.operands[3..])?;
        let types = self.rewriter.source_types(&op.results);
        let [lower, upper] = [0, 1].map(|at| self.index_of(bounds[at]));
        let step =
            self.out().as_int(bounds[2]).filter(|&step| step > 0).required("its step is not a positive constant")?;
        let write = |this: &mut Self, variable, state: Vec<Value>| this.region(body, [vec![variable], state].concat());
        let results = if step == 1 {
            let arguments = |_: &mut Self, ix| Ok(vec![ix]);
            let splittable = Splittable { body, types: &types, arguments: &arguments, write: &write };
            self.counted_in_parts(lower, upper, inits, &splittable)?
        } else {
            self.counted(lower, upper, step, inits, &types, &write)?
        };
        self.rewriter.bind_all(&op.results, results);
        Ok(())
    }

    /// Writes `for variable in (lower..upper).step_by(step)`. `body` writes one iteration, which
    /// maps the variable and the loop's state to the next state.
    fn counted(
        &mut self,
        lower: Ix,
        upper: Ix,
        step: i64,
        inits: Vec<Value>,
        types: &[Type],
        body: &Turn<'_, 's, 'k>,
    ) -> Done<Vec<Value>> {
        let (low, high) = (self.tracker.algebra.range(lower), self.tracker.algebra.range(upper));
        if high.upper <= low.lower {
            return Ok(inits);
        }
        let distance = self.tracker.algebra.sub(upper, lower);
        let turns = self.tracker.algebra.as_constant(distance);
        if turns.is_some_and(|distance| (1..=step).contains(&distance)) {
            let variable = self.materialised(lower);
            return body(self, variable, inits);
        }
        let range = Interval::new(low.lower, high.upper.saturating_sub(1));
        let operands = [self.materialised(lower), self.materialised(upper), self.out().index(step)];
        let (operands, own) = (operands.to_vec(), vec![Type::INDEX]);
        let head = LoopHead { kind: OpKind::For, operands, attributes: Vec::new(), own };
        self.turns(head, inits, types, |this, own, state| {
            this.leaf(own[0], range);
            body(this, own[0], state)
        })
    }

    /// Returns the value of an expression. If no value for the expression exists yet, the function
    /// writes a map that computes the value. The operands of the new map are the leaves of the
    /// expression.
    fn materialised(&mut self, ix: Ix) -> Value {
        if let Some(constant) = self.tracker.algebra.as_constant(ix) {
            return self.out().index(constant);
        }
        if let Some(value) = self.tracker.leaf_value(ix) {
            return value;
        }
        if let Some(&(value, scope)) = self.written.get(&ix)
            && self.out().is_visible(scope)
        {
            return value;
        }
        let mut map = IndexingMap::default();
        let mut operands = Vec::new();
        let expr = self.expression(ix, &mut map, &mut operands, &mut MOST_NODES.clone());
        map.results.push(expr);
        let attributes = vec![("map".into(), Attribute::Map(map.into()))];
        let value = self.out().op(OpKind::ApplyIndexing, &operands, attributes, Type::INDEX);
        self.known.insert(value, ix);
        let scope = self.out().scope();
        self.written.insert(ix, (value, scope));
        value
    }

    /// Converts an index to an expression over the dimensions of `map`. `operands` has the values
    /// of the map's dimensions. If the expression needs more values, adds dimensions to `map` and
    /// values to `operands`. If the expression has more than `room` operations, the remaining
    /// subexpressions become separate maps.
    fn expression(&mut self, ix: Ix, map: &mut IndexingMap, operands: &mut Vec<Value>, room: &mut usize) -> Expr {
        if let Some(constant) = self.tracker.algebra.as_constant(ix) {
            return Expr::constant(constant);
        }
        let kind = self.tracker.algebra.kind(ix);
        let is_leaf = self.tracker.leaf_value(ix).is_some();
        if is_leaf || *room == 0 {
            let value = self.materialised(ix);
            let known = operands.iter().position(|&operand| operand == value);
            let number = known.unwrap_or_else(|| {
                operands.push(value);
                map.dims.push(Variable::from(self.tracker.algebra.range(ix)));
                operands.len() - 1
            });
            return Expr::dim(number as u32);
        }
        *room -= 1;
        let mut of = |ix: Ix| self.expression(ix, map, operands, room);
        let both = |make: fn(Expr, Expr) -> ExprKind, a: Expr, b: Expr| Expr::new(make(a, b));
        match &*kind {
            // `leaf_value` handles leaves above.
            Kind::Leaf(_) => Expr::constant(0),
            Kind::Sum(sum) => {
                let terms = sum.terms.iter().map(|&(term, factor)| {
                    let term = of(term);
                    if factor == 1 { term } else { both(ExprKind::Mul, term, Expr::constant(factor)) }
                });
                let terms: Vec<Expr> = terms.collect();
                let constant = (sum.constant != 0).then(|| Expr::constant(sum.constant));
                let all = terms.into_iter().chain(constant);
                all.reduce(|a, b| both(ExprKind::Add, a, b)).unwrap_or_else(|| Expr::constant(0))
            }
            Kind::FloorDiv(inner, divisor) => both(ExprKind::FloorDiv, of(*inner), Expr::constant(*divisor)),
            Kind::Mod(inner, divisor) => both(ExprKind::Mod, of(*inner), Expr::constant(*divisor)),
            Kind::Min(a, b) => both(ExprKind::Min, of(*a), of(*b)),
            Kind::Max(a, b) => both(ExprKind::Max, of(*a), of(*b)),
            Kind::Product(a, b) => both(ExprKind::Mul, of(*a), of(*b)),
            Kind::Whole(inner) => of(*inner),
        }
    }

    /// Writes the condition that an index is in these bounds.
    fn in_interval(&mut self, ix: Ix, wanted: Interval) -> Value {
        if let Some(only) = wanted.as_point() {
            return self.compared(IntPredicate::Eq, ix, only);
        }
        let above = self.compared(IntPredicate::Sge, ix, wanted.lower);
        let below = self.compared(IntPredicate::Sle, ix, wanted.upper);
        self.out().both(above, below)
    }

    fn compared(&mut self, predicate: IntPredicate, ix: Ix, bound: i64) -> Value {
        let constant = self.tracker.algebra.constant(bound);
        match self.tracker.decided(predicate as i64, ix, constant) {
            Some(outcome) => self.out().bool(outcome),
            None => {
                let (value, bound) = (self.materialised(ix), self.out().index(bound));
                self.out().compare(predicate, value, bound)
            }
        }
    }
}
