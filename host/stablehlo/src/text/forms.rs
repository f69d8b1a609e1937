//! Operations with a syntax of their own.
//!
//! Most operations with a syntax of their own first list operands and named values, and then the
//! types.
//!
//! ```text
//! %2 = stablehlo.pad %0, %1, low = [0], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
//! ```

use fusebox_core::hlo::ElementType;

use super::attributes::{Named, attribute, convolution_dims, dictionary, fields, integer, integers, text};
use super::constants;
use super::cursor::{Cursor, Read};
use super::manual;
use super::reader::{Draft, Reader};
use super::sharding::sharding;
use super::types::{results, r#type};
use crate::program::{Attribute, Block, Location, Operation, Region, Type, ValueId};
use crate::tables::name_in_program;

/// Reads the rest of an operation, beginning with the operation's name.
pub(super) fn operation<'t>(reader: &mut Reader<'t>, cursor: &mut Cursor<'t>) -> Read<Draft> {
    let at = *cursor;
    let full = cursor.name()?;
    let name = name_in_program(full);
    let mut draft = Draft { name: name.to_owned(), ..Draft::default() };
    match name {
        "builtin.module" => module(reader, cursor, &mut draft)?,
        "func" => function(reader, cursor, &mut draft)?,
        "constant" => {
            if cursor.is_at("{") {
                dictionary(cursor, &mut draft.attributes)?;
            }
            cursor.expect("dense")?;
            let value = constants::dense(cursor)?;
            let dims = value.dims.iter().copied().map(Some).collect();
            draft.types = vec![Type::Array { element: value.elements.element_type, dims }];
            draft.set("value", Attribute::Array(value.into()));
        }
        "while" => while_loop(reader, cursor, &mut draft)?,
        "reduce" => reduce(reader, cursor, &mut draft)?,
        "sdy.mesh" => manual::named_mesh(cursor, &mut draft)?,
        "sdy.manual_computation" | "sdy.named_computation" => manual::computation(reader, cursor, &mut draft)?,
        "chlo.scan" => {
            return Err(at.error(format!("{full} in text is not supported: save the program as a portable artifact")));
        }
        _ => {
            callee(cursor, name, &mut draft)?;
            items(reader, cursor, &mut draft)?;
            types(cursor, &mut draft)?;
        }
    }
    Ok(draft)
}

fn module<'t>(reader: &mut Reader<'t>, cursor: &mut Cursor<'t>, draft: &mut Draft) -> Read<()> {
    if cursor.is_at("@") {
        draft.set("sym_name", text(cursor.marked("@")?));
    }
    if cursor.eat_word("attributes") {
        dictionary(cursor, &mut draft.attributes)?;
    }
    draft.regions.push(reader.region(cursor, Vec::new(), true)?);
    Ok(())
}

/// Reads a function: `public @name(%a: type {…}) -> (type {…}) attributes {…} {…}`.
fn function<'t>(reader: &mut Reader<'t>, cursor: &mut Cursor<'t>, draft: &mut Draft) -> Read<()> {
    for visibility in ["public", "private"] {
        if cursor.eat_word(visibility) {
            draft.set("sym_visibility", text(visibility));
        }
    }
    draft.set("sym_name", text(cursor.marked("@")?));
    let mut arg_attrs = Vec::new();
    let arguments = cursor.list(["(", ")"], |cursor| {
        let name = cursor.marked("%")?;
        cursor.expect(":")?;
        let of = r#type(cursor)?;
        arg_attrs.push(optional_dictionary(cursor)?);
        reader.location(cursor)?;
        Ok((name, of))
    })?;
    let (mut results, mut res_attrs) = (Vec::new(), Vec::new());
    if cursor.eat("->") {
        if cursor.is_at("(") {
            results = cursor.list(["(", ")"], |cursor| {
                let of = r#type(cursor)?;
                res_attrs.push(optional_dictionary(cursor)?);
                Ok(of)
            })?;
        } else {
            results.push(r#type(cursor)?);
        }
    }
    if cursor.eat_word("attributes") {
        dictionary(cursor, &mut draft.attributes)?;
    }
    let inputs: Vec<Type> = arguments.iter().map(|(_, of)| of.clone()).collect();
    let function_type = Type::Function { inputs: inputs.into(), results: results.into() };
    draft.set("function_type", Attribute::Type(function_type));
    draft.set("arg_attrs", Attribute::List(arg_attrs.into()));
    draft.set("res_attrs", Attribute::List(res_attrs.into()));
    draft.regions.push(reader.region(cursor, arguments, true)?);
    Ok(())
}

