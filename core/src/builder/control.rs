//! `scf` operations: loops and branches as closures.
//!
//! A closure gets the builder and the region's arguments and returns what the region yields.

use std::panic::Location;

use super::{FunctionBuilder, OpKind, Type, Value};
use crate::ir::Operation;

impl FunctionBuilder {
    /// `scf.for`: `body(induction variable, state)` gives the next state; results are the last.
    #[track_caller]
    pub fn scf_for(
        &mut self,
        lower: Value,
        upper: Value,
        step: Value,
        state: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let line = Location::caller();
        let types = self.types_of(state);
        let arguments = [&[self.type_of(lower).clone()], types.as_slice()].concat();
        let region = self.region(&arguments, |b, arguments| {
            let next = body(b, arguments[0], &arguments[1..]);
            b.end(OpKind::Yield, &next, line);
        });
        self.op(OpKind::For, &[&[lower, upper, step], state].concat(), Vec::new(), &types, vec![region])
    }

    /// `scf.if`: both branches give values of these types.
    #[track_caller]
    pub fn scf_if(
        &mut self,
        condition: Value,
        results: &[Type],
        on_true: impl FnOnce(&mut Self) -> Vec<Value>,
        on_false: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let line = Location::caller();
        let on_true = self.region(&[], |b, _| {
            let values = on_true(b);
            b.end(OpKind::Yield, &values, line);
        });
        let on_false = self.region(&[], |b, _| {
            let values = on_false(b);
            b.end(OpKind::Yield, &values, line);
        });
        self.op(OpKind::If, &[condition], Vec::new(), results, vec![on_true, on_false])
    }

    /// `scf.while`: `before(state)` gives the condition and what is passed on, to `after` if the
    /// condition holds, as the results if not; `after` gives the next state.
    #[track_caller]
    pub fn scf_while(
        &mut self,
        state: &[Value],
        before: impl FnOnce(&mut Self, &[Value]) -> (Value, Vec<Value>),
        after: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let line = Location::caller();
        let types = self.types_of(state);
        let mut passed_types = Vec::new();
        let before = self.region(&types, |b, arguments| {
            let (condition, passed) = before(b, arguments);
            passed_types = b.types_of(&passed);
            b.end(OpKind::Condition, &[&[condition], passed.as_slice()].concat(), line);
        });
        let after = self.region(&passed_types, |b, arguments| {
            let next = after(b, arguments);
            b.end(OpKind::Yield, &next, line);
        });
        self.op(OpKind::While, state, Vec::new(), &passed_types, vec![before, after])
    }

    /// Types of several values.
    pub fn types_of(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.type_of(v).clone()).collect()
    }

    /// Ends a region that the code at this line asked for. Whether it hands on what it should is found when the
    /// operation is recorded that it is of.
    pub(super) fn end(&mut self, terminator: OpKind, values: &[Value], line: &'static Location<'static>) {
        if !Self::any_poison(values) && self.check_scope(terminator, values, line) {
            self.record(Operation::new(terminator, values.to_vec(), Vec::new()));
        }
    }
}
