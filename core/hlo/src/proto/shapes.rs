//! Converts shapes and layouts to and from messages.

use crate::message::data;
use crate::shape::MAX_RANK;
use crate::text::lexer::Cursor;
use crate::text::pieces::joined;
use crate::{ArrayShape, ElementType, Layout, Shape};

const TUPLE: i32 = 13;
const OPAQUE: i32 = 14;
const TOKEN: i32 = 17;

pub(super) fn write_shape(shape: &Shape) -> data::Shape {
    let of_type = |element_type| data::Shape { element_type, ..Default::default() };
    match shape {
        Shape::Array(array) => write_array(array),
        Shape::Tuple(elements) => {
            data::Shape { tuple_shapes: elements.iter().map(write_shape).collect(), ..of_type(TUPLE) }
        }
        Shape::Token => of_type(TOKEN),
        Shape::Opaque => of_type(OPAQUE),
    }
}

pub(super) fn write_array(array: &ArrayShape) -> data::Shape {
    let is_dynamic = if array.dynamic.is_empty() { vec![false; array.rank()] } else { array.dynamic.clone() };
    data::Shape {
        element_type: array.element_type.number(),
        dimensions: array.dims.clone(),
        tuple_shapes: Vec::new(),
        layout: Some(write_layout(array.layout.as_ref(), array.rank())),
        is_dynamic_dimension: is_dynamic,
    }
}

fn write_layout(layout: Option<&Layout>, rank: usize) -> data::Layout {
    let implied = layout.is_none() && rank > 0;
    let written = layout.cloned().unwrap_or_else(|| Layout::row_major(rank));
    let mut message = parse_suffix(&written.suffix).unwrap_or_default();
    message.minor_to_major = written.minor_to_major.iter().map(|&dim| dim as i64).collect();
    message.tail_padding_alignment_in_elements = message.tail_padding_alignment_in_elements.max(1);
    message.implied = implied;
    if suffix_text(&message) != written.suffix {
        message.suffix = Some(written.suffix);
    }
    message
}

/// Parses the suffix of a layout: tiles, element size, memory space and tail padding. Returns
/// `None` if the suffix contains anything else.
fn parse_suffix(suffix: &str) -> Option<data::Layout> {
    let mut layout = data::Layout::default();
    let mut cursor = Cursor::new(suffix);
    while !cursor.is_done() {
        let field = cursor.word()?;
        let numbers = |cursor: &mut Cursor| {
            cursor.expect(b'(', "").ok()?;
            cursor.list(b')', |cursor| cursor.integer("a number")).ok()
        };
        match field {
            "T" => {
                while cursor.peek() == Some(b'(') {
                    layout.tiles.push(data::Tile { dimensions: numbers(&mut cursor)? });
                }
            }
            "L" => layout.tail_padding_alignment_in_elements = *numbers(&mut cursor)?.first()?,
            "E" => layout.element_size_in_bits = *numbers(&mut cursor)?.first()?,
            "S" => layout.memory_space = *numbers(&mut cursor)?.first()?,
            _ => return None,
        }
    }
    Some(layout)
}

fn suffix_text(layout: &data::Layout) -> String {
    let mut text = String::new();
    if !layout.tiles.is_empty() {
        text.push('T');
    }
    for tile in &layout.tiles {
        text += &format!("({})", joined(&tile.dimensions, ","));
    }
    let fields = [
        ('L', layout.tail_padding_alignment_in_elements, 1),
        ('E', layout.element_size_in_bits, 0),
        ('S', layout.memory_space, 0),
    ];
    for (name, value, _) in fields.into_iter().filter(|&(_, value, usual)| value != usual && value != 0) {
        text += &format!("{name}({value})");
    }
    text
}

pub(super) fn read_shape(message: &data::Shape) -> Result<Shape, String> {
    match message.element_type {
        TUPLE => message.tuple_shapes.iter().map(read_shape).collect::<Result<_, _>>().map(Shape::Tuple),
        TOKEN => Ok(Shape::Token),
        OPAQUE => Ok(Shape::Opaque),
        number => {
            let known = ElementType::ALL.iter().find(|known| known.number() == number);
            let element_type = known.ok_or_else(|| format!("element type {number} is not known"))?;
            read_array(message, *element_type).map(Shape::Array)
        }
    }
}

/// Reads a shape, and fails if the shape is missing.
pub(super) fn read_required(message: Option<&data::Shape>, what: &str) -> Result<Shape, String> {
    message.ok_or_else(|| format!("{what} has no shape")).and_then(read_shape)
}

fn read_array(message: &data::Shape, element_type: ElementType) -> Result<ArrayShape, String> {
    let dims = message.dimensions.clone();
    if let Some(size) = dims.iter().find(|&&size| size < 0) {
        return Err(format!("a dimension of size {size} is not supported"));
    }
    ensure!(dims.len() <= MAX_RANK, "an array has {} dimensions, more than {MAX_RANK}", dims.len());
    let any_dynamic = message.is_dynamic_dimension.contains(&true);
    let dynamic = if any_dynamic { message.is_dynamic_dimension.clone() } else { Vec::new() };
    let layout = message.layout.as_ref().filter(|layout| !layout.implied).map(read_layout).transpose()?;
    let layout = layout.filter(|layout| !layout.minor_to_major.is_empty() || !layout.suffix.is_empty());
    Ok(ArrayShape { element_type, dims, dynamic, layout })
}

fn read_layout(message: &data::Layout) -> Result<Layout, String> {
    let number = |&dim: &i64| usize::try_from(dim).map_err(|_| format!("a layout names dimension {dim}"));
    let minor_to_major = message.minor_to_major.iter().map(number).collect::<Result<_, _>>()?;
    let suffix = message.suffix.clone().unwrap_or_else(|| suffix_text(message));
    Ok(Layout { minor_to_major, suffix })
}
