//! The least time that any kernel of a fusion could take: its arithmetic at the peak rate, and its
//! bytes at the bandwidth.

use fusebox_core::cost;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, InstrId, Instruction, Op};

use crate::demand::{elements, shares};
use crate::model::machine;

/// Bandwidth, in bytes per second, with which a device moves the `bytes` that a kernel reads and
/// writes. On a cpu, this is the bandwidth of the caches if the bytes fit into all cores' caches
/// together, and the bandwidth of memory otherwise.
pub fn bandwidth(bytes: u64, device: &DeviceDescription) -> f64 {
    machine(device).bandwidth(bytes)
}

/// Largest number of `f32` operations that a device computes per second. A cpu reaches this number
/// with fused multiply-adds on vectors as wide as its registers.
pub fn peak(device: &DeviceDescription) -> f64 {
    machine(device).peak()
}

/// Returns the least arithmetic that a computation needs, in `f32` operations. Elements that cannot
/// affect the result are not counted. Operations that only move elements, for example transposes,
/// count as free, because a good kernel may hide their cost.
pub fn arithmetic_of_computation(computation: &Computation, device: &DeviceDescription) -> f64 {
    let shares = shares(computation);
    let needed = |(instruction, share): (&Instruction, &f64)| {
        let all = share * elements(instruction) * cost::per_element(computation, instruction);
        match &instruction.op {
            Op::Dot(_) => all / products_at_once(computation, instruction, device),
            // No multiplication is needed for the zeros between the elements of a dilated operand.
            Op::Convolution(attributes) => {
                let zeros: f64 = attributes.window.dims.iter().map(|dim| dim.base_dilation.max(1) as f64).product();
                all / zeros / products_at_once(computation, instruction, device)
            }
            // Adjacent windows may overlap in all elements but one, so each window may need only
            // one operation.
            Op::ReduceWindow { .. } => all.min(share * elements(instruction)),
            _ => all,
        }
    };
    let arithmetic = computation.instructions.iter().zip(&shares);
    arithmetic.filter(|(it, _)| it.op.is_elementwise() || cost::is_heavy(&it.op)).map(needed).sum()
}

/// Number of products in the operands' type that take as long as one `f32` product. The number
/// exceeds 1 on devices with instructions that multiply small matrices or words of adjacent
/// elements.
fn products_at_once(computation: &Computation, product: &Instruction, device: &DeviceDescription) -> f64 {
    let element = |&id: &InstrId| cost::first_array(computation.instruction(id)).map(|array| array.element_type);
    let widest = product.operands.iter().filter_map(element).map(|it| it.byte_size()).max().unwrap_or(4);
    let (tiles, words) = (device.tile_products, device.word_products);
    match widest {
        1 if tiles.int8 => 32.0,
        2 if tiles.bf16 => 16.0,
        1 if words.int8 => 4.0,
        2 if words.bf16 => 2.0,
        1 | 2 if !device.matrix_products.is_empty() => 32.0 / widest as f64,
        _ => 1.0,
    }
}
