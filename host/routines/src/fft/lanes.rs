//! A number type that is a vector: each lane holds an element of a different line.
//!
//! `rustfft` has transforms with AVX for lengths whose prime factors are at most 11. For other
//! lengths, `rustfft` computes one complex number at a time, which leaves most of a vector register
//! unused. The transforms without AVX are generic over the number type. With the number types of
//! this file, `rustfft` transforms several lines at once.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut, pod_read_unaligned};
use num_traits::{Float, FromPrimitive, Num, One, Signed, Zero};
use rustfft::{Fft, FftDirection, FftPlannerScalar};
use wide::{f32x4, f64x2};

use super::lines::TransformReal;

/// An element type of arrays.
pub(super) trait Element: TransformReal + Float {
    type Vector: Vector<Element = Self>;
}

impl Element for f32 {
    type Vector = f32x4;
}

impl Element for f64 {
    type Vector = f64x2;
}

/// The number type whose lanes hold elements of type `T`, each of a different line.
pub(super) type LanesOf<T> = Lanes<<T as Element>::Vector>;

/// A vector with [`COUNT`](Vector::COUNT) elements.
pub(super) trait Vector:
    Pod
    + Debug
    + PartialEq
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    type Element: Element<Vector = Self>;
    const COUNT: usize;

    fn splat(element: Self::Element) -> Self;

    /// Transposes a square matrix with [`COUNT`](Vector::COUNT) rows.
    fn transpose(rows: &mut [Self]);
}

impl Vector for f32x4 {
    type Element = f32;
    const COUNT: usize = 4;

    fn splat(element: f32) -> Self {
        f32x4::splat(element)
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        if let Some(rows) = rows.first_chunk_mut() {
            *rows = f32x4::transpose(*rows);
        }
    }
}

impl Vector for f64x2 {
    type Element = f64;
    const COUNT: usize = 2;

    fn splat(element: f64) -> Self {
        f64x2::splat(element)
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        if let Some(rows) = rows.first_chunk_mut() {
            *rows = f64x2::transpose(*rows);
        }
    }
}

/// A number whose lanes are the elements of several lines at the same position.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Lanes<V>(V);

impl<V: Vector> Lanes<V> {
    fn splat(element: V::Element) -> Self {
        Lanes(V::splat(element))
    }

    /// Applies `of` to one lane after the other. The operations that call this function are not
    /// used in transforms.
    fn by_lane(self, other: Self, of: impl Fn(V::Element, V::Element) -> V::Element) -> Self {
        let mut result = self;
        let elements = cast_slice_mut::<Self, V::Element>(std::slice::from_mut(&mut result));
        let others: &[V::Element] = cast_slice(std::slice::from_ref(&other));
        elements.iter_mut().zip(others).for_each(|(element, &other)| *element = of(*element, other));
        result
    }

    fn all(&self, is: impl Fn(V::Element) -> bool) -> bool {
        cast_slice::<Self, V::Element>(std::slice::from_ref(self)).iter().all(|&element| is(element))
    }
}

macro_rules! operators {
    ($($operator:ident $function:ident)*) => {
        $(impl<V: Vector> $operator for Lanes<V> {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                Lanes(self.0.$function(other.0))
            }
        })*
    };
}

operators! { Add add Sub sub Mul mul Div div }

impl<V: Vector> Neg for Lanes<V> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Lanes(-self.0)
    }
}

impl<V: Vector> Rem for Lanes<V> {
    type Output = Self;

    fn rem(self, other: Self) -> Self {
        self.by_lane(other, |x, y| x % y)
    }
}

impl<V: Vector> Zero for Lanes<V> {
    fn zero() -> Self {
        Lanes::splat(V::Element::zero())
    }

    fn is_zero(&self) -> bool {
        self.all(|x| x.is_zero())
    }
}

impl<V: Vector> One for Lanes<V> {
    fn one() -> Self {
        Lanes::splat(V::Element::one())
    }
}

