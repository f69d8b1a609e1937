//! Verifies the rules that lowering relies on.
//!
//! ```text
//! verify ──> each function: values are visible where they are used, regions end with their terminators
//!              └── rules: operands, results, attributes and regions of each operation
//!        ──> calls: callees match, functions do not recurse, unrolled code has bounded size
//! ```

mod calls;
mod rules;

pub use calls::callees_first;
pub(crate) use rules::check as check_operation;

use std::collections::HashMap;

use super::{Effect, Function, OpKind, Operation, Place, Region, Type, Value};
use crate::limits;

/// A violation of a rule of the kernel IR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.place))]
pub struct VerifyError {
    /// Name of the function.
    pub function: String,
    /// The operation at fault, or `None` if the fault concerns the whole function.
    pub operation: Option<OpKind>,
    /// Origin of the operation.
    pub place: Place,
    /// The fault, with the names of function and operation.
    pub message: String,
}

fn prefix(place: &Place) -> String {
    if *place == Place::default() { String::new() } else { format!("{place}: ") }
}

impl VerifyError {
    /// Creates an error about a function. In the error's message, `words` follow the name of the
    /// function.
    fn of_function(function: &Function, words: impl std::fmt::Display) -> VerifyError {
        VerifyError {
            function: function.name.clone(),
            operation: None,
            place: Place::default(),
            message: format!("the function @{} {words}", function.name),
        }
    }

    /// Creates an error about an operation. In the error's message, `words` follow the name of the
    /// operation.
    fn of_operation(function: &Function, operation: &Operation, words: impl std::fmt::Display) -> VerifyError {
        VerifyError {
            function: function.name.clone(),
            operation: Some(operation.kind),
            place: operation.place.clone(),
            message: format!("in function @{}: '{}' {words}", function.name, operation.kind),
        }
    }
}

/// Checks the functions of a kernel.
///
/// # Errors
/// Returns the first fault.
pub fn verify(functions: &[Function]) -> Result<(), VerifyError> {
    let mut by_name = HashMap::new();
    for (at, function) in functions.iter().enumerate() {
        if by_name.insert(function.name.as_str(), at).is_some() {
            return Err(VerifyError::of_function(function, "is not the only one of that name"));
        }
    }
    functions.iter().try_for_each(|function| Verifier::new(function).function())?;
    calls::check(functions, &by_name)
}

/// The result of checking a rule for an operation. The error consists of words that follow the
/// operation's name in a sentence.
type Verdict = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(message()) }
}

struct Verifier<'f> {
    function: &'f Function,
    /// State of each value.
    states: Vec<State>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Undefined,
    Visible,
    OutOfScope,
}

impl<'f> Verifier<'f> {
    fn new(function: &'f Function) -> Self {
        Verifier { function, states: vec![State::Undefined; function.types.len()] }
    }

    fn function(&mut self) -> Result<(), VerifyError> {
        let function = self.function;
        let fault = |message: String| VerifyError::of_function(function, message);
        let (attributes, arguments) = (function.argument_attributes.len(), function.body.arguments.len());
        if attributes != 0 && attributes != arguments {
            return Err(fault(format!("has attributes of {attributes} arguments, and {arguments} arguments")));
        }
        self.define(&function.body.arguments).map_err(fault)?;
        self.operations(&function.body, None, 0, 1)?;
        let Some(last) = function.body.operations.last() else {
            return Err(fault("does not return".into()));
        };
        if function.types_of(&last.operands) != function.results {
            let returned = list(last.operands.iter().map(|&value| function.type_of(value)));
            let declared = list(&function.results);
            return Err(fault(format!("returns ({returned}), where its type says ({declared})")));
        }
        Ok(())
    }

