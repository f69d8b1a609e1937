//! Decides which executions run on their calling threads.

use fusebox_routines::Product;
use fusebox_thunks::all;

use crate::code::LoadedHostOp;
use crate::{Executable, Thunk, bytes_moved};

/// Maximum predicted time, in nanoseconds, of a cheap program, which the calling thread executes.
/// The transfer of a program to another thread takes about as long as this maximum. In a transfer,
/// the program is queued, the thread is woken, and the result is handed over. Programs that use the
/// pending result of a transferred program do not run on their calling threads either.
const MOST_NS: u64 = 50_000;
/// Maximum number of thunks of a cheap program, which the calling thread executes.
const MOST_THUNKS: usize = 64;
/// Number of bytes that a thread reads or writes in a nanosecond, as a low estimate.
const MOVED_BYTES_PER_NS: u64 = 4;
/// Speed of a thread in a matrix product, as a low estimate: the number of real multiplications per
/// nanosecond times the number of bytes of a real element.
const MULTIPLIED_BYTES_PER_NS: u64 = 100;

/// Whether an execution takes at most about as long as its transfer to another thread. Only
/// programs that consist of kernels, copies and matrix products can be cheap. A program with a loop
/// is not cheap, because the number of iterations is not known. A program with another host
/// operation is not cheap, because the work of this operation may grow faster than the number of
/// bytes that the operation accesses.
pub fn is_cheap(executable: &Executable, host_ops: &[LoadedHostOp]) -> bool {
    let nanoseconds = |thunk: &Thunk| match thunk {
        Thunk::Kernel { kernel, .. } => executable.kernels[*kernel as usize].predicted_ns,
        Thunk::HostOp { op, .. } => host_ops[*op as usize].product().map(product_ns),
        other if other.nested().is_empty() => Some(bytes_moved(other) / MOVED_BYTES_PER_NS),
        _ => None,
    };
    let mut total = 0u64;
    let mut thunks = all(&executable.thunks);
    let is_short = thunks.by_ref().take(MOST_THUNKS).all(|thunk| {
        total = total.saturating_add(nanoseconds(thunk).unwrap_or(u64::MAX));
        total <= MOST_NS
    });
    is_short && thunks.next().is_none()
}

/// Returns the time of a matrix product in nanoseconds, as a high estimate.
fn product_ns(product: &Product) -> u64 {
    let element = product.element;
    let (parts, factors) = if element.is_complex() { (2, 4) } else { (1, 1) };
    // The routine widens narrow elements to f32.
    let bytes = (element.byte_size() as u64 / parts).max(4);
    product.multiplications().saturating_mul(factors * bytes) / MULTIPLIED_BYTES_PER_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Binding, HostOp, Target, ValueShape};

    /// Whether a program with a single operation on square matrices `p0`, `p1`, … is cheap.
    fn is_cheap_on(size: u64, element: &str, operands: u64, operation: &str) -> bool {
        let square = format!("{element}[{size},{size}]");
        let parameters = (0..operands).map(|number| format!("  p{number} = {square} parameter({number})\n"));
        let hlo = format!("ENTRY e {{\n{}  ROOT r = {square} {operation}\n}}\n", parameters.collect::<String>());
        let (name, opcode) = ("r".to_owned(), "custom".to_owned());
        let op = HostOp { name, opcode, hlo, comparator: None, per_device: None };
        let loaded = LoadedHostOp::new(&op).unwrap();
        let executable = Executable {
            name: "test".into(),
            target: Target::Cpu,
            instruction_sets: Vec::new(),
            code: Vec::new(),
            kernels: Vec::new(),
            host_ops: vec![op],
            allocations: Vec::new(),
            thunks: vec![Thunk::HostOp { op: 0, arguments: Vec::new(), results: Vec::new() }],
            parameters: Vec::new(),
            result: Binding { shape: ValueShape::Tuple(Vec::new()), leaves: Vec::new(), sizes: Vec::new() },
        };
        is_cheap(&executable, &[loaded])
    }

    #[test]
    fn small_products_are_cheap_and_other_routines_are_not() {
        let dot = "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        let product = |size, element| is_cheap_on(size, element, 2, dot);
        for (element, cheap, dear) in [("f32", 100, 120), ("bf16", 100, 120), ("f64", 80, 100), ("c64", 64, 80)] {
            assert!(product(cheap, element) && !product(dear, element), "{element}");
        }
        assert!(!is_cheap_on(4, "c64", 1, "fft(p0), fft_type=FFT, fft_length={4}"));
    }
}
