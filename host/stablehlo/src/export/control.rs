//! Loops, branches, calls of functions, and computations that are applied to elements.

use fusebox_core::hlo::{ComputationId, Instruction, Op, Shape};

use super::Exported;
use super::exporter::{Exporter, Named, operation, parameters};
use super::held::Held;
use super::push::push;
use crate::program::{Attribute, Region, Type, ValueId};

/// Adds a loop, branches, or the call of a function.
pub(super) fn control<'m>(
    exporter: &mut Exporter<'m>,
    instruction: &'m Instruction,
    operands: &[Held],
) -> Exported<Held> {
    match (&instruction.op, operands) {
        (Op::While { condition, body }, [state]) => while_loop(exporter, instruction, [*condition, *body], state),
        (Op::Conditional { branches }, [selector, arguments @ ..]) if branches.len() == arguments.len() => {
            conditional(exporter, instruction, branches, selector, arguments)
        }
        (Op::Call { to_apply }, _) => {
            let Some(name) = exporter.functions.get(to_apply).cloned() else {
                return exporter.refused("the called computation has no name");
            };
            let values = operands.iter().map(|it| exporter.value(it)).collect::<Exported<Vec<ValueId>>>()?;
            let attributes = vec![("callee".into(), Attribute::Symbol(name))];
            push(exporter, instruction, operation("call", values, attributes, Vec::new()))
        }
        _ => exporter.refused("the numbers of operands and computations differ"),
    }
}

/// Returns a computation as a region whose arguments are the computation's parameters.
pub(super) fn applied(exporter: &mut Exporter, id: ComputationId) -> Exported<Region> {
    let computation = exporter.computation(id);
    let types = parameters(computation).into_iter().map(|shape| exporter.type_of(shape));
    let types = types.collect::<Exported<Vec<Type>>>()?;
    exporter.region(
        computation,
        types,
        |_, arguments| Ok(arguments.iter().copied().map(Held::One).collect()),
        Exporter::leaves,
    )
}

/// Adds a loop. The loop-carried values are the leaves of the tuple that HLO's loop carries.
fn while_loop<'m>(
    exporter: &mut Exporter<'m>,
    instruction: &'m Instruction,
    computations: [ComputationId; 2],
    state: &Held,
) -> Exported<Held> {
    let shape = &instruction.shape;
    let operands = exporter.leaves(state)?;
    let types: Vec<Type> = operands.iter().map(|&id| exporter.r#type(id).clone()).collect();
    let mut regions = Vec::new();
    for id in computations {
        regions.push(exporter.region(
            exporter.computation(id),
            types.clone(),
            |_, arguments| Ok(vec![Held::of_leaves(shape, &mut arguments.iter().copied())]),
            Exporter::leaves,
        )?);
    }
    let results = exporter.add(operation("while", operands, Named::new(), regions), types)?;
    Ok(Held::of_leaves(shape, &mut results.into_iter()))
}

/// Adds branches. The regions of the branches have no arguments, and use the operands directly.
fn conditional<'m>(
    exporter: &mut Exporter<'m>,
    instruction: &'m Instruction,
    branches: &[ComputationId],
    selector: &Held,
    arguments: &[Held],
) -> Exported<Held> {
    let selector = exporter.value(selector)?;
    // The selector is a predicate or an index.
    let is_predicate = matches!(exporter.r#type(selector), Type::Array { element, .. } if !element.is_integer());
    let mut regions = Vec::new();
    for (&id, argument) in branches.iter().zip(arguments) {
        let computation = exporter.computation(id);
        let given = |_: &mut Exporter<'m>, _: &[ValueId]| Ok(vec![argument.clone()]);
        regions.push(exporter.region(computation, Vec::new(), given, Exporter::leaves)?);
    }
    let types = leaf_types(exporter, &instruction.shape)?;
    let name = if is_predicate { "if" } else { "case" };
    let results = exporter.add(operation(name, vec![selector], Named::new(), regions), types)?;
    Ok(Held::of_leaves(&instruction.shape, &mut results.into_iter()))
}

fn leaf_types(exporter: &Exporter, shape: &Shape) -> Exported<Vec<Type>> {
    shape.leaves().into_iter().map(|leaf| exporter.type_of(leaf)).collect()
}
