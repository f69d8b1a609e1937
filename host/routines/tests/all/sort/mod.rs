//! Checks sorts: with the interpreter, and with the sorts of Rust where a case is long.

mod codes;
mod comparators;
mod network;
mod radix;

use bytemuck::Pod;
use fusebox_core::hlo::{ElementType, Module};

use crate::support::{self, AlignedBytes, WORKERS};

/// Length of lines that all threads sort together, in parts of which the last one is not full.
/// Threads share the work on lines of 2^17 elements or more (`LONG` in `src/sort/radix.rs`).
const LONG_LINE: usize = (1 << 17) + 1001;

/// Returns the parameters of a comparator: for each operand, `a0`, `a1` … of the first element and
/// `b0`, `b1` … of the second.
fn parameters(types: &[ElementType]) -> String {
    let parameter = |(number, ty): (usize, &ElementType)| {
        format!("  a{number} = {ty}[] parameter({})\n  b{number} = {ty}[] parameter({})\n", 2 * number, 2 * number + 1)
    };
    types.iter().enumerate().map(parameter).collect()
}

/// Returns the text of a sort by a computation with the name `less`.
fn sort(types: &[ElementType], dims: &[i64], dimension: usize, comparator: &str) -> String {
    let dims = dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let shapes: Vec<String> = types.iter().map(|ty| format!("{ty}[{dims}]")).collect();
    let mut text = format!("{comparator}ENTRY e {{\n");
    shapes
        .iter()
        .enumerate()
        .for_each(|(number, shape)| text += &format!("  p{number} = {shape} parameter({number})\n"));
    let operands: Vec<String> = (0..types.len()).map(|number| format!("p{number}")).collect();
    let result = if shapes.len() == 1 { shapes[0].clone() } else { format!("({})", shapes.join(", ")) };
    text + &format!(
        "  ROOT s = {result} sort({}), dimensions={{{dimension}}}, is_stable=true, to_apply=less\n}}\n",
        operands.join(", ")
    )
}

/// Returns the module of a sort along dimension 0 by the numbers of the first operand, in ascending
/// order.
fn by_first(types: &[ElementType], dims: &[i64]) -> Module {
    let less = format!("less {{\n{}  ROOT r = pred[] compare(a0, b0), direction=LT\n}}\n", parameters(types));
    support::module(&sort(types, dims, 0, &less))
}

/// Executes a sort on arrays.
fn sorted(module: &Module, arrays: &[&[u8]]) -> Vec<AlignedBytes> {
    support::results(module, arrays, &WORKERS)
}

/// An integer that arrays can hold.
trait Integer: Pod + Ord {
    const TYPE: ElementType;

    /// Truncates a number to this width.
    fn of(bits: u64) -> Self;
}

impl Integer for u32 {
    const TYPE: ElementType = ElementType::U32;

    fn of(bits: u64) -> u32 {
        bits as u32
    }
}

impl Integer for u64 {
    const TYPE: ElementType = ElementType::U64;

    fn of(bits: u64) -> u64 {
        bits
    }
}