impl<V: Vector> Num for Lanes<V> {
    type FromStrRadixErr = <V::Element as Num>::FromStrRadixErr;

    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        V::Element::from_str_radix(text, radix).map(Lanes::splat)
    }
}

impl<V: Vector> Signed for Lanes<V> {
    fn abs(&self) -> Self {
        self.by_lane(*self, |x, _| Float::abs(x))
    }

    fn abs_sub(&self, other: &Self) -> Self {
        self.by_lane(*other, |x, y| if x <= y { V::Element::zero() } else { x - y })
    }

    fn signum(&self) -> Self {
        self.by_lane(*self, |x, _| Float::signum(x))
    }

    fn is_positive(&self) -> bool {
        self.all(Float::is_sign_positive)
    }

    fn is_negative(&self) -> bool {
        self.all(Float::is_sign_negative)
    }
}

impl<V: Vector> FromPrimitive for Lanes<V> {
    fn from_i64(number: i64) -> Option<Self> {
        V::Element::from_i64(number).map(Lanes::splat)
    }

    fn from_u64(number: u64) -> Option<Self> {
        V::Element::from_u64(number).map(Lanes::splat)
    }

    fn from_f64(number: f64) -> Option<Self> {
        V::Element::from_f64(number).map(Lanes::splat)
    }
}

impl<V: Vector> TransformReal for Lanes<V> {
    fn rounded(value: f64) -> Self {
        Lanes::splat(V::Element::rounded(value))
    }

    /// Uses the planner without AVX. The planner with AVX supports only `f32` and `f64`, but its
    /// code would be compiled for this type too.
    fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<Self>> {
        FftPlannerScalar::new().plan_fft(length, direction)
    }
}

/// Copies lines into lanes. The lines start `distance` elements apart. A line has as many elements
/// as `lanes` has vectors. If there are fewer lines than lanes, the remaining lanes contain the
/// last line.
pub(super) fn gather<V: Vector>(lines: &[V::Element], distance: usize, lanes: &mut [Lanes<V>]) {
    let last = lines.len().saturating_sub(lanes.len()) / distance;
    let line = |lane: usize| &lines[lane.min(last) * distance..][..lanes.len()];
    let lines: Vec<&[V::Element]> = (0..V::COUNT).map(line).collect();
    for (block, vectors) in lanes.chunks_mut(V::COUNT).enumerate() {
        let at = block * V::COUNT;
        if vectors.len() == V::COUNT {
            for (vector, line) in vectors.iter_mut().zip(&lines) {
                *vector = pod_read_unaligned(cast_slice(&line[at..at + V::COUNT]));
            }
            transpose(vectors);
            continue;
        }
        for (number, vector) in vectors.iter_mut().enumerate() {
            let elements: &mut [V::Element] = cast_slice_mut(std::slice::from_mut(vector));
            elements.iter_mut().zip(&lines).for_each(|(element, line)| *element = line[at + number]);
        }
    }
}

/// Copies lanes into adjacent lines. There may be fewer lines than lanes. Overwrites `lanes`.
pub(super) fn scatter<V: Vector>(lanes: &mut [Lanes<V>], lines: &mut [V::Element]) {
    let length = lanes.len();
    let whole = length - length % V::COUNT;
    let (blocks, rest) = lanes.split_at_mut(whole);
    blocks.chunks_exact_mut(V::COUNT).for_each(transpose);
    for (lane, line) in lines.chunks_exact_mut(length).enumerate() {
        let (in_blocks, in_rest) = line.split_at_mut(whole);
        for (elements, vectors) in in_blocks.chunks_exact_mut(V::COUNT).zip(blocks.chunks_exact(V::COUNT)) {
            elements.copy_from_slice(cast_slice(std::slice::from_ref(&vectors[lane])));
        }
        for (element, vector) in in_rest.iter_mut().zip(rest.iter()) {
            *element = cast_slice::<_, V::Element>(std::slice::from_ref(vector))[lane];
        }
    }
}

#[inline(always)]
fn transpose<V: Vector>(rows: &mut [Lanes<V>]) {
    V::transpose(bytemuck::cast_slice_mut(rows));
}
