//! Shape inference of control flow, tuples and tokens. Also infers the shapes of operations that
//! call a computation with whole values instead of elements.

use super::shaping::unchanged;
use super::{Inferred, Signature, Site, array, dimension};
use crate::{ComputationId, CustomCallAttrs, ElementType, Shape};

/// Checks that the arguments fit the parameters of a computation in number and shape.
fn takes(what: &str, callee: &Signature, arguments: &[&Shape]) -> Inferred<()> {
    let counts = (callee.parameters.len(), arguments.len());
    ensure!(counts.0 == counts.1, "{what} takes {} parameters, but is given {}", counts.0, counts.1);
    for (number, (parameter, argument)) in callee.parameters.iter().zip(arguments).enumerate() {
        let fits = argument.flows_into(parameter);
        ensure!(fits, "parameter {number} of {what} is {parameter}, but is given {argument}");
    }
    Ok(())
}

pub(super) fn while_loop(site: &Site, condition: ComputationId, body: ComputationId) -> Inferred {
    site.operand_count(1)?;
    let state = site.operand(0)?;
    let (condition, body) = (site.callee(condition)?, site.callee(body)?);
    takes("the condition of while", &condition, site.operands)?;
    takes("the body of while", &body, site.operands)?;
    let is_predicate = condition.result.same_structure(&Shape::array(ElementType::Pred, []));
    ensure!(is_predicate, "the condition of while must give pred[], gives {}", condition.result);
    let same = body.result.same_structure(state);
    ensure!(same, "the body of while must give the state {state}, gives {}", body.result);
    // A dimension that is dynamic in one iteration must be dynamic in all iterations.
    let declared = site.declared.unwrap_or(body.result);
    for (what, shape) in [("body", body.parameters[0]), ("condition", condition.parameters[0]), ("body", body.result)] {
        let same = shape.flows_into(declared) && declared.flows_into(shape);
        ensure!(same, "while is declared as {declared}, its {what} has the state {shape}");
    }
    unchanged(state)
}

pub(super) fn conditional(site: &Site, branches: &[ComputationId]) -> Inferred {
    let selector = site.scalar(0)?;
    match selector.element_type {
        ElementType::Pred => {
            ensure!(branches.len() == 2, "conditional on pred[] needs 2 branches, has {}", branches.len());
        }
        ElementType::S32 => ensure!(!branches.is_empty(), "conditional needs at least one branch"),
        _ => return Err(format!("conditional selects by pred[] or s32[], found {selector}")),
    }
    site.operand_count(branches.len() + 1)?;
    let mut result: Option<&Shape> = None;
    for (number, &branch) in branches.iter().enumerate() {
        let callee = site.callee(branch)?;
        takes(&format!("branch {number} of conditional"), &callee, &site.operands[number + 1..number + 2])?;
        let first = *result.get_or_insert(callee.result);
        let same = callee.result.flows_into(first) && first.flows_into(callee.result);
        ensure!(same, "branch {number} of conditional gives {}, branch 0 gives {first}", callee.result);
    }
    result.map_or_else(|| Err("conditional needs at least one branch".to_owned()), unchanged)
}

pub(super) fn call(site: &Site, to_apply: ComputationId) -> Inferred {
    let callee = site.callee(to_apply)?;
    takes(&format!("the computation of {}", site.name()), &callee, site.operands)?;
    unchanged(callee.result)
}

pub(super) fn custom_call(site: &Site, attrs: &CustomCallAttrs) -> Inferred {
    if let Some(layouts) = &attrs.operand_layouts {
        let counts = (layouts.len(), site.operands.len());
        ensure!(counts.0 == counts.1, "operand_layout_constraints has {} shapes for {} operands", counts.0, counts.1);
        for (number, (wanted, operand)) in layouts.iter().zip(site.operands).enumerate() {
            let fits = wanted.same_structure(operand);
            ensure!(fits, "operand_layout_constraints says operand {number} is {wanted}, it is {operand}");
        }
    }
    unchanged(site.declared()?)
}

pub(super) fn get_tuple_element(site: &Site, index: i64) -> Inferred {
    site.operand_count(1)?;
    let operand = site.operand(0)?;
    let Some(elements) = operand.as_tuple() else {
        return Err(format!("get-tuple-element needs a tuple, its operand is {operand}"));
    };
    let element = usize::try_from(index).ok().and_then(|index| elements.get(index)).cloned();
    element.ok_or_else(|| format!("get-tuple-element takes element {index} of a tuple of {}", elements.len()))
}

pub(super) fn tuple(shapes: &[&Shape]) -> Inferred {
    Ok(Shape::Tuple(shapes.iter().map(|&shape| shape.clone()).collect()))
}

/// Returns a single shape unchanged, and several shapes as a tuple.
pub(super) fn one_or_tuple(shapes: &[&Shape]) -> Inferred {
    if let [only] = shapes { unchanged(only) } else { tuple(shapes) }
}

pub(super) fn after_all(site: &Site) -> Inferred {
    for (position, &operand) in site.operands.iter().enumerate() {
        ensure!(*operand == Shape::Token, "after-all takes tokens, operand {position} is {operand}");
    }
    Ok(Shape::Token)
}

pub(super) fn add_dependency(site: &Site) -> Inferred {
    site.operand_count(2)?;
    let token = site.operand(1)?;
    ensure!(*token == Shape::Token, "the second operand of add-dependency must be a token, is {token}");
    unchanged(site.operand(0)?)
}

pub(super) fn copy(site: &Site) -> Inferred {
    site.operand_count(1)?;
    unchanged(site.operand(0)?)
}

pub(super) fn get_dimension_size(site: &Site, dim: i64) -> Inferred {
    let operand = site.only_array()?;
    dimension("get-dimension-size's dimension", dim, operand.rank())?;
    array(ElementType::S32, [])
}

pub(super) fn set_dimension_size(site: &Site, dim: i64) -> Inferred {
    site.operand_count(2)?;
    let (operand, size) = (site.array(0)?, site.scalar(1)?);
    dimension("set-dimension-size's dimension", dim, operand.rank())?;
    ensure!(size.element_type == ElementType::S32, "the size must be s32[], is {size}");
    unchanged(site.operand(0)?)
}

pub(super) fn device_number(site: &Site) -> Inferred {
    site.operand_count(0)?;
    array(ElementType::U32, [])
}
