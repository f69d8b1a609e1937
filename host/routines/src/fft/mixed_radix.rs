//! Transforms of complex lines in lanes, compiled for AVX if the processor has it.
//!
//! A line of length `n = r·m` is transformed in stages. Each stage computes butterflies, which are
//! transforms of `r` elements that are `m` elements apart, and multiplies their results by
//! twiddles. The order in which a stage writes its results makes a final permutation unnecessary.
//! Source of this order: Stockham's algorithm, in Cochran et al., "What is the fast Fourier
//! transform?" (1967).
//!
//! A butterfly with an odd radix adds and subtracts the elements `k` and `r - k` before it
//! multiplies them by real numbers. Source: Singleton, "An algorithm for computing the mixed radix
//! fast Fourier transform" (1969).

use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex;
use pulp::{Simd, WithSimd};
use rustfft::{Direction, Fft, FftDirection, Length};

use super::butterflies::{Butterflies, InPlace, OfAnyRadix, OfRadix};
use super::lanes::{Element, Lanes, Vector};
use super::lines::TransformReal;
use super::registers::vectorize;

/// The transform of complex lines of one length and direction.
pub(super) struct MixedRadix<T> {
    length: usize,
    direction: FftDirection,
    stages: Vec<Stage<T>>,
}

/// A stage. It computes `groups · stride` butterflies. The elements of one butterfly are `groups ·
/// stride` elements apart.
struct Stage<T> {
    radix: usize,
    /// Number of groups. The butterflies of one group have equal twiddles.
    groups: usize,
    /// Number of adjacent butterflies in a group, which is the product of the earlier radices.
    stride: usize,
    /// The radix-th roots of unity, `exp(∓2πi·k/radix)`. The sign depends on the direction.
    roots: Vec<Complex<T>>,
    /// For each group, the numbers by which the results 1 to `radix - 1` of a butterfly are
    /// multiplied.
    twiddles: Vec<Complex<T>>,
}

impl<T: Element> MixedRadix<T> {
    /// Plans the transform of lines of `length` elements. Prime factors above 31 are slow.
    pub fn new(length: usize, direction: FftDirection) -> Self {
        let (mut stages, mut stride) = (Vec::new(), 1);
        for radix in radices(length) {
            stages.push(Stage::new(radix, length / (stride * radix), stride, direction));
            stride *= radix;
        }
        MixedRadix { length, direction, stages }
    }

    /// Whether stage `number` writes the result of the transform, or a stage after the next one.
    /// Stages alternate between two buffers, so that the last one writes the result.
    fn writes_result(&self, number: usize) -> bool {
        (self.stages.len() - number) % 2 == 1
    }

    /// Transforms the lines of `input`, or the lines of `output` in place.
    fn process<V: Vector<Element = T>>(
        &self,
        input: Option<&[Complex<Lanes<V>>]>,
        output: &mut [Complex<Lanes<V>>],
        scratch: &mut [Complex<Lanes<V>>],
    ) {
        let transform = Transform {
            plan: self,
            input: input.map(cast_slice),
            output: cast_slice_mut(output),
            scratch: cast_slice_mut(&mut scratch[..self.length]),
        };
        vectorize(transform);
    }
}

/// Returns the radices of a transform: 4, and the prime factors of the length.
fn radices(mut length: usize) -> Vec<usize> {
    let mut radices = Vec::new();
    let mut radix = 4;
    while length > 1 {
        while length.is_multiple_of(radix) {
            radices.push(radix);
            length /= radix;
        }
        radix = match radix {
            4 => 2,
            2 => 3,
            _ if radix * radix > length => length,
            _ => radix + 2,
        };
    }
    radices
}

impl<T: Element> Stage<T> {
    fn new(radix: usize, groups: usize, stride: usize, direction: FftDirection) -> Self {
        let sign = if direction == FftDirection::Forward { -1.0 } else { 1.0 };
        let root = |k: usize, n: usize| {
            let angle = sign * std::f64::consts::TAU * (k % n) as f64 / n as f64;
            Complex::new(T::rounded(angle.cos()), T::rounded(angle.sin()))
        };
        let of_group = |group: usize| (1..radix).map(move |k| root(k * group, radix * groups));
        Stage {
            radix,
            groups,
            stride,
            roots: (0..radix).map(|k| root(k, radix)).collect(),
            twiddles: (0..groups).flat_map(of_group).collect(),
        }
    }
}

impl<T> Length for MixedRadix<T> {
    fn len(&self) -> usize {
        self.length
    }
}

impl<T> Direction for MixedRadix<T> {
    fn fft_direction(&self) -> FftDirection {
        self.direction
    }
}

