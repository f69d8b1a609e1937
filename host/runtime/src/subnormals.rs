//! Subnormal numbers count as zeros on the cpu target, as operands and as results, as XLA:CPU has it.
//!
//! x86 computes subnormal numbers in microcode: an instruction takes some hundred cycles then, and programs meet them where numbers
//! fade (exponentials of far distances, squares of small gradients, states that decay). Were results flushed alone, `x == 0` would be
//! false where `sin(x) / x` is a quotient of zeros.

/// Calls the function in that mode: a kernel, or a routine. The mode ends with the call, also if it unwinds.
#[cfg(target_arch = "x86_64")]
pub fn flushed<T>(call: impl FnOnce() -> T) -> T {
    /// Of `MXCSR`: subnormal results are zeros (bit 15), and so are subnormal operands (bit 6).
    const ZEROS: u32 = 1 << 15 | 1 << 6;
    let before = Mode::now();
    Mode(before.0 | ZEROS).set();
    let _restored = Restored(before);
    call()
}

/// The processor's mode for floats: its register `MXCSR`.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Mode(u32);

#[cfg(target_arch = "x86_64")]
impl Mode {
    fn now() -> Mode {
        let mut mode = 0u32;
        // SAFETY: stores the register in a variable.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
        Mode(mode)
    }

    fn set(self) {
        // SAFETY: only what becomes of subnormal numbers changes, on this thread, until the mode before is set again. Code that is
        // compiled meanwhile into the call computes with one or the other value of such a number, and no memory depends on it.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.0, options(nostack, preserves_flags)) };
    }
}

/// Sets the mode again that was there before.
#[cfg(target_arch = "x86_64")]
struct Restored(Mode);

#[cfg(target_arch = "x86_64")]
impl Drop for Restored {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Other processors compute subnormal numbers as fast as any.
#[cfg(not(target_arch = "x86_64"))]
pub fn flushed<T>(call: impl FnOnce() -> T) -> T {
    call()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    /// A product, by an instruction.
    fn product(a: f32, b: f32) -> u32 {
        let mut product = a;
        // SAFETY: arithmetic in registers.
        unsafe { std::arch::asm!("mulss {}, {}", inout(xmm_reg) product, in(xmm_reg) b, options(nomem, nostack)) };
        product.to_bits()
    }

    /// A subnormal result, and a result of a subnormal operand.
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
