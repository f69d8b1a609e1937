//! Loops and branches in computations on scalars.

use std::ops::Range;

use fusebox_core::builder::{FunctionBuilder, IntPredicate, OpKind, Region, Scalar, Type, Value};

use crate::error::Result;

/// A function that writes a computation on values.
type WriteScalars<'w> = &'w dyn Fn(&mut FunctionBuilder, &[Value]) -> Result<Vec<Value>>;

/// Writes a `while` whose initial state consists of these values.
pub fn repeat(
    b: &mut FunctionBuilder,
    state: &[Value],
    condition: WriteScalars,
    body: WriteScalars,
) -> Result<Vec<Value>> {
    let types = b.types_of(state);
    let before = region(b, &types, OpKind::Condition, |b, state| {
        let mut passed = condition(b, state)?;
        passed.extend(state);
        Ok(passed)
    })?;
    let after = region(b, &types, OpKind::Yield, body)?;
    Ok(b.op(OpKind::While, state, Vec::new(), &types, vec![before, after]))
}

/// Writes a `conditional` with results of these types. `branch` writes the branch that has a given
/// number. The predicate `true` selects the first of two branches. An integer selects the branch
/// that has the integer as its number. If no branch has this number, the integer selects the last
/// branch.
pub fn choose(
    b: &mut FunctionBuilder,
    selector: Value,
    types: &[Type],
    branches: Range<usize>,
    branch: &dyn Fn(&mut FunctionBuilder, usize) -> Result<Vec<Value>>,
) -> Result<Vec<Value>> {
    let first = branches.start;
    if branches.len() == 1 {
        return branch(b, first);
    }
    let is_first = match b.type_of(selector).element() {
        Scalar::I1 => selector,
        ty => {
            let number = b.int(first as i64, ty);
            b.cmpi(IntPredicate::Eq, selector, number)
        }
    };
    let on_true = region(b, &[], OpKind::Yield, |b, _| branch(b, first))?;
    let on_false = region(b, &[], OpKind::Yield, |b, _| choose(b, selector, types, first + 1..branches.end, branch))?;
    Ok(b.op(OpKind::If, &[is_first], Vec::new(), types, vec![on_true, on_false]))
}

fn region(
    b: &mut FunctionBuilder,
    arguments: &[Type],
    terminator: OpKind,
    write: impl FnOnce(&mut FunctionBuilder, &[Value]) -> Result<Vec<Value>>,
) -> Result<Region> {
    let mut outcome = Ok(());
    let region = b.region(arguments, |b, arguments| match write(b, arguments) {
        Ok(values) => {
            b.op(terminator, &values, Vec::new(), &[], Vec::new());
        }
        Err(error) => outcome = Err(error),
    });
    outcome.map(|()| region)
}