fn optional_dictionary(cursor: &mut Cursor) -> Read<Attribute> {
    let mut entries = Named::new();
    if cursor.is_at("{") {
        dictionary(cursor, &mut entries)?;
    }
    Ok(Attribute::Dictionary(entries.into()))
}

/// Reads a loop: `(%a = %init, …) : types attributes {…} cond {…} do {…}`.
fn while_loop<'t>(reader: &mut Reader<'t>, cursor: &mut Cursor<'t>, draft: &mut Draft) -> Read<()> {
    let names = cursor.list(["(", ")"], |cursor| {
        let name = cursor.marked("%")?;
        cursor.expect("=")?;
        draft.operands.push(reader.names.operand(cursor)?);
        Ok(name)
    })?;
    if cursor.eat(":") {
        draft.types = type_list(cursor)?;
    }
    if cursor.eat_word("attributes") {
        dictionary(cursor, &mut draft.attributes)?;
    }
    if names.len() != draft.types.len() {
        return Err(cursor.error("a loop needs a type for each of its values"));
    }
    let arguments: Vec<(String, Type)> = names.into_iter().zip(draft.types.iter().cloned()).collect();
    for region in ["cond", "do"] {
        cursor.expect(region)?;
        draft.regions.push(reader.region(cursor, arguments.clone(), false)?);
    }
    Ok(())
}

/// Reads a reduction: `(%a init: %b), … applies name across dimensions = [0] : types`. Instead of
/// `applies name`, the text may end with `reducer(%x: type, %y: type) … {…}`.
fn reduce<'t>(reader: &mut Reader<'t>, cursor: &mut Cursor<'t>, draft: &mut Draft) -> Read<()> {
    let mut initial = Vec::new();
    loop {
        cursor.expect("(")?;
        draft.operands.push(reader.names.operand(cursor)?);
        cursor.expect("init")?;
        cursor.expect(":")?;
        initial.push(reader.names.operand(cursor)?);
        cursor.expect(")")?;
        if !cursor.eat(",") {
            break;
        }
    }
    let applied = if cursor.eat_word("applies") { Some(name_in_program(cursor.name()?)) } else { None };
    cursor.expect("across")?;
    cursor.expect("dimensions")?;
    cursor.expect("=")?;
    draft.set("dimensions", integers(cursor.integers()?));
    let init = initial.first().copied();
    draft.operands.append(&mut initial);
    types(cursor, draft)?;
    if let (Some(applied), Some(init)) = (applied, init) {
        draft.regions.push(applying(reader, cursor, applied, init)?);
        return Ok(());
    }
    cursor.expect("reducer")?;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    while cursor.is_at("(") {
        let mut pair = cursor.list(["(", ")"], |cursor| reader.argument(cursor))?.into_iter();
        left.extend(pair.next());
        right.extend(pair);
    }
    left.append(&mut right);
    draft.regions.push(reader.region(cursor, left, false)?);
    Ok(())
}

/// Returns a region that applies an operation to two scalars of the type of `like`.
fn applying(reader: &mut Reader, cursor: &Cursor, name: &str, like: ValueId) -> Read<Region> {
    let scalar = reader.names.r#type(like).clone();
    let before = reader.names.enter(false);
    let arguments = reader.names.define(cursor, "", vec![scalar.clone(); 2])?;
    let results = reader.names.define(cursor, "", vec![scalar])?;
    reader.names.leave(before);
    let operation = |name: &str, operands: Vec<ValueId>, results| Operation {
        name: name.into(),
        operands,
        results,
        attributes: Vec::new(),
        regions: Vec::new(),
        location: Location::UNKNOWN,
    };
    let last = operation("return", results.clone(), Vec::new());
    let operations = vec![operation(name, arguments.clone(), results), last];
    Ok(Region { blocks: vec![Block { arguments, operations }] })
}

/// Reads the word before the operands: the name of a called function or of a composite, or the
/// direction of a comparison.
fn callee(cursor: &mut Cursor, name: &str, draft: &mut Draft) -> Read<()> {
    match name {
        "call" => draft.set("callee", Attribute::Symbol(cursor.marked("@")?.into())),
        "custom_call" => draft.set("call_target_name", text(cursor.marked("@")?)),
        "composite" => draft.set("name", text(cursor.string()?)),
        "compare" => {
            draft.set("comparison_direction", text(cursor.name()?));
            cursor.expect(",")?;
        }
        _ => {}
    }
    Ok(())
}

