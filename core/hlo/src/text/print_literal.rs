//! Prints the values of constants.

use std::fmt::{self, Write};

use super::print::PrintOptions;
use crate::{ArrayLiteral, ElementType, FloatFormat, Literal};

pub(super) fn write_literal(out: &mut String, literal: &Literal, options: &PrintOptions) -> fmt::Result {
    match literal {
        Literal::Array(array) if options.elide_above.is_some_and(|limit| array.element_count() > limit) => {
            out.write_str("{...}")
        }
        Literal::Array(array) => write_array(out, array),
        Literal::Token => Ok(()),
        Literal::Tuple(elements) => {
            out.push('(');
            for (position, element) in elements.iter().enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                write_literal(out, element, options)?;
            }
            out.write_str(")")
        }
    }
}

/// Prints the elements, with one level of braces per dimension.
fn write_array(out: &mut String, array: &ArrayLiteral) -> fmt::Result {
    let rank = array.dims.len();
    if rank == 0 {
        return write_element(out, array, 0);
    }
    // Index of the next element in each open level of braces.
    let mut at = vec![0i64];
    let mut next = 0;
    out.push('{');
    while let Some(&position) = at.last() {
        let level = at.len() - 1;
        if position == array.dims[level] {
            out.push('}');
            at.pop();
            if let Some(outer) = at.last_mut() {
                *outer += 1;
            }
            continue;
        }
        out.push_str(if position > 0 { ", " } else { "" });
        if level + 1 < rank {
            out.push('{');
            at.push(0);
        } else {
            write_element(out, array, next)?;
            next += 1;
            at[level] += 1;
        }
    }
    Ok(())
}

fn write_element(out: &mut String, array: &ArrayLiteral, index: usize) -> fmt::Result {
    let size = array.element_type.byte_size();
    let bytes = &array.data[index * size..(index + 1) * size];
    if !array.element_type.is_complex() {
        return write_real(out, array.element_type, bytes);
    }
    let (real, imaginary) = bytes.split_at(size / 2);
    let part = array.element_type.real_part();
    out.push('(');
    write_real(out, part, real)?;
    out.push_str(", ");
    write_real(out, part, imaginary)?;
    out.write_str(")")
}

fn write_real(out: &mut String, element_type: ElementType, bytes: &[u8]) -> fmt::Result {
    let mut word = [0u8; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    match FloatFormat::of(element_type) {
        Some(format) => write_float(out, element_type, format, bits),
        None if element_type == ElementType::Pred => out.write_str(if bits == 0 { "false" } else { "true" }),
        None if element_type.is_signed_integer() => {
            let shift = 64 - 8 * bytes.len() as u32;
            write!(out, "{}", ((bits << shift) as i64) >> shift)
        }
        None => write!(out, "{bits}"),
    }
}

fn write_float(out: &mut String, element_type: ElementType, format: FloatFormat, bits: u64) -> fmt::Result {
    if format.is_nan(bits) {
        let sign = if bits & format.sign_bit() != 0 && bits != format.sign_bit() { "-" } else { "" };
        write!(out, "{sign}nan")?;
        let default = format.nan_bits().unwrap_or(0);
        return match (bits ^ default) & !format.sign_bit() {
            0 => Ok(()),
            _ => write!(out, "(0x{:x})", bits & ((1 << format.mantissa_bits) - 1)),
        };
    }
    let value = format.decode(bits);
    if value.is_infinite() {
        return out.write_str(if value > 0.0 { "inf" } else { "-inf" });
    }
    // XLA's parser would read `-0` as an integer, and lose the sign.
    if value == 0.0 {
        return out.write_str(if value.is_sign_negative() { "-0.0" } else { "0" });
    }
    let plain = (1e-5..1e16).contains(&value.abs());
    match element_type {
        ElementType::F32 if plain => write!(out, "{}", value as f32),
        ElementType::F32 => write!(out, "{:e}", value as f32),
        _ if plain => write!(out, "{value}"),
        _ => write!(out, "{value:e}"),
    }
}
