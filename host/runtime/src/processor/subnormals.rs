//! Flushes subnormal numbers to zero on the cpu target, as XLA:CPU does. Float instructions then
//! treat subnormal operands as zeros, and return zeros instead of subnormal results.
//!
//! x86 processors compute with subnormal numbers in microcode, which takes some hundred cycles per
//! instruction. Subnormal numbers occur where values become very small: in exponentials of large
//! distances, squares of small gradients, and decaying states. Operands must be flushed too, not
//! only results. If only results were flushed, `x == 0` could be false although `sin(x) / x`
//! divides zero by zero.

/// Calls `call` in a mode in which the processor flushes subnormal numbers to zero. Restores the
/// previous mode after the call, even if the call panics.
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

/// The processor's floating-point mode, which is the content of its register `MXCSR`.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct FloatMode(u32);

#[cfg(target_arch = "x86_64")]
impl FloatMode {
    fn now() -> FloatMode {
        let mut mode = 0u32;
        // SAFETY: the instruction only stores the register in the variable `mode`.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
        FloatMode(mode)
    }

    fn set(self) {
        // SAFETY: the instruction only changes how this thread computes with subnormal numbers,
        // until the previous mode is restored. The compiler may move float operations across this
        // instruction, so that they execute in the other mode. The move can change values, but does
        // not affect memory safety.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.0, options(nostack, preserves_flags)) };
    }
}

/// A guard that restores the previous mode when the guard is dropped.
#[cfg(target_arch = "x86_64")]
struct FloatModeGuard(FloatMode);

#[cfg(target_arch = "x86_64")]
impl Drop for FloatModeGuard {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Calls `call` in the current mode, because processors other than x86-64 compute with subnormal
/// numbers at full speed.
#[cfg(not(target_arch = "x86_64"))]
pub fn flushed<T>(call: impl FnOnce() -> T) -> T {
    call()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    /// Multiplies two numbers with one float instruction. Returns the bits of the product.
    fn product(a: f32, b: f32) -> u32 {
        let mut product = a;
        // SAFETY: the instruction only computes in registers.
        unsafe { std::arch::asm!("mulss {}, {}", inout(xmm_reg) product, in(xmm_reg) b, options(nomem, nostack)) };
        product.to_bits()
    }

    /// Returns the bits of two products. The first product has a subnormal result, the second
    /// product has a subnormal operand.
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
