//! Products of matrices that the lanes of a warp make together: each lane hands over its words and sums, and gets its sums back.
//!
//! Sums are added to one product after another, in the order of the steps. A GPU may add in another order, and round later.

use fusebox_core::hlo::FloatFormat;
use fusebox_core::ir::{MatrixProduct, PRODUCT_LANES, Scalar};

/// Words that a lane hands over, used or not.
pub const MOST_WORDS: usize = 10;
/// The words and sums of a lane, each from its lowest bit on.
pub type Words = [u64; MOST_WORDS];

/// The sums of all lanes, of what each has handed over.
pub fn multiplied(product: MatrixProduct, lanes: &[Words]) -> Vec<Words> {
    let [rows, columns, steps] = product.shape();
    let [of_left, of_right, of_sums] = product.words();
    let (mut left, mut right) = (vec![0; (rows * steps) as usize], vec![0; (columns * steps) as usize]);
    for (lane, words) in (0..PRODUCT_LANES).zip(lanes) {
        for word in 0..of_left {
            scatter(product, words[word as usize], product.left(lane, word), &mut left);
        }
        for word in 0..of_right {
            scatter(product, words[(of_left + word) as usize], product.right(lane, word), &mut right);
        }
    }
    let line = |elements: &[u64], number: i64| {
        let first = (number * steps) as usize;
        elements[first..first + steps as usize].to_vec()
    };
    (0..PRODUCT_LANES)
        .zip(lanes)
        .map(|(lane, words)| {
            let mut result = [0; MOST_WORDS];
            for sum in 0..of_sums {
                let [row, column] = product.place(lane, sum);
                let before = words[(of_left + of_right + sum) as usize];
                result[sum as usize] = added(product, before, &line(&left, row), &line(&right, column));
            }
            result
        })
        .collect()
}

/// Takes a word apart: its elements are steps side by side of a line.
fn scatter(product: MatrixProduct, word: u64, [line, step]: [i64; 2], elements: &mut [u64]) {
    let bits = product.factor().bits();
    let mask = u64::MAX >> (64 - bits);
    for number in 0..product.pack() {
        let at = line * product.shape()[2] + step + number;
        elements[at as usize] = word >> (number as u32 * bits) & mask;
    }
}

/// A sum with the products of two lines.
fn added(product: MatrixProduct, before: u64, left: &[u64], right: &[u64]) -> u64 {
    let pairs = left.iter().zip(right);
    match product {
        MatrixProduct::I8 => {
            let product = |(&a, &b): (&u64, &u64)| i32::from(a as i8).wrapping_mul(i32::from(b as i8));
            u64::from(pairs.map(product).fold(before as i32, i32::wrapping_add) as u32)
        }
        MatrixProduct::F64 => {
            let add = |sum: f64, (&a, &b): (&u64, &u64)| f64::from_bits(a).mul_add(f64::from_bits(b), sum);
            pairs.fold(f64::from_bits(before), add).to_bits()
        }
        MatrixProduct::Bf16 | MatrixProduct::F16 => {
            let value = |bits: u64| match product.factor() {
                Scalar::Float(float) => float.format().map_or(0.0, |format: FloatFormat| format.decode(bits)) as f32,
                _ => 0.0,
            };
            let add = |sum: f32, (&a, &b): (&u64, &u64)| value(a).mul_add(value(b), sum);
            u64::from(pairs.fold(f32::from_bits(before as u32), add).to_bits())
        }
    }
}
