//! `scf` operations: loops and branches. Closures record the bodies of loops and branches.
//!
//! Each closure receives the builder and the region's arguments, and returns the values that the
//! region yields.

use std::panic::Location;

use super::{FunctionBuilder, OpKind, Region, Type, Value};
use crate::Operation;

impl FunctionBuilder {
    /// `scf.for`: a counted loop. `state` lists the initial loop-carried values. `body(induction
    /// variable, state)` returns the values for the next iteration. The results are the
    /// loop-carried values after the last iteration.
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

    /// `scf.if`: a branch. The closures `on_true` and `on_false` return values of the types
    /// `results`.
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

    /// `scf.while`: `before(state)` returns the condition and the values to pass on. If the
    /// condition holds, `after` receives the passed values and returns the next state. If the
    /// condition does not hold, the values that `before` passes on are the results of the loop.
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

    /// Returns the types of several values.
    pub fn types_of(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.type_of(v).clone()).collect()
    }

    /// Records a region. The values that `body` returns are the operands of the region's
    /// terminator. `line` is the line of Rust code that requested the region. The builder checks
    /// the types of the values when it records the operation that owns the region.
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
