//! Converts shardings and manual computations, which every device executes with its own parts of
//! arrays. The importer writes shardings and manual computations as XLA writes them in HLO, so that
//! the compiler reads the same instructions from StableHLO and from HLO.

use std::collections::BTreeMap;

use fusebox_core::hlo::{CustomCallAttrs, Extra, InstrId, ManualComputation, Op, Shape};
use fusebox_edit::{Builder, detached_instruction};

use super::Imported;
use super::call::Call;
use super::importer::{body, one_or_tuple};
use super::location::unsupported;
use super::types::shape;
use crate::program::{Attribute, Operation, Sharding};

/// Target of the custom call that marks a result of the program with its sharding.
const RESULT: &str = "xla.sdy.FuncResultSharding";

/// Adds the instructions of a manual computation. A custom call divides the operands, a call
/// executes the computation, and a second custom call joins the results.
pub(super) fn manual_computation(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let block = body(operation)?;
    let local = block.arguments.iter().map(|&argument| shape(call.importer.program.value(argument)));
    let local = local.collect::<Result<Vec<Shape>, _>>().map_err(|message| unsupported(operation, message))?;
    let importer = &mut *call.importer;
    let to_apply = call.edit.try_computation(ManualComputation::BODY, |edit| {
        let mut scope = importer.parameters(edit, operation, block)?;
        let results = importer.block(edit, &mut scope, block)?;
        Ok::<_, crate::StablehloError>(one_or_tuple(edit, results))
    })?;
    let mut operands = std::mem::take(&mut call.operands);
    if !operands.is_empty() {
        let divided = one_or_tuple_shape(local);
        let parts = marked(call, ManualComputation::DIVIDE, divided, operands, &["in_shardings", "manual_axes"])?;
        operands = elements(call.edit, parts);
    }
    let computed = call.edit.add(Op::Call { to_apply }, operands);
    let whole = call.importer.shape(operation)?;
    let parts = elements(call.edit, computed);
    if operation.results.is_empty() {
        return Ok(computed);
    }
    marked(call, ManualComputation::JOIN, whole, parts, &["out_shardings", "manual_axes"])
}

fn one_or_tuple_shape(mut shapes: Vec<Shape>) -> Shape {
    match shapes.len() {
        1 => shapes.swap_remove(0),
        _ => Shape::Tuple(shapes),
    }
}

/// Adds a custom call that states how its operand may be divided among devices.
pub(super) fn constraint(call: &mut Call) -> Imported<InstrId> {
    let shape = call.importer.shape(call.operation)?;
    let operands = std::mem::take(&mut call.operands);
    marked(call, "Sharding", shape, operands, &["sharding"])
}

/// Returns the elements of a tuple, or the value itself if it is no tuple.
fn elements(edit: &mut Builder, value: InstrId) -> Vec<InstrId> {
    match edit.shape(value).as_tuple().map(<[Shape]>::len) {
        None => vec![value],
        Some(count) => (0..count).map(|index| edit.element(value, index)).collect(),
    }
}

/// Adds a custom call whose frontend attributes are the attributes `names` of the operation.
fn marked(call: &mut Call, target: &str, shape: Shape, operands: Vec<InstrId>, names: &[&str]) -> Imported<InstrId> {
    let mut attributes = BTreeMap::new();
    for name in names {
        let attribute = call.operation.attribute(name);
        let text = attribute.and_then(text).ok_or_else(|| unsupported(call.operation, format!("{name} is missing")))?;
        attributes.insert(format!("xla.sdy.{name}"), text);
    }
    let origin = call.importer.origin(call.operation)?;
    let mut extra = origin.extra.clone().unwrap_or_default();
    extra.frontend_attributes = attributes;
    let origin = fusebox_core::hlo::Instruction { extra: Some(extra), ..origin };
    Ok(call.edit.with_origin(origin, |edit| edit.add_shaped(custom_call(target), shape, operands)))
}

fn custom_call(target: &str) -> Op {
    Op::CustomCall(Box::new(CustomCallAttrs {
        target: target.to_owned(),
        called: Vec::new(),
        operand_layouts: None,
        output_to_operand_aliasing: String::new(),
        has_side_effect: target != "Sharding",
        api_version: String::new(),
    }))
}

/// Returns the HLO attributes that state the sharding of an argument or a result. Reads the
/// sharding from an attribute of the dialect `sdy`, or else from the older attribute
/// `mhlo.sharding`.
pub(super) fn sharded(attributes: &BTreeMap<&str, &Attribute>) -> Option<Extra> {
    if let Some(text) = attributes.get("sdy.sharding").copied().and_then(text) {
        let frontend_attributes = [("xla.sdy.sharding".to_owned(), text)].into();
        return Some(Extra { frontend_attributes, ..Extra::default() });
    }
    let sharding = attributes.get("mhlo.sharding").and_then(|it| it.as_text()).map(str::to_owned);
    let frontend_attributes = attributes.get("mhlo.frontend_attributes").map(|it| it.strings()).unwrap_or_default();
    let extra = Extra { sharding, frontend_attributes, ..Extra::default() };
    (extra != Extra::default()).then_some(extra)
}

