//! Results in words: shape, smallest, largest, mean, checksum; or all values.

use fusebox_core::hlo::{ArrayLiteral, Literal};

use crate::numbers;

/// One line per array of a result, and its values if they are wanted.
pub fn describe(result: &Literal, with_values: bool) -> String {
    let leaves = result.leaves().into_iter().enumerate();
    leaves.map(|(index, leaf)| describe_leaf(index, leaf, with_values)).collect()
}

fn describe_leaf(index: usize, leaf: &Literal, with_values: bool) -> String {
    let Literal::Array(array) = leaf else { return format!("result {index}: token\n") };
    let line = format!("result {index}: {} {} checksum {:016x}\n", shape(array), summary(array), checksum(&array.data));
    match with_values {
        true => format!("{line}{}\n", nested(&numbers::texts(array), &array.dims)),
        false => line,
    }
}

fn shape(array: &ArrayLiteral) -> String {
    let dims: Vec<String> = array.dims.iter().map(i64::to_string).collect();
    format!("{}[{}]", array.element_type, dims.join(","))
}

fn summary(array: &ArrayLiteral) -> String {
    let scalar = array.element_type.real_part();
    let values: Vec<f64> =
        array.data.chunks_exact(scalar.byte_size()).map(|bytes| numbers::value(scalar, bytes)).collect();
    if values.is_empty() {
        return "empty".into();
    }
    let smallest = values.iter().copied().fold(f64::NAN, f64::min);
    let largest = values.iter().copied().fold(f64::NAN, f64::max);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let parts = if array.element_type.is_complex() { "parts: " } else { "" };
    format!("{parts}min {smallest} max {largest} mean {mean}")
}

/// FNV-1a of the bytes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn nested(elements: &[String], dims: &[i64]) -> String {
    match dims {
        [] => elements.first().cloned().unwrap_or_default(),
        [_] => format!("{{{}}}", elements.join(", ")),
        [first, rest @ ..] => {
            let size = elements.len() / (*first).max(1) as usize;
            let parts: Vec<String> = elements.chunks(size.max(1)).map(|part| nested(part, rest)).collect();
            format!("{{{}}}", parts.join(",\n "))
        }
    }
}
