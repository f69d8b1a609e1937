//! Converts literals to and from messages. A message stores a literal's elements in the order of
//! the shape's layout. Fusebox's own literals store their elements in row-major order.

use super::shapes::{read_shape, write_array, write_shape};
use crate::message::data;
use crate::{ArrayLiteral, ArrayShape, ElementType, Layout, Literal, Shape};

/// Converts a literal to a message whose elements are in the order of the instruction's layout.
pub(super) fn write_literal(literal: &Literal, shape: &Shape) -> data::Literal {
    match (literal, shape) {
        (Literal::Array(array), Shape::Array(shape)) => write_array_literal(array, shape),
        (Literal::Array(array), _) => write_array_literal(array, &array.shape()),
        (Literal::Token, _) => data::Literal { shape: Some(write_shape(&Shape::Token)), ..Default::default() },
        (Literal::Tuple(elements), _) => {
            let shapes = shape.as_tuple().unwrap_or_default();
            let write = |(position, element): (usize, &Literal)| match shapes.get(position) {
                Some(shape) => write_literal(element, shape),
                None => write_literal(element, &element.shape()),
            };
            data::Literal {
                shape: Some(write_shape(shape)),
                tuple_literals: elements.iter().enumerate().map(write).collect(),
                ..Default::default()
            }
        }
    }
}

fn write_array_literal(literal: &ArrayLiteral, shape: &ArrayShape) -> data::Literal {
    let size = literal.element_type.byte_size();
    let mut bytes = Vec::with_capacity(literal.data.len());
    match physical_order(&literal.dims, shape.layout.as_ref()) {
        None => bytes.extend_from_slice(&literal.data),
        Some(order) => order.iter().for_each(|&at| bytes.extend_from_slice(&literal.data[at * size..(at + 1) * size])),
    }
    let mut message = data::Literal { shape: Some(write_array(shape)), ..Default::default() };
    // Sub-byte integers are written zero-extended.
    if literal.element_type.is_signed_integer() && literal.element_type.bits() < 8 {
        bytes.iter_mut().for_each(|byte| *byte &= (1 << literal.element_type.bits()) - 1);
    }
    elements(&mut message, literal.element_type).set(&bytes);
    message
}

/// A field of a message that holds elements of one type. The methods convert the field's elements
/// to and from the bytes of fusebox's literals.
trait Elements {
    fn set(&mut self, bytes: &[u8]);
    fn bytes(&self) -> Vec<u8>;
}

impl Elements for Vec<bool> {
    fn set(&mut self, bytes: &[u8]) {
        *self = bytes.iter().map(|&byte| byte != 0).collect();
    }

    fn bytes(&self) -> Vec<u8> {
        self.iter().map(|&value| value.into()).collect()
    }
}

macro_rules! numbers {
    ($($type:ty,)*) => { $(
        impl Elements for Vec<$type> {
            fn set(&mut self, bytes: &[u8]) {
                *self = bytes.as_chunks().0.iter().map(|&word| <$type>::from_le_bytes(word)).collect();
            }

            fn bytes(&self) -> Vec<u8> {
                self.iter().flat_map(|value| value.to_le_bytes()).collect()
            }
        }
    )* };
}

numbers! { u8, i32, i64, u32, u64, f32, f64, }

/// Returns the message's field for elements of type `element_type`. If messages have no numeric
/// field for a type, a field of plain bytes stores the elements.
fn elements(message: &mut data::Literal, element_type: ElementType) -> &mut dyn Elements {
    match element_type {
        ElementType::Pred => &mut message.preds,
        ElementType::S1 => &mut message.s1s,
        ElementType::S2 => &mut message.s2s,
        ElementType::S4 => &mut message.s4s,
        ElementType::S8 => &mut message.s8s,
        ElementType::S16 => &mut message.s16s,
        ElementType::S32 => &mut message.s32s,
        ElementType::S64 => &mut message.s64s,
        ElementType::U1 => &mut message.u1s,
        ElementType::U2 => &mut message.u2s,
        ElementType::U4 => &mut message.u4s,
        ElementType::U8 => &mut message.u8s,
        ElementType::U16 => &mut message.u16s,
        ElementType::U32 => &mut message.u32s,
        ElementType::U64 => &mut message.u64s,
        ElementType::F4E2M1FN => &mut message.f4e2m1fns,
        ElementType::F6E2M3FN => &mut message.f6e2m3fns,
        ElementType::F6E3M2FN => &mut message.f6e3m2fns,
        ElementType::F8E3M4 => &mut message.f8e3m4s,
        ElementType::F8E4M3 => &mut message.f8e4m3s,
        ElementType::F8E4M3FN => &mut message.f8e4m3fns,
        ElementType::F8E4M3B11FNUZ => &mut message.f8e4m3b11fnuzs,
        ElementType::F8E4M3FNUZ => &mut message.f8e4m3fnuzs,
        ElementType::F8E5M2 => &mut message.f8e5m2s,
        ElementType::F8E5M2FNUZ => &mut message.f8e5m2fnuzs,
        ElementType::F8E8M0FNU => &mut message.f8e8m0fnus,
        ElementType::F16 => &mut message.f16s,
        ElementType::BF16 => &mut message.bf16s,
        ElementType::F32 => &mut message.f32s,
        ElementType::F64 => &mut message.f64s,
        ElementType::C64 => &mut message.c64s,
        ElementType::C128 => &mut message.c128s,
    }
}

