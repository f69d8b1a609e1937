//! Estimates for each instruction the fraction of its elements that can affect the result.

use fusebox_core::cost::first_array;
use fusebox_core::hlo::{Computation, InstrId, Instruction, Op};

/// Returns for each instruction a lower bound on the fraction of its elements that the root needs.
/// For the operand of a slice, the bound is the fraction that the slice reads. For the operand of a
/// gather, the bound is 0, because it is unknown which elements the gather reads.
pub fn shares(computation: &Computation) -> Vec<f64> {
    let mut shares = vec![0.0f64; computation.instructions.len()];
    shares[computation.root.index()] = 1.0;
    // Instructions come after their operands, so this order visits users first.
    for (index, user) in computation.instructions.iter().enumerate().rev() {
        let share = shares[index];
        for (position, &operand) in user.operands.iter().enumerate() {
            let of_operand = share_of_operand(computation, user, share, position, operand);
            let known = &mut shares[operand.index()];
            *known = known.max(of_operand);
        }
    }
    shares
}

/// Suppose that `user` computes the fraction `share` of its own elements. Returns a lower bound on
/// the fraction of the operand's elements that `user` then reads.
fn share_of_operand(
    computation: &Computation,
    user: &Instruction,
    share: f64,
    position: usize,
    operand: InstrId,
) -> f64 {
    let operand = computation.instruction(operand);
    match &user.op {
        Op::Slice { .. } | Op::DynamicSlice { .. } if position == 0 => {
            share * elements(user) / elements(operand).max(1.0)
        }
        Op::Gather(_) if position == 0 => 0.0,
        // Windows may skip elements.
        Op::ReduceWindow { .. } | Op::Convolution(_) => 0.0,
        Op::Pad { dims } if dims.iter().any(|dim| dim.low < 0 || dim.high < 0) => 0.0,
        // The needed part of the result may come from a single operand.
        Op::Pad { .. } | Op::Concatenate { .. } | Op::DynamicUpdateSlice | Op::Scatter { .. } if share < 1.0 => 0.0,
        _ => share,
    }
}

/// Returns the number of elements in the first array of an instruction's result.
pub fn elements(instruction: &Instruction) -> f64 {
    first_array(instruction).map_or(0.0, |array| array.element_count() as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use fusebox_core::hlo::parse_module;

    #[test]
    fn a_slice_needs_no_more_of_its_operand() {
        let text = "HloModule m\n\nENTRY e {\n  x = f32[100]{0} parameter(0)\n  y = f32[100]{0} exponential(x)\n  \
                    s = f32[25]{0} slice(y), slice={[0:25]}\n  ROOT n = f32[25]{0} negate(s)\n}\n";
        let module = parse_module(text, "m.hlo").unwrap();
        assert_eq!(super::shares(module.entry_computation().unwrap()), [0.25, 0.25, 1.0, 1.0]);
    }

    #[test]
    fn another_user_may_need_all() {
        let text = "HloModule m\n\nENTRY e {\n  x = f32[100]{0} parameter(0)\n  y = f32[100]{0} exponential(x)\n  \
                    s = f32[25]{0} slice(y), slice={[0:25]}\n  ROOT t = (f32[25]{0}, f32[100]{0}) tuple(s, y)\n}\n";
        let module = parse_module(text, "m.hlo").unwrap();
        assert_eq!(super::shares(module.entry_computation().unwrap()), [1.0, 1.0, 1.0, 1.0]);
    }
}
