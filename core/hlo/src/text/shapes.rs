//! Reads shapes and layouts.

use super::lexer::{Cursor, parse_integer};
use super::source::{Fault, Parse, ensure_at};
use crate::shape::MAX_RANK;
use crate::{ArrayShape, ElementType, Layout, Shape};

/// Largest nesting depth of tuples. Programs nest tuples only a few levels deep. Functions that
/// read and compare tuples recurse, so the limit protects the stack.
pub(crate) const MAX_NESTING: usize = 256;

/// Whether the next text is a shape, not an opcode or a name.
pub(crate) fn shape_follows(cursor: &Cursor) -> bool {
    let mut ahead = *cursor;
    match ahead.peek() {
        Some(b'(') => true,
        _ => match ahead.word() {
            Some("b") => ahead.touches(b'('),
            Some("token" | "opaque") => ahead.touches(b'['),
            Some(word) => ahead.touches(b'[') && word.parse::<ElementType>().is_ok(),
            None => false,
        },
    }
}

pub(crate) fn shape(cursor: &mut Cursor) -> Parse<Shape> {
    nested_shape(cursor, 0)
}

fn nested_shape(cursor: &mut Cursor, depth: usize) -> Parse<Shape> {
    let at = cursor.at();
    if cursor.eat(b'(') {
        ensure_at!(depth < MAX_NESTING, at, "tuple shapes are nested more than {MAX_NESTING} deep");
        return cursor.list(b')', |cursor| nested_shape(cursor, depth + 1)).map(Shape::Tuple);
    }
    let word = cursor.expect_word("a shape")?;
    match word {
        "token" | "opaque" => {
            cursor.expect(b'[', "after the type")?;
            cursor.expect(b']', "after the type")?;
            Ok(if word == "token" { Shape::Token } else { Shape::Opaque })
        }
        "b" if cursor.touches(b'(') => Err(Fault::new(at, "buffer types, b(…), are not supported")),
        _ => {
            let element_type = word.parse::<ElementType>();
            let element_type = element_type.map_err(|()| Fault::new(at, format!("unknown element type `{word}`")))?;
            array(cursor, element_type).map(Shape::Array)
        }
    }
}

fn array(cursor: &mut Cursor, element_type: ElementType) -> Parse<ArrayShape> {
    let at = cursor.at();
    cursor.expect(b'[', "after the element type")?;
    let sizes = cursor.list(b']', dimension)?;
    ensure_at!(sizes.len() <= MAX_RANK, at, "the array has {} dimensions, more than {MAX_RANK}", sizes.len());
    let dims: Vec<i64> = sizes.iter().map(|&(size, _)| size).collect();
    let dynamic = if sizes.iter().any(|&(_, bound)| bound) {
        sizes.iter().map(|&(_, bound)| bound).collect()
    } else {
        Vec::new()
    };
    let layout = if layout_follows(cursor) { Some(layout(cursor)?) } else { None };
    let layout = layout.filter(|layout| !(layout.minor_to_major.is_empty() && layout.suffix.is_empty()));
    Ok(ArrayShape { element_type, dims, dynamic, layout })
}

/// Reads the size of a dimension, and whether this size is only a bound.
fn dimension(cursor: &mut Cursor) -> Parse<(i64, bool)> {
    let at = cursor.at();
    ensure_at!(!cursor.eat(b'?'), at, "dimensions without a bound, `?`, are not supported");
    let bound = cursor.eat_symbol("<=");
    let at = cursor.at();
    match cursor.integer("a dimension")? {
        size if size < 0 => Err(Fault::new(at, format!("the dimension {size} is negative or too large"))),
        size => Ok((size, bound)),
    }
}

/// Whether a layout follows. A brace before an integer or a colon begins a layout. Any other brace
/// begins the body of a computation. An empty pair of braces is a layout if it follows the shape
/// without a blank.
fn layout_follows(cursor: &Cursor) -> bool {
    let touches = cursor.touches(b'{');
    let mut ahead = *cursor;
    ahead.eat(b'{') && matches!((ahead.peek(), touches), (Some(b'0'..=b'9' | b':'), _) | (Some(b'}'), true))
}

pub(crate) fn layout(cursor: &mut Cursor) -> Parse<Layout> {
    let mut inner = braces(cursor)?;
    let mut minor_to_major = Vec::new();
    while !inner.is_done() && inner.peek() != Some(b':') {
        let at = inner.at();
        let word = inner.expect_word("a dimension number")?;
        let number = parse_integer(word).and_then(|n| usize::try_from(n).ok());
        minor_to_major
            .push(number.ok_or_else(|| Fault::new(at, format!("expected a dimension number, found `{word}`")))?);
        if inner.peek() != Some(b':') && !inner.is_done() {
            inner.expect(b',', "between dimension numbers of a layout")?;
        }
    }
    let suffix = if inner.eat(b':') { inner.rest().trim().to_owned() } else { String::new() };
    Ok(Layout { minor_to_major, suffix })
}

/// Returns a cursor over the text inside the next pair of braces.
pub(crate) fn braces<'t>(cursor: &mut Cursor<'t>) -> Parse<Cursor<'t>> {
    if cursor.peek() != Some(b'{') {
        return Err(cursor.unexpected("`{`"));
    }
    cursor.inside()
}
