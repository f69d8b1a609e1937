//! Sizes of the arguments of a program, on the command line.

/// The sizes of each argument's dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<Vec<i64>>);

/// Reads sizes: a comma separates arguments, and `x` separates dimensions. A scalar has no sizes.
///
/// # Errors
/// Returns a message with the text that is not a size.
pub fn parse(text: &str) -> Result<Sizes, String> {
    let size = |size: &str| {
        let parsed = size.parse::<i64>().ok().filter(|size| *size >= 0);
        parsed.ok_or_else(|| format!("`{size}` is no size; write 4x6,6x3, for two arrays and a scalar"))
    };
    let argument = |argument: &str| match argument {
        "" => Ok(Vec::new()),
        sizes => sizes.split('x').map(size).collect(),
    };
    text.split(',').map(argument).collect::<Result<_, _>>().map(Sizes)
}
