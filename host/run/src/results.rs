//! Writes results as text: shape, smallest and largest value, mean and checksum, and on request all
//! values. The text is written incrementally, because a text of all values takes many times the
//! memory of the values.

use std::io::{self, Write};

use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_core::ir::fnv1a;

use crate::numbers;

/// Writes one line per array of a result, and at most `most_values` values of each array.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, result: &Literal, most_values: usize) -> io::Result<()> {
    for (index, leaf) in result.leaves().into_iter().enumerate() {
        let Literal::Array(array) = leaf else {
            writeln!(out, "result {index}: token")?;
            continue;
        };
        writeln!(out, "result {index}: {} {} checksum {:016x}", shape(array), summary(array), fnv1a(&array.data))?;
        if most_values > 0 {
            write_values(out, array, most_values)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn shape(array: &ArrayLiteral) -> String {
    let dims: Vec<String> = array.dims.iter().map(i64::to_string).collect();
    format!("{}[{}]", array.element_type, dims.join(","))
}

fn summary(array: &ArrayLiteral) -> String {
    if array.data.is_empty() {
        return "empty".into();
    }
    let scalar = array.element_type.real_part();
    let values = array.data.chunks_exact(scalar.byte_size()).map(|bytes| numbers::value(scalar, bytes));
    let count = values.len();
    let (smallest, largest, sum) = values.fold((f64::NAN, f64::NAN, -0.0), |(smallest, largest, sum), value| {
        (f64::min(smallest, value), f64::max(largest, value), sum + value)
    });
    let mean = sum / count as f64;
    let parts = if array.element_type.is_complex() { "parts: " } else { "" };
    format!("{parts}min {smallest} max {largest} mean {mean}")
}

/// Writes the elements in braces, with one line per row of the innermost dimension. Writes only the
/// first `most` elements.
fn write_values(out: &mut dyn Write, array: &ArrayLiteral, most: usize) -> io::Result<()> {
    let count = array.element_count();
    let repeat = |out: &mut dyn Write, brace: &str, times: usize| write!(out, "{}", brace.repeat(times));
    // An array without elements has no inner braces.
    let rank = if count == 0 { array.dims.len().min(1) } else { array.dims.len() };
    repeat(out, "{", rank)?;
    for index in 0..count {
        if index == most {
            return write!(out, " … and {} more", count - most);
        }
        match ended_dimensions(index, &array.dims) {
            _ if index == 0 => {}
            0 => out.write_all(b", ")?,
            ended => {
                repeat(out, "}", ended)?;
                out.write_all(b",\n ")?;
                repeat(out, "{", ended)?;
            }
        }
        numbers::write_element(out, array, index)?;
    }
    repeat(out, "}", rank)
}

/// Returns the number of innermost dimensions that start again at element `index` of the array: in
/// each of these dimensions, the element has index 0.
fn ended_dimensions(index: usize, dims: &[i64]) -> usize {
    let sizes = dims.iter().rev().scan(1usize, |size, &dim| {
        *size = size.saturating_mul(dim as usize);
        Some(*size)
    });
    sizes.take_while(|&size| size > 0 && index.is_multiple_of(size)).count()
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::ElementType;

    use super::*;

    fn values(dims: &[i64]) -> String {
        let count = dims.iter().product::<i64>() as u8;
        let array = ArrayLiteral::new(ElementType::U8, dims.to_vec(), (1..=count).collect::<Vec<u8>>()).unwrap();
        let mut text = Vec::new();
        write_values(&mut text, &array, 5).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn values_are_nested_like_dimensions() {
        assert_eq!(values(&[]), "1");
        assert_eq!(values(&[3]), "{1, 2, 3}");
        assert_eq!(values(&[2, 2]), "{{1, 2},\n {3, 4}}");
        assert_eq!(values(&[2, 1]), "{{1},\n {2}}");
        assert_eq!(values(&[1, 2]), "{{1, 2}}");
        assert_eq!(values(&[2, 1, 2]), "{{{1, 2}},\n {{3, 4}}}");
        assert_eq!(values(&[2, 2, 1]), "{{{1},\n {2}},\n {{3},\n {4}}}");
        assert_eq!(values(&[2, 3]), "{{1, 2, 3},\n {4, 5 … and 1 more");
        for empty in [&[0][..], &[0, 2], &[2, 0], &[2, 0, 3]] {
            assert_eq!(values(empty), "{}", "{empty:?}");
        }
    }

    #[test]
    fn complex_values_are_pairs() {
        let parts = [1f32, -2.5, 0.0, 3.0].iter().flat_map(|part| part.to_le_bytes()).collect::<Vec<u8>>();
        let array = Literal::Array(ArrayLiteral::new(ElementType::C64, vec![2], parts).unwrap());
        let mut text = Vec::new();
        write(&mut text, &array, usize::MAX).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("result 0: c64[2] parts: min -2.5 max 3 mean 0.375 checksum "), "{text}");
        assert!(text.ends_with("\n{(1, -2.5), (0, 3)}\n"), "{text}");
    }
}
