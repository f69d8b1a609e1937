//! Butterflies: transforms of few complex numbers, which are computed in registers.

use num_complex::Complex;
use pulp::{Simd, WithSimd};

use super::lanes::{Element, Vector};
use super::registers::{ComplexRegister, InRegisters};

/// The butterflies of a stage. They read and write complex vectors. The real part of a vector is
/// followed by its imaginary part.
pub(super) struct Butterflies<'a, T> {
    /// Number of groups. The butterflies of one group have equal twiddles.
    pub groups: usize,
    /// Number of adjacent butterflies in a group.
    pub stride: usize,
    /// The roots of unity of the radix.
    pub roots: &'a [Complex<T>],
    /// For each group, the factors of all results of a butterfly but the first one.
    pub twiddles: &'a [Complex<T>],
    pub from: &'a [T],
    pub to: &'a mut [T],
}

/// An array on the stack that begins at a cache line. Without this alignment, registers in memory
/// could cross cache lines, and the time of a butterfly would depend on the address of the stack,
/// which differs between processes. Measured difference: up to a fifth.
#[repr(C, align(64))]
struct Aligned<A>(A);

/// The task of computing butterflies of radix `R`, which is 2, 4 or odd.
pub(super) struct OfRadix<'a, T, const R: usize>(pub Butterflies<'a, T>);

/// The task of computing butterflies of any radix.
pub(super) struct OfAnyRadix<'a, T>(pub Butterflies<'a, T>);

/// A task whose vectors are split into registers. A vector may have more lanes than a register. The
/// distances are numbers of registers.
struct Split<'a, S: Simd, T: Element> {
    from: &'a [T::Register<S>],
    to: &'a mut [T::Register<S>],
    /// Distance between the elements of a butterfly.
    from_distance: usize,
    /// Distance between the results of a butterfly.
    to_distance: usize,
}

impl<'a, S: Simd, T: Element> Split<'a, S, T> {
    /// Number of registers of the real part of a vector.
    const PER_PART: usize = T::Vector::COUNT * size_of::<T>() / size_of::<T::Register<S>>();

    #[inline(always)]
    fn new(task: &'a mut Butterflies<'_, T>) -> Self {
        Split {
            from: T::registers::<S>(task.from),
            to: T::registers_mut::<S>(task.to),
            from_distance: 2 * Self::PER_PART * task.groups * task.stride,
            to_distance: 2 * Self::PER_PART * task.stride,
        }
    }
}

impl<T: Element, const R: usize> WithSimd for OfRadix<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Butterflies { groups, stride, roots, twiddles, .. } = self.0;
        let per_part = Split::<S, T>::PER_PART;
        let Split { from, to, from_distance, to_distance } = Split::<S, T>::new(&mut self.0);
        let Some(roots) = roots.first_chunk::<R>() else { return };
        let zero = T::fill(simd, T::zeroed());
        for group in 0..groups {
            let twiddles = &twiddles[group * (R - 1)..][..R - 1];
            for at in 0..stride {
                for part in 0..per_part {
                    // The butterfly is computed in an array, because its accesses need no checks.
                    let mut elements = Aligned([[zero; 2]; R]);
                    let elements = &mut elements.0;
                    let re = 2 * per_part * (group * stride + at) + part;
                    for (k, element) in elements.iter_mut().enumerate() {
                        let parts = &from[re + k * from_distance..][..per_part + 1];
                        (element[0], element[1]) = (parts[0], parts[per_part]);
                    }
                    butterfly(simd, elements, roots);
                    // The twiddles of the first group are 1.
                    if group > 0 {
                        for ([re, im], &twiddle) in elements[1..].iter_mut().zip(twiddles) {
                            let product = ComplexRegister::<S, T>::new(simd, *re, *im).times(twiddle);
                            (*re, *im) = (product.re, product.im);
                        }
                    }
                    let re = group * R * to_distance + 2 * per_part * at + part;
                    for (k, element) in elements.iter().enumerate() {
                        let parts = &mut to[re + k * to_distance..][..per_part + 1];
                        (parts[0], parts[per_part]) = (element[0], element[1]);
                    }
                }
            }
        }
    }
}

/// The task of computing butterflies of radix `R` in place. The elements of a butterfly are
/// adjacent. A register has as many lanes as a vector.
pub(super) struct InPlace<'a, T, const R: usize> {
    /// The roots of unity of the radix.
    pub roots: &'a [Complex<T>],
    pub elements: &'a mut [T],
}

impl<T: InRegisters, const R: usize> WithSimd for InPlace<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Some(roots) = self.roots.first_chunk::<R>() else { return };
        let (vectors, _) = T::registers_mut::<S>(self.elements).as_chunks_mut::<2>();
        for elements in vectors.as_chunks_mut::<R>().0 {
            butterfly(simd, elements, roots);
        }
    }
}