pub(super) fn read_literal(mut message: data::Literal) -> Result<Literal, String> {
    let shape = message.shape.as_ref().ok_or("a literal has no shape").map_err(str::to_owned)?;
    match read_shape(shape)? {
        Shape::Token => Ok(Literal::Token),
        Shape::Opaque => Err("a literal cannot be opaque".to_owned()),
        Shape::Array(shape) => read_array_literal(&mut message, &shape).map(Literal::Array),
        Shape::Tuple(shapes) => {
            let elements: Vec<Literal> =
                message.tuple_literals.into_iter().map(read_literal).collect::<Result<_, _>>()?;
            if elements.len() == shapes.len() {
                Ok(Literal::Tuple(elements))
            } else {
                Err(format!("a tuple literal has {} of {} elements", elements.len(), shapes.len()))
            }
        }
    }
}

fn read_array_literal(message: &mut data::Literal, shape: &ArrayShape) -> Result<ArrayLiteral, String> {
    let mut stored = elements(message, shape.element_type).bytes();
    normalise_narrow(&mut stored, shape.element_type);
    let wrong = |expected| format!("the literal {shape} has {} bytes of data, needs {expected}", stored.len());
    if stored.len() as i64 != shape.byte_size() {
        return Err(wrong(shape.byte_size()));
    }
    let size = shape.element_type.byte_size();
    let data = match physical_order(&shape.dims, shape.layout.as_ref()) {
        None => stored,
        Some(order) => {
            let mut data = vec![0; stored.len()];
            for (from, to) in order.into_iter().enumerate() {
                data[to * size..(to + 1) * size].copy_from_slice(&stored[from * size..(from + 1) * size]);
            }
            data
        }
    };
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), data)
        .map_err(|expected| format!("needs {expected} bytes"))
}

/// Sign-extends signed sub-byte values to a byte, and zero-extends unsigned sub-byte values.
fn normalise_narrow(stored: &mut [u8], element_type: ElementType) {
    let bits = element_type.bits();
    if bits >= 8 || element_type == ElementType::Pred {
        return;
    }
    let shift = 8 - bits;
    for byte in stored {
        *byte = if element_type.is_signed_integer() {
            ((*byte << shift) as i8 >> shift) as u8
        } else {
            (*byte << shift) >> shift
        };
    }
}

/// Returns the row-major position of each element, listed in the order of the layout. Returns
/// `None` if the layout is row-major or is not a permutation, or if the array is empty.
fn physical_order(dims: &[i64], layout: Option<&Layout>) -> Option<Vec<usize>> {
    let layout = layout.filter(|layout| !layout.is_row_major())?;
    let rank = dims.len();
    let is_permutation =
        layout.minor_to_major.len() == rank && (0..rank).all(|dim| layout.minor_to_major.contains(&dim));
    if !is_permutation {
        return None;
    }
    if dims.contains(&0) {
        return None;
    }
    let mut strides = vec![1usize; rank];
    for dim in (1..rank).rev() {
        strides[dim - 1] = strides[dim] * dims[dim] as usize;
    }
    let count = dims.iter().map(|&size| size as usize).product();
    let mut index = vec![0i64; rank];
    let mut order = Vec::with_capacity(count);
    for _ in 0..count {
        order.push(index.iter().zip(&strides).map(|(&at, &stride)| at as usize * stride).sum());
        for &dim in &layout.minor_to_major {
            index[dim] += 1;
            if index[dim] < dims[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    Some(order)
}
