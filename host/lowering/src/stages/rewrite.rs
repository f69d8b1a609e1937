//! Common parts of the stages. Each stage reads one function and writes another, operation by
//! operation.
//!
//! A stage represents a value of the source function by a *slot*, which holds any number of values
//! of the new function. A stage defines how a single operation is rewritten, and with which types
//! values cross the borders of regions. This module rewrites control flow for all stages.

use fusebox_core::ir::{Function, OpKind, Operation, Region, Type, Value};

use super::StageError;
use super::writer::Writer;
use crate::error::{Done, Required, Unsupported};

/// The source function, the new function, and the slots that connect them.
pub(crate) struct Rewriter<'s, S> {
    pub(crate) source: &'s Function,
    pub(crate) out: Writer,
    slots: Vec<Option<S>>,
    /// The operation being rewritten.
    pub(crate) current: Option<&'s Operation>,
}

/// The parts of a new loop except its loop-carried values and its body.
pub(crate) struct LoopHead {
    pub(crate) kind: OpKind,
    /// Operands before the loop-carried values.
    pub(crate) operands: Vec<Value>,
    pub(crate) attributes: super::writer::Attributes,
    /// Types of the body's arguments before the loop-carried values.
    pub(crate) own: Vec<Type>,
}

/// A rewritten branch. `slots` and `values` are two representations of the branch's results.
pub(crate) struct Branch<S> {
    slots: Vec<S>,
    values: Vec<Value>,
    region: Region,
}

impl<'s, S: Clone> Rewriter<'s, S> {
    pub(crate) fn new(source: &'s Function) -> Self {
        Rewriter { source, out: Writer::like(source), slots: vec![None; source.types.len()], current: None }
    }

    pub(crate) fn bind(&mut self, value: Value, slot: S) {
        self.slots[value.number()] = Some(slot);
    }

    pub(crate) fn bind_all(&mut self, values: &[Value], slots: Vec<S>) {
        values.iter().zip(slots).for_each(|(&value, slot)| self.bind(value, slot));
    }

    /// Returns the slot of a value of the source function.
    pub(crate) fn slot(&self, value: Value) -> Done<S> {
        let known = self.slots[value.number()].clone();
        known.ok_or_else(|| Unsupported("it uses a value that is not available here".into()))
    }

    pub(crate) fn try_slot(&self, value: Value) -> Option<&S> {
        self.slots[value.number()].as_ref()
    }

    pub(crate) fn slots(&self, values: &[Value]) -> Done<Vec<S>> {
        values.iter().map(|&value| self.slot(value)).collect()
    }

    pub(crate) fn source_types(&self, values: &[Value]) -> Vec<Type> {
        self.source.types_of(values)
    }
}

