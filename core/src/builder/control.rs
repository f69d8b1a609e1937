//! `scf` operations: loops and branches as closures.
//!
//! A closure gets the builder and the region's arguments and returns what the region yields.

use std::panic::Location;

use super::{FunctionBuilder, OpKind, Region, Type, Value};
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
        let region = self.ended(&arguments, OpKind::Yield, line, |b, all| body(b, all[0], &all[1..]));
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
        let on_true = self.ended(&[], OpKind::Yield, line, |b, _| on_true(b));
        let on_false = self.ended(&[], OpKind::Yield, line, |b, _| on_false(b));
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
        let before = self.ended(&types, OpKind::Condition, line, |b, arguments| {
            let (condition, passed) = before(b, arguments);
            passed_types = b.types_of(&passed);
            [&[condition], passed.as_slice()].concat()
        });
        let after = self.ended(&passed_types, OpKind::Yield, line, after);
        self.op(OpKind::While, state, Vec::new(), &passed_types, vec![before, after])
    }

    /// Types of several values.
    pub fn types_of(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.type_of(v).clone()).collect()
    }

    /// A region that the code at this line asked for, which hands on what `body` gives. Whether that is what it should
    /// is found when the operation is recorded that it is of.
    pub(super) fn ended(
        &mut self,
        arguments: &[Type],
        terminator: OpKind,
        line: &'static Location<'static>,
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Region {
        self.region(arguments, |b, arguments| {
            let values = body(b, arguments);
            if !Self::any_poison(&values) && b.check_scope(terminator, &values, line) {
                b.record(Operation::new(terminator, values, Vec::new()));
            }
        })
    }
}
