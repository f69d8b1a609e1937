//! Calls of functions that the program does not contain.

use fusebox_core::hlo::{CustomCallAttrs, ElementType, InstrId, Layout, Op, Shape, SliceDim};

use super::Imported;
use super::call::Call;
use super::dynamic;
use super::importer::one_or_tuple;
use crate::program::{Attribute, Operation};
use crate::tables::{API_VERSIONS, element_name};

/// Adds a call of a function that the program does not contain.
pub(super) fn custom_call(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    if operation.text("call_target_name") == Ok("ApproxTopK") {
        return largest(call);
    }
    let mut called = Vec::new();
    if let Some(Attribute::List(names)) = operation.attribute("called_computations") {
        for name in names.iter().filter_map(Attribute::as_text) {
            called.push(call.importer.function(name, operation)?);
        }
    }
    let stated = dynamic::shape_of_call(call)?;
    let operands: Vec<Shape> = call.operands.iter().map(|&id| call.edit.shape(id).clone()).collect();
    let (api_version, config) = interface(operation);
    let attributes = CustomCallAttrs {
        target: operation.text("call_target_name")?.to_owned(),
        called,
        operand_layouts: layouts(operation, "operand_layouts").and_then(|layouts| with_layouts(operands, &layouts)),
        output_to_operand_aliasing: aliases(operation),
        has_side_effect: operation.flag("has_side_effect")?,
        api_version,
    };
    let mut shape = match stated {
        Some(shape) => shape,
        None => call.importer.shape(operation)?,
    };
    if let Some(layouts) = layouts(operation, "result_layouts") {
        shape = match shape {
            Shape::Tuple(elements) => Shape::Tuple(with_layouts(elements.clone(), &layouts).unwrap_or(elements)),
            single => with_layouts(vec![single.clone()], &layouts).and_then(|mut it| it.pop()).unwrap_or(single),
        };
    }
    let operands = std::mem::take(&mut call.operands);
    let added = call.edit.add_shaped(Op::CustomCall(Box::new(attributes)), shape, operands);
    if !config.is_empty() {
        call.edit.set_backend_config(added, config);
    }
    Ok(added)
}

/// Adds the instructions of `ApproxTopK`, a search for approximately the largest elements in the
/// order of a comparator. The added search is exact: it sorts the array and returns the first
/// elements. The second half of the operands are initial values, which only an approximate search
/// would need.
fn largest(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let attribute = |name: &str| match operation.attribute(name) {
        Some(Attribute::Dictionary(entries)) => {
            entries.iter().find(|(name, _)| &**name == "reduction_dim").map(|(_, value)| value.clone())
        }
        _ => None,
    };
    let comparator = match operation.attribute("called_computations") {
        Some(Attribute::List(names)) => names.first().and_then(Attribute::as_text),
        _ => None,
    };
    let dimension = attribute("mhlo.backend_config").or_else(|| attribute("backend_config"));
    let (Some(comparator), Some(Attribute::Integer(_, dimension))) = (comparator, dimension) else {
        return call.unsupported("the comparator or the attribute reduction_dim is missing");
    };
    let to_apply = call.importer.function(comparator, operation)?;
    let mut inputs = std::mem::take(&mut call.operands);
    inputs.truncate(operation.results.len());
    let shapes: Vec<Shape> = inputs.iter().map(|&id| call.edit.shape(id).clone()).collect();
    let results = match call.importer.shape(operation)? {
        Shape::Tuple(results) => results,
        single => vec![single],
    };
    let sorted = match &shapes[..] {
        [single] => single.clone(),
        _ => Shape::Tuple(shapes),
    };
    let is_tuple = inputs.len() > 1;
    let sorted = call.edit.add_shaped(Op::Sort { dimension, is_stable: true, to_apply }, sorted, inputs);
    let mut firsts = Vec::new();
    for (number, result) in results.into_iter().enumerate() {
        let Some(array) = result.as_array() else { return call.unsupported("a result is not an array") };
        let dims = array.dims.iter().map(|&limit| SliceDim { start: 0, limit, stride: 1 }).collect();
        let part = if is_tuple { call.edit.element(sorted, number) } else { sorted };
        firsts.push(call.edit.add_shaped(Op::Slice { dims }, result, vec![part]));
    }
    Ok(one_or_tuple(call.edit, firsts))
}

