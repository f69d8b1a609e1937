//! Vector registers: the ones that the processor has, and complex numbers in them.

use bytemuck::Pod;
use num_complex::Complex;
#[cfg(target_arch = "x86_64")]
use pulp::Scalar;
use pulp::{Arch, Simd, WithSimd};

/// Executes a task with the registers of AVX, even if the processor has AVX-512, because vectors
/// with more lanes than there are lines would be slower.
#[cfg(target_arch = "x86_64")]
pub(super) fn vectorize(task: impl WithSimd<Output = ()>) {
    match Arch::new() {
        Arch::V4(simd) => Simd::vectorize(*simd, task),
        Arch::V3(simd) => Simd::vectorize(simd, task),
        _ => Simd::vectorize(Scalar::new(), task),
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn vectorize(task: impl WithSimd<Output = ()>) {
    Arch::new().dispatch(task);
}

/// A real type whose numbers fill vector registers.
pub(super) trait InRegisters: Pod + PartialOrd {
    /// A register with lanes of this type.
    type Register<S: Simd>: Pod;

    /// Casts a slice of numbers to a slice of registers. Omits the numbers at the end if they do
    /// not fill a register.
    fn registers<S: Simd>(numbers: &[Self]) -> &[Self::Register<S>];

    /// Like [`registers`](InRegisters::registers).
    fn registers_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Register<S>];

    fn fill<S: Simd>(simd: S, number: Self) -> Self::Register<S>;
    fn add<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn subtract<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;
    fn multiply<S: Simd>(simd: S, a: Self::Register<S>, b: Self::Register<S>) -> Self::Register<S>;

    /// Returns `a * b + c`, with one rounding if the processor has an instruction for it.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Register<S>,
        b: Self::Register<S>,
        c: Self::Register<S>,
    ) -> Self::Register<S>;

    /// Returns `c - a * b`, with one rounding if the processor has an instruction for it.
    fn subtract_product<S: Simd>(
        simd: S,
        a: Self::Register<S>,
        b: Self::Register<S>,
        c: Self::Register<S>,
    ) -> Self::Register<S>;
}

macro_rules! in_registers {
    ($($type:ident $register:ident: $cast:ident $cast_mut:ident $splat:ident $add:ident $subtract:ident $multiply:ident
       $multiply_add:ident $subtract_product:ident;)*) => {
        $(impl InRegisters for $type {
            type Register<S: Simd> = S::$register;

            #[inline(always)]
            fn registers<S: Simd>(numbers: &[$type]) -> &[S::$register] {
                S::$cast(numbers).0
            }

            #[inline(always)]
            fn registers_mut<S: Simd>(numbers: &mut [$type]) -> &mut [S::$register] {
                S::$cast_mut(numbers).0
            }

            #[inline(always)]
            fn fill<S: Simd>(simd: S, number: $type) -> S::$register {
                simd.$splat(number)
            }

            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn subtract<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$subtract(a, b)
            }

            #[inline(always)]
            fn multiply<S: Simd>(simd: S, a: S::$register, b: S::$register) -> S::$register {
                simd.$multiply(a, b)
            }

            #[inline(always)]
            fn multiply_add<S: Simd>(simd: S, a: S::$register, b: S::$register, c: S::$register) -> S::$register {
                simd.$multiply_add(a, b, c)
            }

            #[inline(always)]
            fn subtract_product<S: Simd>(simd: S, a: S::$register, b: S::$register, c: S::$register) -> S::$register {
                simd.$subtract_product(a, b, c)
            }
        })*
    };
}

in_registers! {
    f32 f32s: as_simd_f32s as_mut_simd_f32s splat_f32s add_f32s sub_f32s mul_f32s mul_add_e_f32s negate_mul_add_e_f32s;
    f64 f64s: as_simd_f64s as_mut_simd_f64s splat_f64s add_f64s sub_f64s mul_f64s mul_add_e_f64s negate_mul_add_e_f64s;
}

/// A register of real parts and a register of imaginary parts.
#[derive(Clone, Copy)]
pub(super) struct ComplexRegister<S: Simd, T: InRegisters> {
    simd: S,
    pub re: T::Register<S>,
    pub im: T::Register<S>,
}

impl<S: Simd, T: InRegisters> ComplexRegister<S, T> {
    #[inline(always)]
    pub fn new(simd: S, re: T::Register<S>, im: T::Register<S>) -> Self {
        ComplexRegister { simd, re, im }
    }

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        let add = |a, b| T::add(self.simd, a, b);
        Self::new(self.simd, add(self.re, other.re), add(self.im, other.im))
    }

    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        let subtract = |a, b| T::subtract(self.simd, a, b);
        Self::new(self.simd, subtract(self.re, other.re), subtract(self.im, other.im))
    }

    /// Returns `self + i·other`.
    #[inline(always)]
    pub fn plus_i(self, other: Self) -> Self {
        let simd = self.simd;
        Self::new(simd, T::subtract(simd, self.re, other.im), T::add(simd, self.im, other.re))
    }

    /// Returns `self - i·other`.
    #[inline(always)]
    pub fn minus_i(self, other: Self) -> Self {
        let simd = self.simd;
        Self::new(simd, T::add(simd, self.re, other.im), T::subtract(simd, self.im, other.re))
    }

    /// Returns `self + factor·other`.
    #[inline(always)]
    pub fn plus_multiple(self, factor: T, other: Self) -> Self {
        let factor = T::fill(self.simd, factor);
        let add = |a, b| T::multiply_add(self.simd, factor, a, b);
        Self::new(self.simd, add(other.re, self.re), add(other.im, self.im))
    }

    /// Returns `self - factor·other`.
    #[inline(always)]
    pub fn minus_multiple(self, factor: T, other: Self) -> Self {
        let factor = T::fill(self.simd, factor);
        let subtract = |a, b| T::subtract_product(self.simd, factor, a, b);
        Self::new(self.simd, subtract(other.re, self.re), subtract(other.im, self.im))
    }

    #[inline(always)]
    pub fn scaled(self, factor: T) -> Self {
        let factor = T::fill(self.simd, factor);
        let scale = |a| T::multiply(self.simd, factor, a);
        Self::new(self.simd, scale(self.re), scale(self.im))
    }

    #[inline(always)]
    pub fn times(self, factor: Complex<T>) -> Self {
        let simd = self.simd;
        let [re, im] = [T::fill(simd, factor.re), T::fill(simd, factor.im)];
        Self::new(
            simd,
            T::subtract_product(simd, self.im, im, T::multiply(simd, self.re, re)),
            T::multiply_add(simd, self.im, re, T::multiply(simd, self.re, im)),
        )
    }
}