/// Reads operands and named values up to the types. Parentheses around the operands have no
/// meaning.
fn items<'t>(reader: &mut Reader<'t>, cursor: &mut Cursor<'t>, draft: &mut Draft) -> Read<()> {
    let is_in_parentheses = cursor.eat("(");
    loop {
        if cursor.is_at("%") {
            draft.operands.push(reader.names.operand(cursor)?);
            suffix(cursor, draft)?;
        } else if cursor.rest().starts_with(|c: char| c.is_ascii_alphabetic()) && !cursor.is_at("loc(") {
            named(cursor, draft)?;
        }
        if is_in_parentheses && cursor.eat(")") {
            // A convolution goes on with named values.
            cursor.eat(",");
            if !cursor.rest().starts_with(|c: char| c.is_ascii_alphabetic()) || cursor.is_at("loc(") {
                break;
            }
        } else if !cursor.eat(",") {
            break;
        }
    }
    if cursor.is_at("{") {
        dictionary(cursor, &mut draft.attributes)?;
    }
    Ok(())
}

/// Reads the text after an operand: the ranges of a slice, the index of a tuple's element, or a
/// sharding.
fn suffix(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    match &*draft.name {
        "slice" => {
            let (mut starts, mut limits, mut strides) = (Vec::new(), Vec::new(), Vec::new());
            cursor.list(["[", "]"], |cursor| {
                starts.push(cursor.integer()?);
                cursor.expect(":")?;
                limits.push(cursor.integer()?);
                strides.push(if cursor.eat(":") { cursor.integer()? } else { 1 });
                Ok(())
            })?;
            draft.set("start_indices", integers(starts));
            draft.set("limit_indices", integers(limits));
            draft.set("strides", integers(strides));
        }
        "get_tuple_element" => {
            cursor.expect("[")?;
            draft.set("index", integer(cursor.integer()?));
            cursor.expect("]")?;
        }
        "sdy.sharding_constraint" => draft.set("sharding", sharding(cursor)?),
        "sdy.sharding_group" | "sdy.propagation_barrier" => named(cursor, draft)?,
        _ => {}
    }
    Ok(())
}

/// Reads a named value, or the order of a comparison, which has no name.
fn named(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    let at = *cursor;
    let key = cursor.name()?;
    if !cursor.eat("=") {
        if draft.name == "compare" {
            draft.set("compare_type", text(key));
            return Ok(());
        }
        return Err(at.error(format!("{key} needs a value")));
    }
    match (&*draft.name, key) {
        ("dot_general", "batching_dims") => pair(cursor, draft, "batching_dimensions"),
        ("dot_general", "contracting_dims") => pair(cursor, draft, "contracting_dimensions"),
        ("dot_general", "algorithm") => fields(cursor, &mut draft.attributes),
        ("dot" | "dot_general", "precision") => {
            let names = cursor.list(["[", "]"], |cursor| Ok(text(cursor.name()?)))?;
            draft.set("precision_config", Attribute::List(names.into()));
            Ok(())
        }
        ("convolution" | "dynamic_conv", "dim_numbers") => convolution_dims(cursor, &mut draft.attributes),
        ("convolution" | "dynamic_conv", "window") => window(cursor, draft),
        ("reduce_precision", "format") => format(cursor, draft),
        (operation, key) => {
            let name = attribute_of(operation, key).ok_or_else(|| at.error(format!("{operation} has no {key}")))?;
            // An integer has no type here: a colon after it precedes the types of the operation.
            let value = match cursor.rest().chars().next() {
                Some(first) if first.is_ascii_uppercase() => text(cursor.name()?),
                Some(first) if first.is_ascii_digit() || first == '-' => integer(cursor.integer()?),
                _ => attribute(cursor)?,
            };
            draft.set(name, value);
            Ok(())
        }
    }
}

