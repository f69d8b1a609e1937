//! Results that would be subnormal numbers are zeros in kernels of the cpu target, as XLA:CPU has it.
//!
//! x86 computes subnormal numbers in microcode: an instruction takes some hundred cycles then, and programs meet them where numbers
//! fade (exponentials of far distances, squares of small gradients, states that decay). Operands that are subnormal keep their
//! value, which XLA:CPU takes for zero: as no kernel makes them there are few.

/// Calls the function in that mode. Nothing but compiled code may run in it, as Rust's own expects floats to be as usual.
#[cfg(target_arch = "x86_64")]
pub fn flushed(call: impl FnOnce()) {
    /// In `MXCSR`.
    const FLUSH_TO_ZERO: u32 = 1 << 15;
    let mut before = 0u32;
    // SAFETY: stores the register in a variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack, preserves_flags)) };
    let during = before | FLUSH_TO_ZERO;
    // SAFETY: only what becomes of subnormal results changes, and is as before once the compiled code has returned, which
    // does not unwind.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const during, options(nostack, preserves_flags)) };
    call();
    // SAFETY: the register has the value that it had.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const before, options(nostack, preserves_flags)) };
}

/// Other processors compute subnormal numbers as fast as any.
#[cfg(not(target_arch = "x86_64"))]
pub fn flushed(call: impl FnOnce()) {
    call();
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    /// The half of the smallest normal number.
    fn half_of_smallest() -> f32 {
        let mut number = f32::MIN_POSITIVE;
        // SAFETY: arithmetic in registers.
        unsafe { std::arch::asm!("mulss {}, {}", inout(xmm_reg) number, in(xmm_reg) 0.5f32, options(nomem, nostack)) };
        number
    }

    #[test]
    fn only_within_the_call() {
        let (before, mut during) = (half_of_smallest(), f32::NAN);
        super::flushed(|| during = half_of_smallest());
        assert_eq!([before, during, half_of_smallest()].map(f32::to_bits), [1 << 22, 0, 1 << 22]);
    }
}