    /// Checks a region and its terminator. The required terminator depends on the operation that
    /// owns the region, and on the number of the region.
    fn operations(
        &mut self,
        region: &'f Region,
        parent: Option<&'f Operation>,
        number: usize,
        depth: usize,
    ) -> Result<(), VerifyError> {
        let function = self.function;
        let fault = |message: String| match parent {
            Some(parent) => VerifyError::of_operation(function, parent, message),
            None => VerifyError::of_function(function, message),
        };
        if depth > limits::MOST_NESTED_REGIONS {
            let most = limits::MOST_NESTED_REGIONS;
            return Err(fault(format!("is nested in {depth} regions; kernels have at most {most} nested regions")));
        }
        let wanted = terminator(parent, number);
        for (at, operation) in region.operations.iter().enumerate() {
            self.operation(operation, depth)?;
            let is_last = at + 1 == region.operations.len();
            if operation.kind.effect() == Effect::Ends && Some(operation.kind) != wanted {
                let message = format!("{}, not here", ends(operation.kind));
                return Err(VerifyError::of_operation(function, operation, message));
            }
            if operation.kind.effect() == Effect::Ends && !is_last {
                return Err(VerifyError::of_operation(function, operation, "is not the last operation of its region"));
            }
        }
        let last = region.operations.last().map(|operation| operation.kind);
        match (last, wanted) {
            (last, wanted) if last == wanted => Ok(()),
            (None, _) if is_absent_else(parent, number, region) => Ok(()),
            (_, Some(wanted)) => Err(fault(format!("has a region that does not end with `{wanted}`"))),
            (_, None) => Err(fault("has regions".into())),
        }
    }

    fn operation(&mut self, operation: &'f Operation, depth: usize) -> Result<(), VerifyError> {
        let function = self.function;
        let fault = |message: String| VerifyError::of_operation(function, operation, message);
        for (at, operand) in operation.operands.iter().enumerate() {
            if self.states.get(operand.number()) != Some(&State::Visible) {
                return Err(fault(format!("takes as operand {at} a value that is not defined there")));
            }
        }
        for (number, region) in operation.regions.iter().enumerate() {
            self.define(&region.arguments).map_err(fault)?;
            self.operations(region, Some(operation), number, depth + 1)?;
            let inside = region.operations.iter().flat_map(|operation| &operation.results);
            inside.chain(&region.arguments).for_each(|value| self.states[value.number()] = State::OutOfScope);
        }
        self.define(&operation.results).map_err(fault)?;
        rules::check(&function.types, operation).map_err(fault)
    }

    fn define(&mut self, values: &[Value]) -> Verdict {
        for value in values {
            match self.states.get_mut(value.number()) {
                Some(state @ State::Undefined) => *state = State::Visible,
                _ => return Err("defines a value that is defined before, or has no type".into()),
            }
            self.function.type_of(*value).check().map_err(|reason| format!("has a value {reason}"))?;
        }
        Ok(())
    }
}

/// Returns the terminator that region number `region` of the operation `parent` requires. If
/// `parent` is `None`, the region is the body of a function.
fn terminator(parent: Option<&Operation>, region: usize) -> Option<OpKind> {
    match parent.map(|parent| parent.kind) {
        None => Some(OpKind::Return),
        Some(OpKind::While) if region == 0 => Some(OpKind::Condition),
        Some(OpKind::For | OpKind::If | OpKind::While | OpKind::IndexSwitch) => Some(OpKind::Yield),
        Some(OpKind::Loop | OpKind::AtomicRmw) => Some(OpKind::LoopYield),
        Some(_) => None,
    }
}

/// Whether the region is the empty else branch of an `scf.if` without results.
fn is_absent_else(parent: Option<&Operation>, number: usize, region: &Region) -> bool {
    let is_else = parent.is_some_and(|parent| parent.kind == OpKind::If && parent.results.is_empty() && number == 1);
    is_else && region.arguments.is_empty()
}

fn ends(terminator: OpKind) -> &'static str {
    match terminator {
        OpKind::Return => "ends a function",
        OpKind::Condition => "ends the first region of `scf.while`",
        OpKind::LoopYield => "ends the body of a loop or atomic_rmw",
        _ => "ends a region of `scf.for`, `scf.if`, `scf.index_switch` or the second of `scf.while`",
    }
}

/// Lists types separated by commas.
fn list<'t>(types: impl IntoIterator<Item = &'t Type>) -> String {
    types.into_iter().map(Type::to_string).collect::<Vec<_>>().join(", ")
}
