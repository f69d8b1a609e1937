//! Calls of functions that the program does not contain.

use fusebox_core::hlo::{ArrayLiteral, CustomCallAttrs, ElementType, Instruction, Shape};

use super::Exported;
use super::exporter::{Exporter, Named, operation, text};
use super::held::Held;
use super::push::push;
use crate::program::{Attribute, Constant, ValueId};
use crate::tables::API_VERSIONS;
use crate::text::read_attribute;

/// The API version that HLO text omits.
const USUAL_VERSION: &str = "API_VERSION_ORIGINAL";
/// The API version whose configuration is a dictionary.
const TYPED_VERSION: &str = "API_VERSION_TYPED_FFI";

/// Adds a call of a function that the program does not contain.
pub(super) fn custom_call(
    exporter: &mut Exporter,
    instruction: &Instruction,
    call: &CustomCallAttrs,
    operands: &[Held],
) -> Exported<Held> {
    let mut attributes: Named = vec![("call_target_name".into(), text(&call.target))];
    let mut add = |name: &str, value: Attribute| attributes.push((name.into(), value));
    if call.has_side_effect {
        add("has_side_effect", Attribute::Bool(true));
    }
    let version = if call.api_version.is_empty() { USUAL_VERSION } else { &call.api_version };
    let Some(number) = API_VERSIONS.iter().position(|name| *name == version) else {
        return exporter.refused(format!("StableHLO has no {version}"));
    };
    add("api_version", Attribute::Integer(ElementType::S32, number as i64));
    if let Some(config) = instruction.extra.as_ref().and_then(|extra| extra.backend_config.as_ref()) {
        let config = match version {
            TYPED_VERSION => match read_attribute(config) {
                Ok(config @ Attribute::Dictionary(_)) => config,
                _ => return exporter.refused(format!("the configuration of {} is no dictionary", call.target)),
            },
            _ => text(config),
        };
        add("backend_config", config);
    }
    if !call.called.is_empty() {
        let names = call.called.iter().filter_map(|id| exporter.functions.get(id).cloned());
        add("called_computations", Attribute::List(names.map(Attribute::Symbol).collect()));
    }
    if let Some(shapes) = &call.operand_layouts {
        let (operands, results) = (layouts(exporter, shapes)?, result_layouts(exporter, &instruction.shape)?);
        add("operand_layouts", operands);
        add("result_layouts", results);
    }
    if !call.output_to_operand_aliasing.is_empty() {
        let Some(aliases) = aliases(&call.output_to_operand_aliasing) else {
            return exporter.refused(format!("StableHLO has no aliases {}", call.output_to_operand_aliasing));
        };
        add("output_operand_aliases", Attribute::List(aliases.into()));
    }
    let values = operands.iter().map(|it| exporter.value(it)).collect::<Exported<Vec<ValueId>>>()?;
    push(exporter, instruction, operation("custom_call", values, attributes, Vec::new()))
}

/// Returns the layouts of arrays, each as dimensions from minor to major.
fn layouts(exporter: &Exporter, shapes: &[Shape]) -> Exported<Attribute> {
    let layouts = shapes.iter().map(|shape| match shape {
        Shape::Array(array) => {
            let order: Vec<i64> = match &array.layout {
                Some(layout) => layout.minor_to_major.iter().map(|&it| it as i64).collect(),
                None => (0..array.rank() as i64).rev().collect(),
            };
            let dims = vec![order.len() as i64];
            let data: Vec<u8> = order.iter().flat_map(|number| number.to_le_bytes()).collect();
            let elements = ArrayLiteral { element_type: ElementType::S64, dims: dims.clone(), data: data.into() };
            Ok(Attribute::Array(Constant { elements, dims }.into()))
        }
        _ => exporter.refused("StableHLO has no layouts of tuples and tokens"),
    });
    Ok(Attribute::List(layouts.collect::<Exported<Vec<Attribute>>>()?.into()))
}

fn result_layouts(exporter: &Exporter, shape: &Shape) -> Exported<Attribute> {
    match shape {
        Shape::Tuple(elements) => layouts(exporter, elements),
        single => layouts(exporter, std::slice::from_ref(single)),
    }
}

/// Reads aliases from HLO's text, for example `{{0}: (1, {}), {1}: (2, {})}`.
fn aliases(text: &str) -> Option<Vec<Attribute>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let list = |text: &str| {
        let numbers = text.split(',').map(str::trim).filter(|number| !number.is_empty());
        numbers.map(|number| number.parse::<i64>().ok()).collect::<Option<Vec<i64>>>()
    };
    let mut aliases = Vec::new();
    let mut rest = inner.trim();
    while !rest.is_empty() {
        let (output, after) = rest.strip_prefix('{')?.split_once('}')?;
        let (operand, after) = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('(')?.split_once(',')?;
        let (within, after) = after.trim_start().strip_prefix('{')?.split_once('}')?;
        // The kind of the alias may follow.
        let (_, after) = after.split_once(')')?;
        let operand = operand.trim().parse().ok()?;
        aliases.push(Attribute::OutputAlias { output: list(output)?, operand, within: list(within)? });
        rest = after.trim_start().strip_prefix(',').unwrap_or(after).trim_start();
    }
    Some(aliases)
}
