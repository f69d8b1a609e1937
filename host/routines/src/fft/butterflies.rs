//! Butterflies: transforms of few complex numbers, which are computed in registers.

use std::array::from_fn;

use num_complex::Complex;
use pulp::{Simd, WithSimd};

use super::registers::{ComplexRegister, InRegisters};

/// The butterflies of a stage. They read and write complex vectors with `lanes` lanes. The real
/// part of a vector is followed by its imaginary part.
pub(super) struct Butterflies<'a, T> {
    /// Number of groups. The butterflies of one group have equal twiddles.
    pub groups: usize,
    /// Number of adjacent butterflies in a group.
    pub stride: usize,
    /// The roots of unity of the radix.
    pub roots: &'a [Complex<T>],
    /// For each group, the factors of all results of a butterfly but the first one.
    pub twiddles: &'a [Complex<T>],
    pub lanes: usize,
    pub from: &'a [T],
    pub to: &'a mut [T],
}

/// The task of computing butterflies of radix `R`, which is 2, 4 or odd.
pub(super) struct OfRadix<'a, T, const R: usize>(pub Butterflies<'a, T>);

/// The task of computing butterflies of any radix.
pub(super) struct OfAnyRadix<'a, T>(pub Butterflies<'a, T>);

/// A task whose vectors are split into registers. A vector may have more lanes than a register. The
/// distances are numbers of registers.
struct Split<'a, S: Simd, T: InRegisters> {
    from: &'a [T::Register<S>],
    to: &'a mut [T::Register<S>],
    /// Number of registers of the real part of a vector.
    per_part: usize,
    /// Distance between the elements of a butterfly.
    from_distance: usize,
    /// Distance between the results of a butterfly.
    to_distance: usize,
}

impl<'a, S: Simd, T: InRegisters> Split<'a, S, T> {
    #[inline(always)]
    fn new(task: &'a mut Butterflies<'_, T>) -> Self {
        let per_part = task.lanes * size_of::<T>() / size_of::<T::Register<S>>();
        Split {
            from: T::registers::<S>(task.from),
            to: T::registers_mut::<S>(task.to),
            per_part,
            from_distance: 2 * per_part * task.groups * task.stride,
            to_distance: 2 * per_part * task.stride,
        }
    }
}

impl<T: InRegisters, const R: usize> WithSimd for OfRadix<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Butterflies { groups, stride, roots, twiddles, .. } = self.0;
        let Split { from, to, per_part, from_distance, to_distance } = Split::<S, T>::new(&mut self.0);
        let Some(roots) = roots.first_chunk::<R>() else { return };
        let rows: [_; R] = from_fn(|k| &from[k * from_distance..][..from_distance]);
        let zero = T::fill(simd, T::zeroed());
        for group in 0..groups {
            let twiddles = &twiddles[group * (R - 1)..][..R - 1];
            let to = &mut to[group * R * to_distance..][..R * to_distance];
            for at in 0..stride {
                for part in 0..per_part {
                    // The butterfly is computed in an array, because its accesses need no checks.
                    let mut elements = [[zero; 2]; R];
                    let re = 2 * per_part * (group * stride + at) + part;
                    for (element, row) in elements.iter_mut().zip(&rows) {
                        *element = [row[re], row[re + per_part]];
                    }
                    butterfly(simd, &mut elements, roots);
                    // The twiddles of the first group are 1.
                    if group > 0 {
                        for ([re, im], &twiddle) in elements[1..].iter_mut().zip(twiddles) {
                            let product = ComplexRegister::<S, T>::new(simd, *re, *im).times(twiddle);
                            (*re, *im) = (product.re, product.im);
                        }
                    }
                    let re = 2 * per_part * at + part;
                    for (element, to) in elements.into_iter().zip(to.chunks_exact_mut(to_distance)) {
                        [to[re], to[re + per_part]] = element;
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
            let (mut sums, mut differences, mut total) = ([first; R], [first; R], first);
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
                        let [even, odd] = parts_of_result::<S, T, R, $j>(first, &sums, &differences, roots);
                        elements.set($j, even.plus_i(odd));
                        elements.set(R - $j, even.minus_i(odd));
                    })*
                };
            }
            results! { 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 }
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

/// Returns the complex numbers `even` and `odd` for which `even + i·odd` is result `J` of a
/// butterfly with an odd radix, and `even - i·odd` is result `R - J`.
#[inline(always)]
fn parts_of_result<S: Simd, T: InRegisters, const R: usize, const J: usize>(
    first: ComplexRegister<S, T>,
    sums: &[ComplexRegister<S, T>; R],
    differences: &[ComplexRegister<S, T>; R],
    roots: &[Complex<T>; R],
) -> [ComplexRegister<S, T>; 2] {
    let mut even = first.plus_multiple(roots[J % R].re, sums[1]);
    let mut odd = differences[1].scaled(roots[J % R].im);
    for k in 2..R / 2 + 1 {
        // The roots with the numbers `J·k` and `-J·k` are conjugates.
        let root = J * k % R;
        if root <= R / 2 {
            even = even.plus_multiple(roots[root].re, sums[k]);
            odd = odd.plus_multiple(roots[root].im, differences[k]);
        } else {
            even = even.plus_multiple(roots[R - root].re, sums[k]);
            odd = odd.minus_multiple(roots[R - root].im, differences[k]);
        }
    }
    [even, odd]
}

impl<T: InRegisters> WithSimd for OfAnyRadix<'_, T> {
    type Output = ();

    /// Computes the definition of the transform.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Butterflies { groups, roots, twiddles, .. } = self.0;
        let Split { from, to, per_part, from_distance, to_distance } = Split::<S, T>::new(&mut self.0);
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
