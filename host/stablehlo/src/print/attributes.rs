//! Attributes as text.

use super::constants::{dense, float};
use super::types::{element, r#type};
use crate::program::{Attribute, Operation, Type};
use crate::tables::{CHANNEL, CONVOLVED, Form, GROUPS, form};

/// Whether an attribute is discardable, which means that it concerns only some users of the
/// program. Names of discardable attributes begin with the name of a dialect.
pub(super) fn is_discardable(name: &str) -> bool {
    name.contains('.')
}

/// Returns the text of those attributes of an operation whose names `is_wanted` accepts, without
/// braces around the list.
pub(super) fn attributes(operation: &Operation, is_wanted: impl Fn(&str) -> bool) -> String {
    let mut left: Vec<(&str, &Attribute)> =
        operation.attributes.iter().map(|(name, value)| (&**name, value)).filter(|(name, _)| is_wanted(name)).collect();
    let mut texts = Vec::new();
    if &*operation.name == "convolution" {
        texts.extend(convolved(operation).map(|dims| format!("dimension_numbers = #stablehlo.conv<{dims}>")));
        let numbers = |name: &str| name.ends_with("_dimension") || name.ends_with("_dimensions");
        left.retain(|(name, _)| !numbers(name));
    }
    for group in GROUPS.iter().filter(|group| group.operations.contains(&&*operation.name)) {
        let is_part = |name: &str| group.parts.contains(&name);
        let is_known = |value: &Attribute| !matches!(value, Attribute::Type(Type::None));
        let parts = left.iter().filter(|(name, value)| is_part(name) && is_known(value));
        let parts: Vec<String> = parts.map(|(name, value)| part(name, value)).collect();
        if !parts.is_empty() {
            texts.push(format!("{} = #{}<{}>", group.name, group.kind, parts.join(", ")));
        }
        left.retain(|(name, _)| !is_part(name));
    }
    texts.extend(left.iter().map(|(name, value)| named(operation, name, value)));
    texts.join(", ")
}

/// Returns the text of an attribute that is a part of a group. Numbers in a group have no type.
fn part(name: &str, value: &Attribute) -> String {
    let untyped = |value: &Attribute| match value {
        Attribute::Integer(_, value) => value.to_string(),
        other => attribute(other),
    };
    match value {
        Attribute::List(list) => format!("{name} = [{}]", list.iter().map(untyped).collect::<Vec<_>>().join(", ")),
        single => format!("{name} = {}", untyped(single)),
    }
}

/// Returns the text of an attribute: `name = value`.
fn named(operation: &Operation, name: &str, value: &Attribute) -> String {
    if name == CHANNEL.1 {
        let handle = if let Attribute::Integer(_, handle) = value { *handle } else { 0 };
        return format!("{} = #stablehlo.channel_handle<handle = {handle}, type = 1>", CHANNEL.0);
    }
    let integers = || value.integers().unwrap_or_default();
    let array = |of: &str, texts: Vec<String>| match texts.len() {
        0 => format!("array<{of}>"),
        _ => format!("array<{of}: {}>", texts.join(", ")),
    };
    let dialect = if operation.name.starts_with("chlo.") { "chlo" } else { "stablehlo" };
    let one_of = |kind: &str, value: &Attribute| format!("#{dialect}<{kind} {}>", value.as_text().unwrap_or_default());
    let text = match form(name) {
        Form::Integers => array("i64", integers().iter().map(i64::to_string).collect()),
        Form::Flags => array("i1", integers().iter().map(|&flag| (flag != 0).to_string()).collect()),
        Form::Enum(kind) => one_of(kind, value),
        Form::Enums(kind) => match value {
            Attribute::List(list) => {
                format!("[{}]", list.iter().map(|value| one_of(kind, value)).collect::<Vec<_>>().join(", "))
            }
            single => one_of(kind, single),
        },
        Form::Layouts => layouts(value),
        Form::Matrix | Form::Own => attribute(value),
    };
    match value {
        Attribute::Unit => name_text(name),
        _ => format!("{} = {text}", name_text(name)),
    }
}

/// Returns the text of layouts. The numbers in a layout have MLIR's type `index`.
fn layouts(value: &Attribute) -> String {
    let Attribute::List(layouts) = value else { return attribute(value) };
    let layout = |layout: &Attribute| {
        let order = layout.integers().unwrap_or_default();
        let numbers: Vec<String> = order.iter().map(i64::to_string).collect();
        let elements = if numbers.is_empty() { String::new() } else { format!("[{}]", numbers.join(", ")) };
        format!("dense<{elements}> : tensor<{}xindex>", order.len())
    };
    format!("[{}]", layouts.iter().map(layout).collect::<Vec<_>>().join(", "))
}

/// Returns the dimension numbers of a convolution: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
fn convolved(operation: &Operation) -> Option<String> {
    let position = |name: &str| match operation.attribute(name) {
        Some(Attribute::Integer(_, position)) => usize::try_from(*position).ok(),
        _ => None,
    };
    let array = |&(array, letters, names): &(&str, [&str; 2], [&str; 2])| {
        let spatial = operation.attribute(&format!("{array}_spatial_dimensions"))?.integers()?;
        let mut roles = vec![String::new(); spatial.len() + 2];
        for (letter, name) in letters.iter().zip(names) {
            *roles.get_mut(position(name)?)? = (*letter).to_owned();
        }
        for (number, &at) in spatial.iter().enumerate() {
            *roles.get_mut(usize::try_from(at).ok()?)? = number.to_string();
        }
        Some(format!("[{}]", roles.join(", ")))
    };
    let [input, kernel, output] = &CONVOLVED;
    Some(format!("{}x{}->{}", array(input)?, array(kernel)?, array(output)?))
}

/// Returns an attribute as MLIR text.
pub(crate) fn attribute(value: &Attribute) -> String {
    match value {
        Attribute::Unit => "unit".to_owned(),
        Attribute::Bool(value) => value.to_string(),
        Attribute::Integer(of, value) => format!("{value} : {}", element(*of)),
        Attribute::Float(of, value) => {
            let bits = of.float_format().map_or(0, |format| format.encode(*value));
            format!("{} : {}", float(*of, bits, *value), element(*of))
        }
        Attribute::Text(text) => quoted(text),
        Attribute::Symbol(name) => format!("@{}", name_text(name)),
        Attribute::Enum(name) => (*name).to_owned(),
        Attribute::Type(of) => r#type(of),
        Attribute::List(list) => format!("[{}]", list.iter().map(attribute).collect::<Vec<_>>().join(", ")),
        Attribute::Dictionary(entries) => {
            let entry = |(name, value): &(std::sync::Arc<str>, Attribute)| match value {
                Attribute::Unit => name_text(name),
                value => format!("{} = {}", name_text(name), attribute(value)),
            };
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Attribute::Array(constant) => dense(constant),
        Attribute::OutputAlias { output, operand, within } => format!(
            "#stablehlo.output_operand_alias<output_tuple_indices = {output:?}, operand_index = {operand}, \
             operand_tuple_indices = {within:?}>"
        ),
        Attribute::Sharding(_) => "unit".to_owned(),
    }
}

/// Returns a name. Quotes the name if it is not a word of MLIR's syntax.
fn name_text(name: &str) -> String {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_word = name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit() || b".$".contains(&byte));
    if is_word { name.to_owned() } else { quoted(name) }
}

/// Returns text in quotes. Each byte that is not a printable ASCII character becomes a backslash
/// and two hexadecimal digits.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte as char]),
            b' '..=b'~' => out.push(byte as char),
            _ => out += &format!("\\{byte:02X}"),
        }
    }
    out + "\""
}
