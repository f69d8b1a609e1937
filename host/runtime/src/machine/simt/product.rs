//! Simulates the two kinds of matrix products of GPUs. In a product by the lanes of a warp, each
//! lane passes its words of the operands and its sums, and receives its new sums. In a product of
//! tiles in shared memory, each thread reads the tiles and computes its sums.
//!
//! An element of the product matrix is a sum, whose terms are products of two operand elements. The
//! simulator adds the terms one after another, along the contracted dimension. A GPU may add the
//! terms in another order, and round later.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fusebox_core::ir::{Float, MOST_PRODUCT_WORDS, MatrixProduct, PRODUCT_LANES, Scalar, TILE_SQUARE, group_place};

/// The operand words that a lane holds, followed by the lane's sums. Unused entries are at the end.
/// Each value starts at the lowest bit of its entry.
pub type Words = [u64; MOST_PRODUCT_WORDS];

/// Computes a product from the words and the sums of all lanes. Returns the new sums of each lane.
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
            let mut result = [0; MOST_PRODUCT_WORDS];
            for sum in 0..of_sums {
                let [row, column] = product.place(lane, sum);
                let before = words[(of_left + of_right + sum) as usize];
                result[sum as usize] = added(product, before, &line(&left, row), &line(&right, column));
            }
            result
        })
        .collect()
}

/// Unpacks a word into `elements`. The elements of a word are adjacent along the contracted
/// dimension, and begin at index `step`. All elements of a word are in row `line` of the left
/// operand or in column `line` of the right operand.
fn scatter(product: MatrixProduct, word: u64, [line, step]: [i64; 2], elements: &mut [u64]) {
    let bits = product.factor().bits();
    let mask = u64::MAX >> (64 - bits);
    for number in 0..product.pack() {
        let at = line * product.shape()[2] + step + number;
        elements[at as usize] = word >> (number as u32 * bits) & mask;
    }
}

/// Adds the inner product of `left` and `right` to the sum `before`. `left` is a row of the left
/// operand, and `right` a column of the right operand.
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
                Scalar::Float(float) => decoded(float, bits),
                _ => 0.0,
            };
            let add = |sum: f32, (&a, &b): (&u64, &u64)| value(a).mul_add(value(b), sum);
            u64::from(pairs.fold(f32::from_bits(before as u32), add).to_bits())
        }
    }
}

/// Converts the bits of a narrow float to `f32`.
fn decoded(float: Float, bits: u64) -> f32 {
    float.format().map_or(0.0, |format| format.decode(bits)) as f32
}

/// Parameters of a product of two tiles: the sizes of the product, and the layouts of the tiles. A
/// tile consists of squares of 8 × 8 elements.
pub struct TileProduct {
    pub element: Float,
    pub columns: i64,
    pub steps: i64,
    /// For each tile, the distance in bytes from one square to the next along the contracted
    /// dimension.
    pub strides: [i64; 2],
    /// For each tile, whether the elements of a square are contiguous along the contracted
    /// dimension. Otherwise the elements are contiguous along the other dimension.
    pub along_steps: [bool; 2],
}

impl TileProduct {
    /// Returns the offset in bytes of an element in tile `side`: 0 is the left tile, 1 the right
    /// tile. `step` is the element's index along the contracted dimension, and `line` its row in
    /// the left tile or its column in the right tile.
    fn offset(&self, side: usize, line: i64, step: i64) -> i64 {
        let (of_line, of_step) = (line % TILE_SQUARE, step % TILE_SQUARE);
        let within =
            if self.along_steps[side] { of_line * TILE_SQUARE + of_step } else { of_step * TILE_SQUARE + of_line };
        let square = line / TILE_SQUARE * TILE_SQUARE * TILE_SQUARE;
        step / TILE_SQUARE * self.strides[side] + (square + within) * i64::from(self.element.bytes())
    }

    /// Adds the product to the sums of a thread. `read` takes the number of a tile and an offset in
    /// bytes. `read` returns the bits of the element at this offset, or `None` if the thread must
    /// not read the element. Returns `None` if `read` returns `None`.
    pub fn add(&self, thread: i64, sums: &mut [f32], mut read: impl FnMut(usize, i64) -> Option<u16>) -> Option<()> {
        let mut lines: HashMap<(usize, i64), Vec<f32>> = HashMap::new();
        for (number, sum) in sums.iter_mut().enumerate() {
            for (side, line) in group_place(thread, number as i64).into_iter().enumerate() {
                if let Entry::Vacant(vacant) = lines.entry((side, line)) {
                    let elements = (0..self.steps).map(|step| read(side, self.offset(side, line, step)));
                    let decode = |bits: Option<u16>| bits.map(|bits| decoded(self.element, bits.into()));
                    vacant.insert(elements.map(decode).collect::<Option<Vec<f32>>>()?);
                }
            }
            let [row, column] = group_place(thread, number as i64);
            let pairs = lines.get(&(0, row))?.iter().zip(lines.get(&(1, column))?);
            *sum = pairs.fold(*sum, |sum, (a, b)| a.mul_add(*b, sum));
        }
        Some(())
    }
}
