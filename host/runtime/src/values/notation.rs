//! Formats shapes for messages.

use fusebox_core::hlo::ArrayShape;

/// Formats a shape as in the text of HLO, for example `f32[2,<=3]`.
pub fn describe(shape: &ArrayShape) -> String {
    format!("{}[{}]", shape.element_type, sizes(shape, ","))
}

/// Formats the sizes of an array's dimensions. The size of a dynamic dimension is an upper bound
/// and has the prefix `<=`.
pub fn sizes(shape: &ArrayShape, separator: &str) -> String {
    let size = |(d, size): (usize, &i64)| if shape.is_dynamic(d) { format!("<={size}") } else { size.to_string() };
    shape.dims.iter().enumerate().map(size).collect::<Vec<String>>().join(separator)
}