/// A stage of lowering: a pass that rewrites the functions of a kernel.
pub(crate) trait Stage<'s>: Sized {
    /// Representation of a value of the source function.
    type Slot: Clone;

    fn rewriter(&mut self) -> &mut Rewriter<'s, Self::Slot>;

    /// If a source value of type `ty` crosses the border of a region or function, new values
    /// represent it there. Returns the types of these new values.
    fn passed(&self, ty: &Type) -> Done<Vec<Type>>;

    /// If the value of a slot crosses the border of a region or function, new values represent the
    /// slot there. Returns these new values.
    fn values(&mut self, slot: &Self::Slot) -> Done<Vec<Value>>;

    /// Returns the slot for a value of type `ty` that is represented by `values`. `like` has the
    /// slots from which the value may come: one slot for each predecessor.
    fn slot_of(&mut self, ty: &Type, values: &[Value], like: &[Self::Slot]) -> Done<Self::Slot>;

    /// Whether values of this type never change in a loop, so that loops do not carry them.
    fn stays(&self, _: &Type) -> bool {
        false
    }

    /// Rewrites one operation. Implementations call the other methods of the trait to rewrite
    /// control flow.
    fn operation(&mut self, op: &'s Operation) -> Done;

    fn out<'a>(&'a mut self) -> &'a mut Writer
    where
        's: 'a,
    {
        &mut self.rewriter().out
    }

    fn passed_all(&self, types: &[Type]) -> Done<Vec<Type>> {
        let mut passed = Vec::with_capacity(types.len());
        for ty in types {
            passed.extend(self.passed(ty)?);
        }
        Ok(passed)
    }

    fn values_all(&mut self, slots: &[Self::Slot]) -> Done<Vec<Value>> {
        let mut values = Vec::with_capacity(slots.len());
        for slot in slots {
            values.extend(self.values(slot)?);
        }
        Ok(values)
    }

    /// Rewrites the operations of a region up to its terminator. Returns the slots of the
    /// terminator's operands.
    fn region(&mut self, region: &'s Region, arguments: Vec<Self::Slot>) -> Done<Vec<Self::Slot>> {
        self.rewriter().bind_all(&region.arguments, arguments);
        let Some((end, operations)) = region.operations.split_last() else { return Ok(Vec::new()) };
        for op in operations {
            self.single(op)?;
        }
        self.rewriter().current = Some(end);
        self.rewriter().slots(&end.operands)
    }

    fn single(&mut self, op: &'s Operation) -> Done {
        let rewriter = self.rewriter();
        rewriter.current = Some(op);
        rewriter.out.place = op.place.clone();
        rewriter.out.check_size()?;
        self.operation(op)
    }

    /// Writes an `scf.if` with two branches and returns its results. If the condition is known,
    /// writes only the branch that is taken.
    fn choose(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Done<Vec<Self::Slot>>,
        otherwise: impl FnOnce(&mut Self) -> Done<Vec<Self::Slot>>,
        types: &[Type],
    ) -> Done<Vec<Self::Slot>> {
        match self.out().as_bool(condition) {
            Some(true) => return then(self),
            Some(false) => return otherwise(self),
            None => {}
        }
        let place = self.out().place.clone();
        let before = self.out().next_value();
        let branches = vec![self.branch(then)?, self.branch(otherwise)?];
        self.out().place = place;
        self.joined(OpKind::If, vec![condition], Vec::new(), branches, types, before)
    }

    fn branch(&mut self, inside: impl FnOnce(&mut Self) -> Done<Vec<Self::Slot>>) -> Done<Branch<Self::Slot>> {
        self.out().open(&[]);
        let slots = inside(self)?;
        let values = self.values_all(&slots)?;
        let region = self.out().close();
        Ok(Branch { slots, values, region })
    }

    /// Appends an operation with several branches. If all branches yield the same value and this
    /// value was defined before the operation, the value replaces the operation's result.
    fn joined(
        &mut self,
        kind: OpKind,
        operands: Vec<Value>,
        attributes: super::writer::Attributes,
        branches: Vec<Branch<Self::Slot>>,
        types: &[Type],
        before: usize,
    ) -> Done<Vec<Self::Slot>> {
        if branches.iter().any(|branch| branch.slots.len() != types.len()) {
            return Unsupported::because("its branches yield other values than its results");
        }
        let count = branches[0].values.len();
        let same = |at: usize| {
            let first = branches[0].values[at];
            (first.number() < before && branches.iter().all(|branch| branch.values[at] == first)).then_some(first)
        };
        let kept: Vec<Option<Value>> = (0..count).map(same).collect();
        let result_values: Vec<Value> =
            (0..count).filter(|&at| kept[at].is_none()).map(|at| branches[0].values[at]).collect();
        let result_types = self.out().types_of(&result_values);
        for branch in &branches {
            let own: Vec<Value> = (0..count).filter(|&at| kept[at].is_none()).map(|at| branch.values[at]).collect();
            if self.out().types_of(&own) != result_types {
                return Unsupported::because("its branches give tensors of different memories");
            }
        }
        let mut slots_of: Vec<Vec<Self::Slot>> = vec![Vec::new(); types.len()];
        let mut regions = Vec::with_capacity(branches.len());
        for mut branch in branches {
            let yielded: Vec<Value> = (0..count).filter(|&at| kept[at].is_none()).map(|at| branch.values[at]).collect();
            slots_of.iter_mut().zip(branch.slots).for_each(|(all, slot)| all.push(slot));
            if !(branch.region.operations.is_empty() && yielded.is_empty()) || kind != OpKind::If || regions.is_empty()
            {
                branch.region.operations.push(Operation::new(OpKind::Yield, yielded, Vec::new()));
            }
            regions.push(branch.region);
        }
        let results = self.out().push(kind, operands, attributes, &result_types, regions);
        let mut results = results.into_iter();
        let merged: Vec<Value> = kept.into_iter().filter_map(|same| same.or_else(|| results.next())).collect();
        self.slots_of(types, &merged, &slots_of)
    }

    /// Returns the slots for values of these types. `values` has the values of the first slot, then
    /// the values of the second slot, and so on.
    fn slots_of(&mut self, types: &[Type], values: &[Value], likes: &[Vec<Self::Slot>]) -> Done<Vec<Self::Slot>> {
        let mut rest = values;
        let mut slots = Vec::with_capacity(types.len());
        for (ty, like) in types.iter().zip(likes) {
            let (mine, others) = rest.split_at(self.passed(ty)?.len());
            rest = others;
            slots.push(self.slot_of(ty, mine, like)?);
        }
        Ok(slots)
    }

    /// Returns the single value of an operand that is a condition or a selector.
    fn single_value(&mut self, operand: Value) -> Done<Value> {
        let slot = self.rewriter().slot(operand)?;
        let values = self.values(&slot)?;
        values.first().copied().required("an operand has no value")
    }

    /// Rewrites `scf.if`.
    fn if_else(&mut self, op: &'s Operation) -> Done {
        let condition = self.single_value(op.operands[0])?;
        let types = self.rewriter().source_types(&op.results);
        let region = |at: usize| op.regions.get(at).filter(|region| !region.operations.is_empty());
        let inside = |this: &mut Self, region: Option<&'s Region>| match region {
            Some(region) => this.region(region, Vec::new()),
            None => Ok(Vec::new()),
        };
        let slots = self.choose(condition, |this| inside(this, region(0)), |this| inside(this, region(1)), &types)?;
        self.rewriter().bind_all(&op.results, slots);
        Ok(())
    }

    /// Rewrites `scf.index_switch`.
    fn index_switch(&mut self, op: &'s Operation) -> Done {
        let selector = self.single_value(op.operands[0])?;
        self.index_switch_on(op, selector)
    }

    fn index_switch_on(&mut self, op: &'s Operation, selector: Value) -> Done {
        let types = self.rewriter().source_types(&op.results);
        let before = self.out().next_value();
        let mut branches = Vec::with_capacity(op.regions.len());
        for region in &op.regions {
            branches.push(self.branch(|this| this.region(region, Vec::new()))?);
        }
        self.out().place = op.place.clone();
        let slots = self.joined(op.kind, vec![selector], op.attributes.clone(), branches, &types, before)?;
        self.rewriter().bind_all(&op.results, slots);
        Ok(())
    }

    /// Writes a loop. `body` writes one iteration, which maps the loop variables and the loop's
    /// state to the next state. Returns the state after the last iteration.
    fn turns(
        &mut self,
        head: LoopHead,
        inits: Vec<Self::Slot>,
        types: &[Type],
        body: impl FnOnce(&mut Self, &[Value], Vec<Self::Slot>) -> Done<Vec<Self::Slot>>,
    ) -> Done<Vec<Self::Slot>> {
        let LoopHead { kind, mut operands, attributes, own } = head;
        let carried = self.carried(types)?;
        let (_, start) = self.carried_values(&inits, types)?;
        operands.extend(start);
        let place = self.out().place.clone();
        let arguments = self.out().open(&[own.as_slice(), &carried].concat());
        let (mine, state) = arguments.split_at(own.len());
        let state = self.state(&inits, types, state)?;
        let next = body(self, mine, state)?;
        let next = self.next_state(&inits, &next, types)?;
        let end = if kind == OpKind::Loop { OpKind::LoopYield } else { OpKind::Yield };
        let region = self.out().close_with(end, next);
        self.out().place = place;
        let results = self.out().push(kind, operands, attributes, &carried, vec![region]);
        self.state(&inits, types, &results)
    }

    /// Returns the types of the loop-carried values.
    fn carried(&self, types: &[Type]) -> Done<Vec<Type>> {
        let moving: Vec<Type> = types.iter().filter(|ty| !self.stays(ty)).cloned().collect();
        self.passed_all(&moving)
    }

    /// Returns the values that never change in the loop, and the loop-carried values.
    fn carried_values(&mut self, slots: &[Self::Slot], types: &[Type]) -> Done<(Vec<Value>, Vec<Value>)> {
        let (mut staying, mut carried) = (Vec::new(), Vec::new());
        for (slot, ty) in slots.iter().zip(types) {
            let values = self.values(slot)?;
            if self.stays(ty) { staying.extend(values) } else { carried.extend(values) }
        }
        Ok((staying, carried))
    }

    /// Returns the slots of a loop's state. Loop-carried values come from `values`, other values
    /// from `inits`.
    fn state(&mut self, inits: &[Self::Slot], types: &[Type], values: &[Value]) -> Done<Vec<Self::Slot>> {
        let mut rest = values;
        let mut slots = Vec::with_capacity(types.len());
        for (init, ty) in inits.iter().zip(types) {
            if self.stays(ty) {
                slots.push(init.clone());
                continue;
            }
            let (mine, others) = rest.split_at(self.passed(ty)?.len());
            rest = others;
            slots.push(self.slot_of(ty, mine, &[])?);
        }
        Ok(slots)
    }

    /// Returns the loop-carried values for the next iteration.
    fn next_state(&mut self, inits: &[Self::Slot], next: &[Self::Slot], types: &[Type]) -> Done<Vec<Value>> {
        if next.len() != inits.len() {
            return Unsupported::because("its body yields other values than its results");
        }
        let (before, _) = self.carried_values(inits, types)?;
        let (after, carried) = self.carried_values(next, types)?;
        if before != after {
            return Unsupported::because("a loop-carried tensor moves to other memory");
        }
        Ok(carried)
    }

    /// Copies a loop and rewrites its body. The first `operands` operands of the loop and the first
    /// `own` arguments of the body are not part of the state.
    fn same_loop(&mut self, op: &'s Operation, operands: usize, own: usize) -> Done {
        let [body] = op.regions.as_slice() else { return Unsupported::because("it has no body") };
        let outside = self.rewriter().slots(&op.operands[..operands])?;
        let outside = self.values_all(&outside)?;
        let inits = self.rewriter().slots(&op.operands[operands..])?;
        let types = self.rewriter().source_types(&op.results);
        let own_types = self.rewriter().source_types(&body.arguments[..own]);
        let own_passed = self.passed_all(&own_types)?;
        let head = LoopHead { kind: op.kind, operands: outside, attributes: op.attributes.clone(), own: own_passed };
        let results = self.turns(head, inits, &types, |this, mine, state| {
            let likes = vec![Vec::new(); own];
            let mut arguments = this.slots_of(&own_types, mine, &likes)?;
            arguments.extend(state);
            this.region(body, arguments)
        })?;
        self.rewriter().bind_all(&op.results, results);
        Ok(())
    }

    /// Rewrites `scf.while`. Calls `turn` at the beginning of the loop's body, before the
    /// operations of the body are written.
    fn while_loop(&mut self, op: &'s Operation, turn: impl FnOnce(&mut Self)) -> Done {
        let [condition, body] = op.regions.as_slice() else {
            return Unsupported::because("it has no condition or no body");
        };
        let inits = self.rewriter().slots(&op.operands)?;
        let types = self.rewriter().source_types(&op.operands);
        let handed_types = self.rewriter().source_types(&op.results);
        let carried = self.carried(&types)?;
        let (_, start) = self.carried_values(&inits, &types)?;

        let arguments = self.out().open(&carried);
        let state = self.state(&inits, &types, &arguments)?;
        let mut handed = self.region(condition, state)?;
        if handed.is_empty() {
            return Unsupported::because("its condition region passes on no values");
        }
        let goes_on = handed.remove(0);
        let goes_on = self.values(&goes_on)?;
        let (_, passed) = self.carried_values(&handed, &handed_types)?;
        let before = self.out().close_with(OpKind::Condition, [goes_on, passed].concat());

        let handed_on = self.carried(&handed_types)?;
        let arguments = self.out().open(&handed_on);
        let state = self.state(&handed, &handed_types, &arguments)?;
        turn(self);
        let next = self.region(body, state)?;
        let next = self.next_state(&inits, &next, &types)?;
        let after = self.out().close_with(OpKind::Yield, next);

        self.out().place = op.place.clone();
        let results = self.out().push(op.kind, start, op.attributes.clone(), &handed_on, vec![before, after]);
        let results = self.state(&handed, &handed_types, &results)?;
        self.rewriter().bind_all(&op.results, results);
        Ok(())
    }

    /// Copies an operation. [`Self::passed`] determines the types of the copy's operands and
    /// results.
    fn copied(&mut self, op: &'s Operation) -> Done {
        let operands = self.rewriter().slots(&op.operands)?;
        let operands = self.values_all(&operands)?;
        let types = self.rewriter().source_types(&op.results);
        let passed = self.passed_all(&types)?;
        let results = self.out().push(op.kind, operands, op.attributes.clone(), &passed, Vec::new());
        let likes = vec![Vec::new(); types.len()];
        let slots = self.slots_of(&types, &results, &likes)?;
        self.rewriter().bind_all(&op.results, slots);
        Ok(())
    }

    /// Writes the arguments and the body of the function. [`Self::passed`] determines the types of
    /// the arguments. Returns the new function.
    fn whole_function(&mut self) -> Done<Function> {
        let source = self.rewriter().source;
        let attributes = source.argument_attributes.iter().cloned().chain(std::iter::repeat(Vec::new()));
        let mut arguments = Vec::with_capacity(source.body.arguments.len());
        for (&argument, own) in source.body.arguments.iter().zip(attributes) {
            let ty = source.type_of(argument).clone();
            let mut values = Vec::new();
            for passed in self.passed(&ty)? {
                values.push(self.out().argument(passed, own.clone()));
            }
            arguments.push(self.slot_of(&ty, &values, &[])?);
        }
        let returned = self.region(&source.body, arguments)?;
        self.finished(&returned)
    }

    /// Writes the whole function. An error names the operation that failed.
    fn written(mut self) -> Result<Function, StageError>
    where
        Self: Sized,
    {
        self.whole_function().map_err(|reason| StageError::new(self.rewriter().current, reason))
    }

    /// Writes the return operation and returns the new function.
    fn finished(&mut self, returned: &[Self::Slot]) -> Done<Function> {
        let values = self.values_all(returned)?;
        let types = self.out().types_of(&values);
        self.out().act(OpKind::Return, &values, Vec::new());
        let writer = std::mem::replace(self.out(), Writer::empty());
        Ok(writer.finish(types))
    }
}
