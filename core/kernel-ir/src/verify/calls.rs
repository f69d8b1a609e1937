//! Checks calls, and the code size after combiners are inlined and loops are unrolled.

use std::collections::{HashMap, HashSet};

use super::{Verdict, VerifyError, ensure};
use crate::limits;
use crate::{Attribute, Function, OpKind, Operation, Region};

/// Checks that calls match their callees, and that functions do not call each other in a cycle.
/// Also checks that functions do not grow too large when combiners are inlined and loops are
/// unrolled.
pub(super) fn check(functions: &[Function], by_name: &HashMap<&str, usize>) -> Result<(), VerifyError> {
    let mut callees = vec![Vec::new(); functions.len()];
    for (caller, function) in functions.iter().enumerate() {
        let mut fault = None;
        function.body.walk(&mut |operation| {
            let Some(callee) = called(operation) else { return };
            let verdict = match by_name.get(callee) {
                Some(&at) => {
                    callees[caller].push(at);
                    fits(function, operation, &functions[at])
                }
                None => Err(format!("calls @{callee}; there is no function @{callee}")),
            };
            if let (None, Err(message)) = (&fault, verdict) {
                fault = Some((operation, message));
            }
        });
        if let Some((operation, message)) = fault {
            return Err(VerifyError::of_operation(function, operation, message));
        }
    }
    functions.iter().try_for_each(|function| unrolls_little(function, &function.body, 1))?;
    sizes(functions, &callees, by_name)
}

/// Checks that unrolled loops do not copy a body too often. `copied` is the number of copies of
/// `region`.
fn unrolls_little(function: &Function, region: &Region, copied: u64) -> Result<(), VerifyError> {
    for operation in &region.operations {
        let copied = match operation.kind {
            OpKind::Loop => copied.saturating_mul(copies(operation)),
            _ => copied,
        };
        if copied > limits::MOST_COPIES {
            let most = limits::MOST_COPIES;
            let message =
                format!("is unrolled to {copied} copies, with the loops around it; loops have at most {most}");
            return Err(VerifyError::of_operation(function, operation, message));
        }
        operation.regions.iter().try_for_each(|region| unrolls_little(function, region, copied))?;
    }
    Ok(())
}

/// Returns the function that an operation calls.
fn called(operation: &Operation) -> Option<&str> {
    let calls = matches!(operation.kind, OpKind::Call | OpKind::PureCall | OpKind::ShuffleReduce);
    operation.callee().filter(|_| calls)
}

/// Checks that a call has the callee's operand and result types. The combiner of a shuffle takes
/// two values per operand.
fn fits(caller: &Function, operation: &Operation, callee: &Function) -> Verdict {
    let (mut taken, given) = (caller.types_of(&operation.operands), caller.types_of(&operation.results));
    if operation.kind == OpKind::ShuffleReduce {
        taken.extend_from_within(..);
    }
    let same = taken == callee.types_of(&callee.body.arguments) && given == callee.results;
    ensure(same, || format!("does not fit: operands or results differ from those of the function @{}", callee.name))
}

fn sizes(functions: &[Function], callees: &[Vec<usize>], by_name: &HashMap<&str, usize>) -> Result<(), VerifyError> {
    let order = callees_first(callees);
    let mut written = vec![0; functions.len()];
    for &at in &order {
        let of_callee = |operation: &Operation| {
            called(operation).and_then(|callee| by_name.get(callee)).map_or(0, |&callee| written[callee])
        };
        let size = of_region(&functions[at].body, &of_callee);
        if size > limits::MOST_WRITTEN {
            let most = limits::MOST_WRITTEN;
            let message = format!(
                "has {size} operations with loops unrolled and combiners written out; kernels have at most {most}"
            );
            return Err(VerifyError::of_function(&functions[at], message));
        }
        written[at] = size;
    }
    let ordered: HashSet<usize> = order.into_iter().collect();
    match functions.iter().enumerate().find(|(at, _)| !ordered.contains(at)) {
        None => Ok(()),
        Some((_, function)) => {
            Err(VerifyError::of_function(function, "calls itself, directly or through other functions"))
        }
    }
}

/// Returns the functions, as numbers, in an order in which each function follows its callees.
/// `callees` lists the callees of each function, once per call. Omits functions that call each
/// other in a cycle, and the callers of these functions.
pub fn callees_first(callees: &[Vec<usize>]) -> Vec<usize> {
    let mut open: Vec<usize> = callees.iter().map(Vec::len).collect();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); callees.len()];
    for (caller, callees) in callees.iter().enumerate() {
        callees.iter().for_each(|&callee| callers[callee].push(caller));
    }
    let mut order = Vec::with_capacity(callees.len());
    let mut ready: Vec<usize> = (0..open.len()).filter(|&function| open[function] == 0).collect();
    while let Some(function) = ready.pop() {
        order.push(function);
        for &caller in &callers[function] {
            open[caller] -= 1;
            if open[caller] == 0 {
                ready.push(caller);
            }
        }
    }
    order
}

/// Counts the operations of a region after unrolling. `of_callee` returns the size of a called
/// combiner.
fn of_region(region: &Region, of_callee: &dyn Fn(&Operation) -> u64) -> u64 {
    region.operations.iter().fold(0u64, |sum, operation| sum.saturating_add(of_operation(operation, of_callee)))
}

fn of_operation(operation: &Operation, of_callee: &dyn Fn(&Operation) -> u64) -> u64 {
    let regions = operation.regions.iter().map(|region| of_region(region, of_callee));
    let inside = regions.fold(1, u64::saturating_add);
    match operation.kind {
        OpKind::Loop => inside.saturating_mul(copies(operation)),
        OpKind::ShuffleReduce => {
            let distance = operation.integer("max_distance").unwrap_or(1);
            inside.saturating_add(of_callee(operation)).saturating_mul(u64::from(64 - distance.leading_zeros()))
        }
        _ => inside,
    }
}

/// Returns the number of copies of a loop's body: the product of the sizes of the unrolled
/// variables. An empty range counts as size 1.
fn copies(operation: &Operation) -> u64 {
    let Some(Attribute::Map(map)) = operation.attribute("map") else { return 1 };
    let unroll: HashSet<i64> = operation.integers("unroll").unwrap_or_default().iter().copied().collect();
    let ranges = unroll.into_iter().filter_map(|range| map.ranges.get(usize::try_from(range).ok()?));
    ranges.map(|range| range.bounds.size().max(1)).fold(1, u64::saturating_mul)
}
