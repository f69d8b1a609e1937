//! Types in text.

use fusebox_core::hlo::ElementType;

use super::cursor::{Cursor, Read};
use crate::program::Type;

/// Maximum nesting depth of tuple and function types. The reader refuses more deeply nested types,
/// so that its recursion needs a bounded stack.
const MAX_DEPTH: usize = 64;
/// Largest number of elements of an array. A larger array does not fit in any memory, and its size
/// in bytes may overflow.
const MOST_ELEMENTS: i64 = 1 << 48;

/// Reads a type.
pub(super) fn r#type(cursor: &mut Cursor) -> Read<Type> {
    nested(cursor, 0)
}

fn nested(cursor: &mut Cursor, depth: usize) -> Read<Type> {
    if depth == MAX_DEPTH {
        return Err(cursor.error(format!("types are nested more than {MAX_DEPTH} deep")));
    }
    if cursor.is_at("(") {
        let inputs = cursor.list(["(", ")"], |cursor| nested(cursor, depth + 1))?;
        cursor.expect("->")?;
        return Ok(Type::Function { inputs: inputs.into(), results: results_nested(cursor, depth)?.into() });
    }
    if cursor.eat("!") {
        return match cursor.name()? {
            "stablehlo.token" => Ok(Type::Token),
            other => {
                let name = format!("!{other}");
                if cursor.is_at("<") {
                    cursor.skip_bracketed('<', '>')?;
                }
                Ok(Type::Unsupported(name.into()))
            }
        };
    }
    if cursor.eat_word("tensor") {
        cursor.expect("<")?;
        let array = array(cursor)?;
        cursor.expect(">")?;
        return Ok(array);
    }
    if cursor.eat_word("tuple") {
        let elements = cursor.list(["<", ">"], |cursor| nested(cursor, depth + 1))?;
        return Ok(Type::Tuple(elements.into()));
    }
    if cursor.eat_word("none") {
        return Ok(Type::None);
    }
    Ok(match element(cursor)? {
        Ok(element) => Type::Element(element),
        Err(name) => Type::Unsupported(name.into()),
    })
}

/// Reads the results of a function: types in parentheses, or one type.
pub(super) fn results(cursor: &mut Cursor) -> Read<Vec<Type>> {
    results_nested(cursor, 0)
}

fn results_nested(cursor: &mut Cursor, depth: usize) -> Read<Vec<Type>> {
    if cursor.is_at("(") {
        return cursor.list(["(", ")"], |cursor| nested(cursor, depth + 1));
    }
    Ok(vec![nested(cursor, depth + 1)?])
}

/// Reads dimensions and the element type of an array, as in `2x?x3xf32`.
fn array(cursor: &mut Cursor) -> Read<Type> {
    let mut dims = Vec::new();
    let mut elements = 1i64;
    loop {
        if cursor.eat("?") {
            dims.push(None);
        } else if cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let size = cursor.integer()?;
            elements = elements.saturating_mul(size.max(1));
            if elements > MOST_ELEMENTS {
                return Err(cursor.error("an array is too large"));
            }
            dims.push(Some(size));
        } else {
            break;
        }
        cursor.expect("x")?;
    }
    let element = element(cursor)?;
    if cursor.eat(",") {
        while !cursor.is_at(">") {
            if cursor.is_at("<") {
                cursor.skip_bracketed('<', '>')?;
            } else if cursor.while_is(|c| !matches!(c, '<' | '>')).is_empty() {
                return Err(cursor.error("the type has no end"));
            }
        }
        return Ok(Type::Unsupported("an array with an encoding".into()));
    }
    Ok(match element {
        Ok(element) => Type::Array { element, dims },
        Err(name) => Type::Unsupported(name.into()),
    })
}

/// Reads an element type, or the name of an unsupported element type.
fn element(cursor: &mut Cursor) -> Read<Result<ElementType, String>> {
    if cursor.eat_word("complex") {
        cursor.expect("<")?;
        let part = element(cursor)?;
        cursor.expect(">")?;
        return Ok(match part {
            Ok(ElementType::F32) => Ok(ElementType::C64),
            Ok(ElementType::F64) => Ok(ElementType::C128),
            Ok(other) => Err(format!("complex<{other}>")),
            Err(name) => Err(name),
        });
    }
    let name = cursor.name()?;
    if name.starts_with('!') {
        return Ok(Err(name.to_owned()));
    }
    // MLIR's integers without sign are signed in StableHLO. `index` has the 64 bits of addresses.
    let hlo = match name {
        "i1" => "pred".to_owned(),
        "index" => "s64".to_owned(),
        _ => match (name.strip_prefix("ui"), name.strip_prefix("si").or(name.strip_prefix('i'))) {
            (Some(bits), _) => format!("u{bits}"),
            (None, Some(bits)) => format!("s{bits}"),
            (None, None) => name.to_lowercase(),
        },
    };
    Ok(hlo.parse().map_err(|()| name.to_owned()))
}