impl<V: Vector> Fft<Lanes<V>> for MixedRadix<V::Element> {
    fn process_with_scratch(&self, buffer: &mut [Complex<Lanes<V>>], scratch: &mut [Complex<Lanes<V>>]) {
        self.process(None, buffer, scratch);
    }

    fn process_outofplace_with_scratch(
        &self,
        input: &mut [Complex<Lanes<V>>],
        output: &mut [Complex<Lanes<V>>],
        scratch: &mut [Complex<Lanes<V>>],
    ) {
        self.process(Some(input), output, scratch);
    }

    fn process_immutable_with_scratch(
        &self,
        input: &[Complex<Lanes<V>>],
        output: &mut [Complex<Lanes<V>>],
        scratch: &mut [Complex<Lanes<V>>],
    ) {
        self.process(Some(input), output, scratch);
    }

    fn get_inplace_scratch_len(&self) -> usize {
        self.length
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        self.length
    }

    fn get_immutable_scratch_len(&self) -> usize {
        self.length
    }
}

impl<V: Vector> TransformReal for Lanes<V> {
    type Element = V::Element;

    fn rounded(value: f64) -> Self {
        Lanes::splat(V::Element::rounded(value))
    }

    #[inline(always)]
    fn splat(element: V::Element) -> Self {
        Lanes::splat(element)
    }

    fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<Self>> {
        Arc::new(MixedRadix::new(length, direction))
    }
}

/// The task of transforming lines whose elements are vectors.
struct Transform<'a, T> {
    plan: &'a MixedRadix<T>,
    /// The lines to transform. `None` if `output` contains them.
    input: Option<&'a [T]>,
    output: &'a mut [T],
    /// Memory of one line.
    scratch: &'a mut [T],
}

impl<T: Element> WithSimd for Transform<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Transform { plan, input, output, scratch } = self;
        if let (None, [stage]) = (input, &plan.stages[..])
            && const { size_of::<T::Register<S>>() == T::Vector::COUNT * size_of::<T>() }
            && stage.run_in_place(simd, output)
        {
            return;
        }
        // A line consists of complex numbers, whose parts are vectors.
        let line = 2 * T::Vector::COUNT * plan.length;
        for (number, output) in output.chunks_exact_mut(line).enumerate() {
            match (input, plan.stages.first()) {
                (Some(input), None) => output.copy_from_slice(&input[number * line..][..line]),
                (Some(input), Some(first)) => {
                    let to = if plan.writes_result(0) { &mut *output } else { &mut *scratch };
                    first.run(simd, &input[number * line..][..line], to);
                }
                (None, Some(first)) if plan.writes_result(0) => {
                    scratch.copy_from_slice(output);
                    first.run(simd, scratch, output);
                }
                (None, Some(first)) => first.run(simd, output, scratch),
                (None, None) => {}
            }
            for (number, stage) in plan.stages.iter().enumerate().skip(1) {
                let (from, to) =
                    if plan.writes_result(number) { (&*scratch, &mut *output) } else { (&*output, &mut *scratch) };
                stage.run(simd, from, to);
            }
        }
    }
}

/// Evaluates to `$of` with the constant `R` equal to `$radix`, or to `$other` if there are no
/// specialised butterflies of this radix.
macro_rules! with_radix {
    ($radix:expr, R => $of:expr, _ => $other:expr) => {
        with_radix!(@ $radix, $of, $other; 2 3 4 5 7 11 13 17 19 23 29 31)
    };
    (@ $radix:expr, $of:expr, $other:expr; $($number:literal)*) => {
        match $radix {
            $($number => { const R: usize = $number; $of })*
            _ => $other,
        }
    };
}

impl<T: Element> Stage<T> {
    #[inline(always)]
    fn run<S: Simd>(&self, simd: S, from: &[T], to: &mut [T]) {
        let Stage { radix, groups, stride, roots, twiddles } = self;
        let butterflies = Butterflies { groups: *groups, stride: *stride, roots, twiddles, from, to };
        // The specialised butterflies take long to compile, so processors whose registers hold one
        // number do without them.
        if const { size_of::<T::Register<S>>() == size_of::<T>() } {
            return simd.vectorize(OfAnyRadix(butterflies));
        }
        with_radix!(*radix,
            R => simd.vectorize(OfRadix::<_, R>(butterflies)),
            _ => simd.vectorize(OfAnyRadix(butterflies)))
    }

    /// Transforms lines in place if this is the only stage, and a register has as many lanes as a
    /// vector. Returns false if there are no specialised butterflies.
    #[inline(always)]
    fn run_in_place<S: Simd>(&self, simd: S, elements: &mut [T]) -> bool {
        let roots = &self.roots[..];
        with_radix!(self.radix,
            R => { simd.vectorize(InPlace::<_, R> { roots, elements }); true },
            _ => false)
    }
}
