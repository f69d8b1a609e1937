//! `scf` operations: loops and branches as closures.
//!
//! A closure gets the builder and the region's arguments and returns what the region yields.

use super::{FunctionBuilder, Type, Value};

impl FunctionBuilder {
    /// `scf.for`: `body(induction variable, state)` gives the next state; results are the last.
    pub fn scf_for(
        &mut self,
        lower: Value,
        upper: Value,
        step: Value,
        state: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        const NAME: &str = "scf.for";
        let types = self.types_of(state);
        if [lower, upper, step].iter().any(|&v| *self.type_of(v) != Type::INDEX) {
            self.refuse(NAME, "bounds and step must be index");
        }
        let arguments = [&[Type::INDEX], types.as_slice()].concat();
        let region = self.region(&arguments, |b, arguments| {
            let next = body(b, arguments[0], &arguments[1..]);
            b.terminate(NAME, "scf.yield", &next, &types);
        });
        self.op(NAME, &[&[lower, upper, step], state].concat(), Vec::new(), &types, vec![region])
    }

    /// `scf.if`: both branches give values of these types.
    pub fn scf_if(
        &mut self,
        condition: Value,
        results: &[Type],
        on_true: impl FnOnce(&mut Self) -> Vec<Value>,
        on_false: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        const NAME: &str = "scf.if";
        if *self.type_of(condition) != Type::I1 && !Self::any_poison(&[condition]) {
            let found = self.type_of(condition).to_string();
            self.refuse(NAME, format!("the condition is {found}, it must be i1"));
        }
        let on_true = self.region(&[], |b, _| {
            let values = on_true(b);
            b.terminate(NAME, "scf.yield", &values, results);
        });
        let on_false = self.region(&[], |b, _| {
            let values = on_false(b);
            b.terminate(NAME, "scf.yield", &values, results);
        });
        self.op(NAME, &[condition], Vec::new(), results, vec![on_true, on_false])
    }

    /// `scf.while`: `before(state)` gives the condition and what is passed on, to `after` if the
    /// condition holds, as the results if not; `after` gives the next state.
    pub fn scf_while(
        &mut self,
        state: &[Value],
        before: impl FnOnce(&mut Self, &[Value]) -> (Value, Vec<Value>),
        after: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        const NAME: &str = "scf.while";
        let types = self.types_of(state);
        let mut passed_types = Vec::new();
        let before = self.region(&types, |b, arguments| {
            let (condition, passed) = before(b, arguments);
            if *b.type_of(condition) != Type::I1 && !Self::any_poison(&[condition]) {
                b.refuse(NAME, "the condition must be i1");
            }
            passed_types = b.types_of(&passed);
            b.op("scf.condition", &[&[condition], passed.as_slice()].concat(), Vec::new(), &[], Vec::new());
        });
        let after = self.region(&passed_types, |b, arguments| {
            let next = after(b, arguments);
            b.terminate(NAME, "scf.yield", &next, &types);
        });
        self.op(NAME, state, Vec::new(), &passed_types, vec![before, after])
    }

    /// Types of several values.
    pub fn types_of(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.type_of(v).clone()).collect()
    }

    /// Ends a region with values that must have these types.
    pub(super) fn terminate(&mut self, operation: &str, terminator: &str, values: &[Value], types: &[Type]) {
        let found = self.types_of(values);
        if found != types && !Self::any_poison(values) {
            let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("a region yields ({}), it must yield ({})", list(&found), list(types));
            self.refuse(operation, message);
        }
        self.op(terminator, values, Vec::new(), &[], Vec::new());
    }
}
