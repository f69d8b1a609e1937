//! Treats subnormal operands and results as zeros on the cpu target, like XLA:CPU.
//!
//! x86 computes subnormal numbers in microcode, at some hundred cycles per instruction. Programs
//! meet them where values vanish (exponentials of large distances, squares of small gradients,
//! decaying states). If only results were flushed, `x == 0` could be false although `sin(x) / x` is
//! a quotient of zeros.

/// Calls a kernel or a routine in this mode. The mode ends with the call, also if the call unwinds.
#[cfg(target_arch = "x86_64")]
pub fn flushed<T>(call: impl FnOnce() -> T) -> T {
    /// Bits of `MXCSR` that flush subnormal results (bit 15) and subnormal operands (bit 6) to
    /// zero.
    const ZEROS: u32 = 1 << 15 | 1 << 6;
    let before = FloatMode::now();
    FloatMode(before.0 | ZEROS).set();
    let _restored = FloatModeGuard(before);
    call()
}

/// The processor's floating-point mode: its register `MXCSR`.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct FloatMode(u32);

#[cfg(target_arch = "x86_64")]
impl FloatMode {
    fn now() -> FloatMode {
        let mut mode = 0u32;
        // SAFETY: the instruction stores the register in a variable.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
        FloatMode(mode)
    }

    fn set(self) {
        // SAFETY: only the treatment of subnormal numbers changes, on this thread, until the
        // previous mode is restored. The compiler may move float operations across this
        // instruction. They then compute with the other treatment, which affects values but not
        // memory safety.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.0, options(nostack, preserves_flags)) };
    }
}

/// Restores the previous mode on drop.
#[cfg(target_arch = "x86_64")]
struct FloatModeGuard(FloatMode);

#[cfg(target_arch = "x86_64")]
impl Drop for FloatModeGuard {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Calls the function without a change: other processors compute subnormal numbers at full speed.
#[cfg(not(target_arch = "x86_64"))]
pub fn flushed<T>(call: impl FnOnce() -> T) -> T {
    call()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    /// Multiplies with one instruction.
    fn product(a: f32, b: f32) -> u32 {
        let mut product = a;
        // SAFETY: the instruction only computes in registers.
        unsafe { std::arch::asm!("mulss {}, {}", inout(xmm_reg) product, in(xmm_reg) b, options(nomem, nostack)) };
        product.to_bits()
    }

    /// Returns a product with a subnormal result, and a product of a subnormal operand.
    fn products() -> [u32; 2] {
        [product(f32::MIN_POSITIVE, 0.5), product(f32::from_bits(1 << 22), 2.0)]
    }

    #[test]
    fn only_within_the_call() {
        let as_usual = [1 << 22, 1 << 23];
        assert_eq!((products(), super::flushed(products), products()), (as_usual, [0, 0], as_usual));
    }

    #[test]
    fn not_behind_a_call_that_unwinds() {
        let unwound = std::panic::catch_unwind(|| super::flushed(|| std::panic::resume_unwind(Box::new(()))));
        assert!(unwound.is_err());
        assert_eq!(products(), [1 << 22, 1 << 23]);
    }
}