/// Returns the version of the interface by which a function is called, and the configuration of the
/// call, both as HLO text. JAX marks calls through XLA's typed interface by the attribute
/// `mhlo.backend_config`, which is a dictionary.
fn interface(operation: &Operation) -> (String, String) {
    if let Some(config @ Attribute::Dictionary(_)) = operation.attribute("mhlo.backend_config") {
        return ("API_VERSION_TYPED_FFI".into(), mlir_text(config));
    }
    let version = match operation.attribute("api_version") {
        Some(Attribute::Integer(_, number)) => {
            usize::try_from(*number).ok().and_then(|at| API_VERSIONS.get(at)).copied()
        }
        Some(name) => name.as_text(),
        None => None,
    };
    let version = match version {
        // The version that HLO text omits.
        Some("API_VERSION_ORIGINAL" | "API_VERSION_UNSPECIFIED") | None => String::new(),
        Some(version) => version.to_owned(),
    };
    let config = match operation.attribute("backend_config") {
        Some(Attribute::Text(text)) => text.to_string(),
        Some(config) => mlir_text(config),
        None => String::new(),
    };
    (version, config)
}

/// Returns the layouts of operands or results, each as dimensions from minor to major. Returns
/// `None` if the function requires no layouts.
fn layouts(operation: &Operation, name: &str) -> Option<Vec<Vec<usize>>> {
    let Some(Attribute::List(layouts)) = operation.attribute(name) else { return None };
    let order = |layout: &Attribute| layout.integers()?.into_iter().map(|it| usize::try_from(it).ok()).collect();
    layouts.iter().map(order).collect::<Option<Vec<_>>>().filter(|layouts| !layouts.is_empty())
}

/// Sets the layouts of array shapes. Returns `None` if the numbers of arrays and layouts differ.
fn with_layouts(mut shapes: Vec<Shape>, layouts: &[Vec<usize>]) -> Option<Vec<Shape>> {
    if shapes.len() != layouts.len() {
        return None;
    }
    for (shape, minor_to_major) in shapes.iter_mut().zip(layouts) {
        if let Shape::Array(array) = shape {
            array.layout = Some(Layout { minor_to_major: minor_to_major.clone(), suffix: String::new() });
        }
    }
    Some(shapes)
}

/// Returns the outputs that share memory with operands, as HLO text.
fn aliases(operation: &Operation) -> String {
    let Some(Attribute::List(aliases)) = operation.attribute("output_operand_aliases") else { return String::new() };
    let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let alias = |alias: &Attribute| match alias {
        Attribute::OutputAlias { output, operand, within } => {
            Some(format!("{{{}}}: ({operand}, {{{}}})", list(output), list(within)))
        }
        _ => None,
    };
    let aliases: Vec<String> = aliases.iter().filter_map(alias).collect();
    if aliases.is_empty() { String::new() } else { format!("{{{}}}", aliases.join(", ")) }
}

/// Returns an attribute as MLIR text, which is the syntax of backend configs in HLO.
fn mlir_text(attribute: &Attribute) -> String {
    match attribute {
        Attribute::Unit => "unit".into(),
        Attribute::Bool(value) => value.to_string(),
        Attribute::Integer(element, value) => format!("{value} : {}", element_text(*element)),
        Attribute::Float(element, value) => format!("{value:e} : {}", element.name()),
        Attribute::Text(text) => format!("{:?}", &**text),
        Attribute::Symbol(name) => format!("@{name}"),
        Attribute::List(list) => format!("[{}]", list.iter().map(mlir_text).collect::<Vec<_>>().join(", ")),
        Attribute::Dictionary(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(name, value)| format!("{name} = {}", mlir_text(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Attribute::Enum(name) => (*name).to_owned(),
        Attribute::Array(constant) => {
            let dims: String = constant.dims.iter().map(|dim| format!("{dim}x")).collect();
            let element = element_text(constant.elements.element_type);
            let digits: String = constant.elements.data.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("dense<\"0x{digits}\"> : tensor<{dims}{element}>")
        }
        Attribute::Type(_) | Attribute::OutputAlias { .. } | Attribute::Sharding(_) => String::new(),
    }
}

fn element_text(element: ElementType) -> String {
    element_name(element).unwrap_or_else(|| element.name().to_owned())
}
