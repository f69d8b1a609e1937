//! Constant arrays as text.

use fusebox_core::hlo::ElementType;

use super::types::element;
use crate::program::Constant;

/// Largest number of elements that are printed one by one. The elements of larger arrays are
/// printed as hexadecimal digits, which are shorter than a list.
const MOST_LISTED: usize = 64;

/// Returns the text of a constant array: `dense<…> : tensor<…>`.
pub(super) fn dense(constant: &Constant) -> String {
    let dims: String = constant.dims.iter().map(|dim| format!("{dim}x")).collect();
    let of = constant.elements.element_type;
    let bytes = &constant.elements.data[..];
    let count = constant.elements.element_count();
    // How hexadecimal digits contain narrow integers and predicates depends on MLIR's version.
    let elements = if of.bits() >= 8 && count > MOST_LISTED {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("\"0x{digits}\"")
    } else if bytes.is_empty() {
        String::new()
    } else {
        let texts: Vec<String> = bytes.chunks_exact(of.byte_size()).map(|bytes| scalar(of, bytes)).collect();
        match &texts[..] {
            // One element stands for all elements of an array.
            [only] => only.clone(),
            texts => nested(texts, &constant.dims),
        }
    };
    format!("dense<{elements}> : tensor<{dims}{}>", element(of))
}

/// Returns elements in brackets: `[[1, 2], [3, 4]]`.
fn nested(texts: &[String], dims: &[i64]) -> String {
    let rows = match dims {
        [] | [_] => texts.to_vec(),
        [_, inner @ ..] => {
            let size = inner.iter().product::<i64>().max(1) as usize;
            texts.chunks(size).map(|part| nested(part, inner)).collect()
        }
    };
    format!("[{}]", rows.join(", "))
}

/// Returns one element.
fn scalar(of: ElementType, bytes: &[u8]) -> String {
    if of.is_complex() {
        let (real, imaginary) = bytes.split_at(bytes.len() / 2);
        return format!("({}, {})", scalar(of.real_part(), real), scalar(of.real_part(), imaginary));
    }
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(all);
    match of.float_format() {
        Some(format) => float(of, bits, format.decode(bits)),
        None if !of.is_integer() => (bits != 0).to_string(),
        None if of.is_signed_integer() => {
            let unused = 64 - 8 * bytes.len() as u32;
            ((bits << unused) as i64 >> unused).to_string()
        }
        None => bits.to_string(),
    }
}

/// Returns a finite float in decimal digits, which readers convert to the same bits. Returns the
/// bits of an infinity or a NaN in hexadecimal digits.
pub(super) fn float(of: ElementType, bits: u64, value: f64) -> String {
    if !value.is_finite() {
        return format!("0x{bits:0width$X}", width = of.byte_size() * 2);
    }
    // Readers parse double precision first, and then round. Fewer digits suffice if this gives the
    // same `f32`.
    let short = format!("{:e}", value as f32);
    let is_enough = of == ElementType::F32 && short.parse::<f64>().is_ok_and(|parsed| parsed as f32 == value as f32);
    let text = if is_enough { short } else { format!("{value:e}") };
    // MLIR's floats have a point.
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}