/// Returns the name of the attribute that the operation's text calls `key`.
fn attribute_of(operation: &str, key: &str) -> Option<&'static str> {
    Some(match (operation, key) {
        ("broadcast", "sizes") => "broadcast_sizes",
        ("broadcast_in_dim" | "dynamic_broadcast_in_dim", "dims") => "broadcast_dimensions",
        ("concatenate" | "get_dimension_size" | "set_dimension_size", "dim") => "dimension",
        ("dynamic_broadcast_in_dim", "known_expanding_dims") => "known_expanding_dimensions",
        ("dynamic_broadcast_in_dim", "known_nonexpanding_dims") => "known_nonexpanding_dimensions",
        ("iota" | "dynamic_iota", "dim") => "iota_dimension",
        ("transpose", "dims") => "permutation",
        ("reverse", "dims") => "dimensions",
        ("dynamic_slice", "sizes") => "slice_sizes",
        ("pad", "low") => "edge_padding_low",
        ("pad", "high") => "edge_padding_high",
        ("pad", "interior") => "interior_padding",
        ("fft", "type") => "fft_type",
        ("fft", "length") => "fft_length",
        ("rng", "distribution") => "rng_distribution",
        ("rng_bit_generator", "algorithm") => "rng_algorithm",
        ("cholesky", "lower") => "lower",
        ("chlo.top_k", "k") => "k",
        ("sdy.sharding_group", "group_id") => "group_id",
        ("sdy.propagation_barrier", "allowed_direction") => "allowed_direction",
        _ => return None,
    })
}

/// Reads `[0] x [1]`: dimensions of the left and of the right operand.
fn pair(cursor: &mut Cursor, draft: &mut Draft, name: &str) -> Read<()> {
    draft.set(&format!("lhs_{name}"), integers(cursor.integers()?));
    cursor.expect("x")?;
    draft.set(&format!("rhs_{name}"), integers(cursor.integers()?));
    Ok(())
}

/// Reads the window of a convolution, for example `{stride = [2, 2], pad = [[0, 1], [0, 1]]}`.
fn window(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    cursor.list(["{", "}"], |cursor| {
        let at = *cursor;
        let name = match cursor.name()? {
            "stride" => "window_strides",
            "pad" => "padding",
            "lhs_dilate" => "lhs_dilation",
            "rhs_dilate" => "rhs_dilation",
            "reverse" => "window_reversal",
            other => return Err(at.error(format!("a window has no {other}"))),
        };
        cursor.expect("=")?;
        let value = match name {
            "padding" => integers(cursor.list(["[", "]"], Cursor::integers)?.concat()),
            _ => attribute(cursor)?,
        };
        draft.set(name, value);
        Ok(())
    })?;
    Ok(())
}

/// Reads a float format: `e5m10` has 5 bits of exponent and 10 of mantissa.
fn format(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    let at = *cursor;
    let bits = cursor.name()?.strip_prefix('e').and_then(|bits| bits.split_once('m'));
    let bits = bits.and_then(|(exponent, mantissa)| Some((exponent.parse().ok()?, mantissa.parse().ok()?)));
    let (exponent, mantissa) = bits.ok_or_else(|| at.error("a format such as e5m10 is needed here"))?;
    draft.set("exponent_bits", Attribute::Integer(ElementType::S32, exponent));
    draft.set("mantissa_bits", Attribute::Integer(ElementType::S32, mantissa));
    Ok(())
}

/// Reads the types: a function type with the types of operands and results, or only as many types
/// as the operation needs.
fn types(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    if cursor.is_at("{") {
        dictionary(cursor, &mut draft.attributes)?;
    }
    let is_return = matches!(&*draft.name, "return" | "sdy.return" | "sdy.sharding_group");
    if !cursor.eat(":") {
        if is_return && draft.operands.is_empty() || draft.name == "tuple" {
            return Ok(());
        }
        return Err(cursor.error(format!("the types of {} are missing", draft.name)));
    }
    let mut ahead = *cursor;
    let is_function = ahead.is_at("(") && ahead.skip_bracketed('(', ')').is_ok() && ahead.is_at("->");
    let mut list = if is_function { cursor.list(["(", ")"], r#type)? } else { type_list(cursor)? };
    draft.types = if cursor.eat("->") {
        results(cursor)?
    } else if is_return {
        Vec::new()
    } else if draft.name == "optimization_barrier" {
        list
    } else {
        // All values have one type, or the last type is that of the result.
        list.pop().into_iter().collect()
    };
    Ok(())
}

fn type_list(cursor: &mut Cursor) -> Read<Vec<Type>> {
    let mut types = vec![r#type(cursor)?];
    while cursor.eat(",") {
        types.push(r#type(cursor)?);
    }
    Ok(types)
}
