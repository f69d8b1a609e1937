//! A number type that is a vector: each lane holds an element of a different line.
//!
//! `rustfft` has transforms with AVX for lengths whose prime factors are at most 11. For other
//! lengths, `rustfft` computes one complex number at a time, which leaves most of a vector register
//! unused. With the number types of this file, several lines are transformed at once.

use std::array::from_fn;
use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut, pod_read_unaligned};
use num_traits::{Float, FromPrimitive, Num, One, Signed, Zero};
use wide::{f32x4, f32x8, f64x2, f64x4};

use super::lines::TransformReal;
use super::registers::InRegisters;

/// An element type of arrays.
pub(super) trait Element: TransformReal + InRegisters + Float {
    type Vector: Vector<Element = Self>;
}

impl Element for f32 {
    type Vector = f32x8;
}

impl Element for f64 {
    type Vector = f64x4;
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

impl Vector for f32x8 {
    type Element = f32;
    const COUNT: usize = 8;

    fn splat(element: f32) -> Self {
        f32x8::splat(element)
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        transpose_quarters(cast_slice_mut(rows), f32x4::transpose);
    }
}

impl Vector for f64x4 {
    type Element = f64;
    const COUNT: usize = 4;

    fn splat(element: f64) -> Self {
        f64x4::splat(element)
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        transpose_quarters(cast_slice_mut(rows), f64x2::transpose);
    }
}

/// Transposes a square matrix whose rows consist of two vectors with `N` elements. `transpose`
/// transposes a quarter of the matrix.
#[inline(always)]
fn transpose_quarters<V: Copy, const N: usize>(rows: &mut [[V; 2]], transpose: impl Fn([V; N]) -> [V; N]) {
    let (upper, lower) = rows.split_at_mut(N);
    let quarter = |rows: &[[V; 2]], column: usize| transpose(from_fn(|row| rows[row][column]));
    let [a, b, c, d] = [quarter(upper, 0), quarter(upper, 1), quarter(lower, 0), quarter(lower, 1)];
    for row in 0..N {
        (upper[row], lower[row]) = ([a[row], c[row]], [b[row], d[row]]);
    }
}

/// A number whose lanes are the elements of several lines at the same position.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Lanes<V>(V);

impl<V: Vector> Lanes<V> {
    /// Returns a number whose lanes are equal to `element`.
    #[inline(always)]
    pub fn splat(element: V::Element) -> Self {
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

/// Copies lines into lanes. The lines start `distance` elements apart. A line has as many elements
/// as `lanes` has vectors. If there are fewer lines than lanes, the remaining lanes contain the
/// last line.
#[inline(always)]
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
#[inline(always)]
pub(super) fn scatter<V: Vector>(lanes: &mut [Lanes<V>], lines: &mut [V::Element]) {
    let length = lanes.len();
    for (block, vectors) in lanes.chunks_mut(V::COUNT).enumerate() {
        let at = block * V::COUNT;
        if vectors.len() == V::COUNT {
            transpose(vectors);
            for (vector, line) in vectors.iter().zip(lines.chunks_exact_mut(length)) {
                line[at..at + V::COUNT].copy_from_slice(cast_slice(std::slice::from_ref(vector)));
            }
            continue;
        }
        for (number, vector) in vectors.iter().enumerate() {
            let elements: &[V::Element] = cast_slice(std::slice::from_ref(vector));
            elements
                .iter()
                .zip(lines.chunks_exact_mut(length))
                .for_each(|(element, line)| line[at + number] = *element);
        }
    }
}

#[inline(always)]
fn transpose<V: Vector>(rows: &mut [Lanes<V>]) {
    V::transpose(bytemuck::cast_slice_mut(rows));
}
