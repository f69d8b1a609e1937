//! The module, its entry, and the functions that are called by name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use fusebox_core::hlo::{AliasKind, ComputationId, ElementType, Module, Op, Shape};

use super::Exported;
use super::exporter::{Exporter, Named, operation, parameters, text};
use super::held::Held;
use super::operations::convert;
use super::push::annotations;
use crate::program::{Attribute, Block, Operation, Program, Region, Type};

const MAIN: &str = "main";
/// The attribute of HLO's header that contains meshes.
const FRONTEND: &str = "frontend_attributes";

/// Converts a module.
pub(super) fn program(module: &Module) -> Exported<Program> {
    let mut exporter = Exporter::new(module, convert);
    let Some(entry) = module.entry else { return exporter.refused("the module has no entry computation") };
    check(&exporter, entry)?;
    exporter.functions = names(module);
    let mut functions = vec![main(&mut exporter, entry)?];
    for id in module.ids().filter(|id| exporter.functions.contains_key(id)).collect::<Vec<_>>() {
        let name = exporter.functions[&id].clone();
        functions.push(function(&mut exporter, id, &name, "private", Named::new())?);
    }
    let mut attributes = vec![("sym_name".into(), text(&module.name))];
    let mut add = |name: &str, count: i64| {
        if count > 1 {
            attributes.push((name.into(), Attribute::Integer(ElementType::S32, count)));
        }
    };
    add("mhlo.num_partitions", module.num_partitions);
    add("mhlo.num_replicas", module.replica_count);
    attributes.extend(frontend_attributes(module).map(|value| ("mhlo.frontend_attributes".into(), value)));
    let regions = vec![Region { blocks: vec![Block { arguments: Vec::new(), operations: functions }] }];
    let outermost = operation("builtin.module", Vec::new(), attributes, regions);
    Ok(Program { module: outermost, values: exporter.values, file: module.source_file.clone() })
}

/// Checks that the arguments and the results of the entry are row-major.
fn check(exporter: &Exporter, entry: ComputationId) -> Exported<()> {
    let computation = exporter.computation(entry);
    let own = || [computation.root_instruction().shape.clone()].into_iter();
    let shapes: Vec<Shape> = match &exporter.module.entry_layout {
        Some(layout) => layout.parameters.iter().chain([&layout.result]).cloned().collect(),
        None => parameters(computation).into_iter().cloned().chain(own()).collect(),
    };
    let mut arrays = shapes.iter().flat_map(Shape::leaves).filter_map(Shape::as_array);
    match arrays.find(|array| !array.is_row_major()) {
        Some(_) => exporter.refused("StableHLO has only row-major arguments and results"),
        None => Ok(()),
    }
}

/// Returns the attributes of the module that describe meshes of devices.
fn frontend_attributes(module: &Module) -> Option<Attribute> {
    let (_, value) = module.other_attributes.iter().find(|(name, _)| name == FRONTEND)?;
    let entries = entries(value)?.into_iter().map(|(name, value)| (name.into(), text(value)));
    Some(Attribute::Dictionary(entries.collect()))
}

/// Splits HLO's text `{name=value, …}` at the commas outside of brackets and quotes.
fn entries(value: &str) -> Option<Vec<(&str, &str)>> {
    let inner = value.trim().strip_prefix('{')?.strip_suffix('}')?;
    let (mut parts, mut start, mut depth, mut is_quoted) = (Vec::new(), 0, 0, false);
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'{' | b'[' | b'<' => depth += 1,
            b'}' | b']' | b'>' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').map(|(name, value)| (name.trim(), value.trim()))).collect()
}

/// Returns names for the computations that become functions: the computations that a `call` or a
/// custom call names.
fn names(module: &Module) -> HashMap<ComputationId, Arc<str>> {
    let instructions = module.computations.iter().flat_map(|computation| &computation.instructions);
    let called = instructions.flat_map(|instruction| match &instruction.op {
        Op::Call { to_apply } => vec![*to_apply],
        Op::CustomCall(call) => call.called.clone(),
        _ => Vec::new(),
    });
    let called: HashSet<ComputationId> = called.collect();
    let mut taken: HashSet<String> = HashSet::from([MAIN.to_owned()]);
    let mut names = HashMap::new();
    for id in module.ids().filter(|id| called.contains(id)) {
        let mut name = module.computation(id).name.clone();
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        names.insert(id, name.into());
    }
    names
}

/// Returns the function for the entry. An attribute of an argument states which result may reuse
/// the memory of the argument.
fn main(exporter: &mut Exporter, entry: ComputationId) -> Exported<Operation> {
    let module = exporter.module;
    let computation = module.computation(entry);
    let mut arguments: Vec<Named> = vec![Named::new(); parameters(computation).len()];
    let mut add = |parameter: i64, name: &str, value| match usize::try_from(parameter).ok() {
        Some(at) if at < arguments.len() => arguments[at].push((name.into(), value)),
        _ => {}
    };
    for alias in &module.input_output_alias {
        let output = match (&alias.output[..], &alias.parameter_index[..], alias.kind) {
            ([], [], AliasKind::May) => 0,
            ([output], [], AliasKind::May) => *output,
            _ => return exporter.refused("StableHLO has no aliases of parts of tuples, and none that must hold"),
        };
        add(alias.parameter, "tf.aliasing_output", Attribute::Integer(ElementType::S32, output));
    }
    for (parameter, index) in &module.buffer_donor {
        if !index.is_empty() {
            return exporter.refused("StableHLO cannot donate a part of a tuple");
        }
        add(*parameter, "jax.buffer_donor", Attribute::Bool(true));
    }
    for (at, id) in computation.parameters().into_iter().enumerate() {
        if let (Some(extra), Some(own)) = (&computation.instruction(id).extra, arguments.get_mut(at)) {
            own.extend(annotations(extra));
        }
    }
    let is_empty = arguments.iter().all(Vec::is_empty);
    let lists = arguments.into_iter().map(|entries| Attribute::Dictionary(entries.into())).collect();
    let attributes = if is_empty { Named::new() } else { vec![("arg_attrs".into(), Attribute::List(lists))] };
    function(exporter, entry, MAIN, "public", attributes)
}

/// Returns the function for a computation.
fn function(
    exporter: &mut Exporter,
    id: ComputationId,
    name: &str,
    visibility: &str,
    mut attributes: Named,
) -> Exported<Operation> {
    let computation = exporter.computation(id);
    let inputs = parameters(computation).into_iter().map(|shape| exporter.type_of(shape));
    let inputs = inputs.collect::<Exported<Vec<Type>>>()?;
    let root = &computation.root_instruction().shape;
    let region = exporter.region(
        computation,
        inputs.clone(),
        |_, arguments| Ok(arguments.iter().copied().map(Held::One).collect()),
        |exporter, held| exporter.results(held, root),
    )?;
    let results: Vec<Type> = exporter.result_types(root)?;
    let function_type = Type::Function { inputs: inputs.into(), results: results.into() };
    attributes.push(("function_type".into(), Attribute::Type(function_type)));
    attributes.push(("sym_name".into(), text(name)));
    attributes.push(("sym_visibility".into(), text(visibility)));
    Ok(operation("func", Vec::new(), attributes, vec![region]))
}