/// Returns the frontend attributes of the module as text, in the syntax of HLO's module header.
/// These attributes describe the module's meshes.
pub(super) fn frontend_attributes(outermost: &Operation) -> Option<(String, String)> {
    let entries = outermost.attribute("mhlo.frontend_attributes")?.strings();
    let entries: Vec<String> = entries.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!entries.is_empty()).then(|| ("frontend_attributes".to_owned(), format!("{{{}}}", entries.join(","))))
}

/// Marks a result of the program with its sharding.
pub(super) fn marked_result(edit: &mut Builder, result: InstrId, extra: Extra) -> InstrId {
    let shape = edit.shape(result).clone();
    let target = if extra.sharding.is_some() { "Sharding" } else { RESULT };
    let mut origin = detached_instruction(Op::Tuple, shape.clone());
    "result".clone_into(&mut origin.name);
    origin.extra = Some(Box::new(extra));
    edit.with_origin(origin, |edit| edit.add_shaped(custom_call(target), shape, [result]))
}

/// Returns the meshes of a program as an attribute of the HLO module.
pub(super) fn meshes(outermost: &Operation) -> Option<(String, String)> {
    let operations = outermost.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.operations);
    let mesh = |operation: &Operation| {
        let name = operation.text("sym_name").ok()?;
        Some(format!("{name} = {}", operation.attribute("mesh").and_then(text)?))
    };
    let meshes: Vec<String> = operations.filter(|it| &*it.name == "sdy.mesh").filter_map(mesh).collect();
    let text = format!("{{xla.sdy.meshes={{{}}}}}", meshes.join(", "));
    (!meshes.is_empty()).then(|| ("frontend_attributes".to_owned(), text))
}

/// Returns an attribute of the dialect `sdy` in its text form.
fn text(attribute: &Attribute) -> Option<String> {
    let Attribute::Sharding(sharding) = attribute else { return None };
    let Sharding { kind, parts, numbers } = &**sharding;
    match *kind {
        "manual axes" => {
            Some(format!("#sdy<manual_axes{{{}}}>", joined(parts.first()?, |it| Some(format!("{:?}", it.as_text()?)))?))
        }
        "mesh" => Some(format!("#sdy.mesh<{}>", mesh(parts, numbers)?)),
        "sharding" => Some(format!("#sdy.sharding{}", sharding_text(parts)?)),
        "shardings of values" => {
            let inner = joined(parts.first()?, |it| match it {
                Attribute::Sharding(inner) => sharding_text(&inner.parts),
                _ => None,
            });
            Some(format!("#sdy.sharding_per_value<[{}]>", inner?))
        }
        _ => None,
    }
}

/// Returns the text of a mesh: `["x"=2, "y"=4], device_ids=[…]`.
fn mesh(parts: &[Attribute], device_ids: &[i64]) -> Option<String> {
    let axes = joined(parts.first()?, |axis| match axis {
        Attribute::Sharding(axis) => Some(format!("{:?}={}", axis.parts.first()?.as_text()?, axis.numbers.first()?)),
        _ => None,
    });
    let devices = if device_ids.is_empty() { String::new() } else { format!(", device_ids={device_ids:?}") };
    Some(format!("[{}]{devices}", axes?))
}

/// Returns the text of a sharding: `<@mesh, [{"x"}, {?}], replicated={"y"}>`.
fn sharding_text(parts: &[Attribute]) -> Option<String> {
    let [on, dims, others @ ..] = parts else { return None };
    let on = match on {
        Attribute::Sharding(inner) => format!("mesh<{}>", mesh(&inner.parts, &inner.numbers)?),
        symbol => format!("@{}", symbol.as_text()?),
    };
    let mut text = format!("<{on}, [{}]", joined(dims, dimension)?);
    for (name, axes) in ["replicated", "unreduced"].iter().zip(others) {
        let axes = joined(axes, axis)?;
        if !axes.is_empty() {
            text += &format!(", {name}={{{axes}}}");
        }
    }
    Some(text + ">")
}

/// Returns the text of a dimension's sharding: `{"x", "y", ?}`. The question mark says that the
/// dimension may be divided further.
fn dimension(attribute: &Attribute) -> Option<String> {
    let Attribute::Sharding(dimension) = attribute else { return None };
    let mut axes = joined(dimension.parts.first()?, axis)?;
    let [is_closed, priority @ ..] = &dimension.numbers[..] else { return None };
    if *is_closed == 0 {
        axes += if axes.is_empty() { "?" } else { ", ?" };
    }
    let priority: String = priority.iter().map(|number| format!("p{number}")).collect();
    Some(format!("{{{axes}}}{priority}"))
}

/// Returns the text of an axis: `"x"`, or `"x":(1)2` for a part of an axis.
fn axis(attribute: &Attribute) -> Option<String> {
    let Attribute::Sharding(axis) = attribute else { return None };
    let name = format!("{:?}", axis.parts.first()?.as_text()?);
    match axis.parts.get(1) {
        None => Some(name),
        Some(Attribute::Sharding(part)) => match part.numbers[..] {
            [before, size] => Some(format!("{name}:({before}){size}")),
            _ => None,
        },
        Some(_) => None,
    }
}

fn joined(list: &Attribute, item: impl Fn(&Attribute) -> Option<String>) -> Option<String> {
    let Attribute::List(list) = list else { return None };
    Some(list.iter().map(item).collect::<Option<Vec<String>>>()?.join(", "))
}