/// Replaces the elements of a butterfly by its results. `roots` are the powers of the root of
/// unity.
// Functions that are not inlined would be compiled without AVX, so this function contains no
// closures.
#[inline(always)]
fn butterfly<S: Simd, T: InRegisters, const R: usize>(
    simd: S,
    elements: &mut [[T::Register<S>; 2]; R],
    roots: &[Complex<T>; R],
) {
    let mut elements = Elements { simd, registers: elements };
    let first = elements.get(0);
    match R {
        2 => {
            let other = elements.get(1);
            elements.set(0, first.plus(other));
            elements.set(1, first.minus(other));
        }
        4 => {
            let [b, c, d] = [elements.get(1), elements.get(2), elements.get(3)];
            let [sum, difference] = [first.plus(c), first.minus(c)];
            let [other_sum, other_difference] = [b.plus(d), b.minus(d)];
            let [plus, minus] = [difference.plus_i(other_difference), difference.minus_i(other_difference)];
            // The roots are 1, ∓i, -1 and ±i.
            let is_forward = roots[1].im < T::zeroed();
            elements.set(0, sum.plus(other_sum));
            elements.set(1, if is_forward { minus } else { plus });
            elements.set(2, sum.minus(other_sum));
            elements.set(3, if is_forward { plus } else { minus });
        }
        _ => {
            let (mut sums, mut differences, mut total) = (Aligned([first; R]), Aligned([first; R]), first);
            let (sums, differences) = (&mut sums.0, &mut differences.0);
            for k in 1..R / 2 + 1 {
                let (a, b) = (elements.get(k), elements.get(R - k));
                (sums[k], differences[k]) = (a.plus(b), a.minus(b));
                total = total.plus(sums[k]);
            }
            elements.set(0, total);
            // The compiler does not unroll a loop over these results.
            macro_rules! results {
                ($($j:literal)*) => {
                    $(if $j <= R / 2 {
                        let parts = parts_of_results::<S, T, R, $j>(first, sums, differences, roots);
                        for (n, [even, odd]) in parts.into_iter().enumerate() {
                            let j = $j + n;
                            if j <= R / 2 {
                                elements.set(j, even.plus_i(odd));
                                elements.set(R - j, even.minus_i(odd));
                            }
                        }
                    })*
                };
            }
            results! { 1 4 7 10 13 }
        }
    }
}

/// The elements of a butterfly, which the results replace.
struct Elements<'a, S: Simd, T: InRegisters, const R: usize> {
    simd: S,
    registers: &'a mut [[T::Register<S>; 2]; R],
}

impl<S: Simd, T: InRegisters, const R: usize> Elements<'_, S, T, R> {
    #[inline(always)]
    fn get(&self, k: usize) -> ComplexRegister<S, T> {
        let [re, im] = self.registers[k];
        ComplexRegister::new(self.simd, re, im)
    }

    #[inline(always)]
    fn set(&mut self, j: usize, result: ComplexRegister<S, T>) {
        self.registers[j] = [result.re, result.im];
    }
}

/// Number of results whose parts are computed together, so that they share the loads of operands.
const TOGETHER: usize = 3;

/// Returns the complex numbers `even` and `odd` of the results `J` to `J + TOGETHER - 1` of a
/// butterfly with an odd radix. Result `j` is `even + i·odd`, and result `R - j` is `even - i·odd`.
#[inline(always)]
fn parts_of_results<S: Simd, T: InRegisters, const R: usize, const J: usize>(
    first: ComplexRegister<S, T>,
    sums: &[ComplexRegister<S, T>; R],
    differences: &[ComplexRegister<S, T>; R],
    roots: &[Complex<T>; R],
) -> [[ComplexRegister<S, T>; 2]; TOGETHER] {
    let mut parts = [[first; 2]; TOGETHER];
    for (n, [even, odd]) in parts.iter_mut().enumerate() {
        if J + n <= R / 2 {
            *even = first.plus_multiple(roots[(J + n) % R].re, sums[1]);
            *odd = differences[1].scaled(roots[(J + n) % R].im);
        }
    }
    for k in 2..R / 2 + 1 {
        for (n, [even, odd]) in parts.iter_mut().enumerate() {
            if J + n <= R / 2 {
                // The roots with the numbers `j·k` and `-j·k` are conjugates.
                let root = (J + n) * k % R;
                if root <= R / 2 {
                    *even = even.plus_multiple(roots[root].re, sums[k]);
                    *odd = odd.plus_multiple(roots[root].im, differences[k]);
                } else {
                    *even = even.plus_multiple(roots[R - root].re, sums[k]);
                    *odd = odd.minus_multiple(roots[R - root].im, differences[k]);
                }
            }
        }
    }
    parts
}

impl<T: Element> WithSimd for OfAnyRadix<'_, T> {
    type Output = ();

    /// Computes the definition of the transform.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Butterflies { groups, roots, twiddles, .. } = self.0;
        let per_part = Split::<S, T>::PER_PART;
        let Split { from, to, from_distance, to_distance } = Split::<S, T>::new(&mut self.0);
        let (radix, zero) = (roots.len(), T::fill(simd, T::zeroed()));
        for group in 0..groups {
            for register in 0..to_distance {
                // The registers of imaginary parts are computed together with those of real parts.
                if register / per_part % 2 == 1 {
                    continue;
                }
                for j in 0..radix {
                    let mut sum = ComplexRegister::<S, T>::new(simd, zero, zero);
                    for k in 0..radix {
                        let re = k * from_distance + group * to_distance + register;
                        let x = ComplexRegister::new(simd, from[re], from[re + per_part]);
                        sum = sum.plus(x.times(roots[j * k % radix]));
                    }
                    if j > 0 && group > 0 {
                        sum = sum.times(twiddles[group * (radix - 1) + j - 1]);
                    }
                    let re = (group * radix + j) * to_distance + register;
                    (to[re], to[re + per_part]) = (sum.re, sum.im);
                }
            }
        }
    }
}
