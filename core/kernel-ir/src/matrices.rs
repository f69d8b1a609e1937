//! Matrix products that one instruction of the target computes. All lanes of a warp execute this
//! instruction together. This module lists the products, and defines which elements each lane
//! holds. A *step* is one index along the contracted dimension.
//!
//! ```text
//! left    rows x steps      words of neighbouring steps
//! right   steps x columns   words of neighbouring steps
//! sums    rows x columns    single elements
//! ```
//!
//! Lanes are numbered as in NVIDIA's `mma`: a lane has position `lane % 4` in group `lane / 4` (PTX
//! manual, matrix multiply-accumulate).

use super::{Attribute, Float, Operation, Scalar, Type};

/// Number of lanes that compute a product together.
pub const PRODUCT_LANES: i64 = 32;
/// Largest number of values that a lane holds for one product: words of the left operand, words of
/// the right operand, and sums.
pub const MOST_PRODUCT_WORDS: usize = 10;
/// Size in bytes of the smallest word of an operand. A lane holds a word, which consists of several
/// elements, in one register.
const WORD: i64 = 4;
/// Number of lanes in a group. The lanes of a group together hold one row of words of the left
/// operand. Each lane holds two adjacent sums of a row.
const PLACES: i64 = 4;
/// Number of groups. At any one time, each group of lanes holds one row of the left operand or one
/// column of the right operand.
const GROUPS: i64 = PRODUCT_LANES / PLACES;

/// A matrix product with its element types. The descriptions of the variants state sizes as rows by
/// columns by steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixProduct {
    /// Product of `bf16` numbers, 16 by 8 by 16, with sums in `f32`.
    Bf16,
    /// Product of `f16` numbers, 16 by 8 by 16, with sums in `f32`.
    F16,
    /// Product of signed 8-bit integers, 16 by 8 by 32, with sums in 32 bits.
    I8,
    /// Product of `f64` numbers, 8 by 8 by 4, with sums in `f64`.
    F64,
}

impl MatrixProduct {
    /// All products, indexed by number.
    pub const ALL: [MatrixProduct; 4] =
        [MatrixProduct::Bf16, MatrixProduct::F16, MatrixProduct::I8, MatrixProduct::F64];

    /// Returns the number of the product, for code that is not written in Rust.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Returns the name of the product in the kernel IR.
    pub const fn name(self) -> &'static str {
        match self {
            MatrixProduct::Bf16 => "m16n8k16.bf16",
            MatrixProduct::F16 => "m16n8k16.f16",
            MatrixProduct::I8 => "m16n8k32.i8",
            MatrixProduct::F64 => "m8n8k4.f64",
        }
    }

    /// Returns the product with this name.
    pub fn of_name(name: &str) -> Option<MatrixProduct> {
        MatrixProduct::ALL.into_iter().find(|product| product.name() == name)
    }

    /// Returns the product that an operation's attribute names.
    pub fn of_operation(operation: &Operation) -> Option<MatrixProduct> {
        match operation.attribute("product") {
            Some(Attribute::Str(name)) => MatrixProduct::of_name(name),
            _ => None,
        }
    }

    /// Returns the element type of the operands.
    pub const fn factor(self) -> Scalar {
        match self {
            MatrixProduct::Bf16 => Scalar::Float(Float::BF16),
            MatrixProduct::F16 => Scalar::Float(Float::F16),
            MatrixProduct::I8 => Scalar::Int(8),
            MatrixProduct::F64 => Scalar::Float(Float::F64),
        }
    }

    /// Returns the element type of the sums.
    pub const fn sum(self) -> Scalar {
        match self {
            MatrixProduct::Bf16 | MatrixProduct::F16 => Scalar::F32,
            MatrixProduct::I8 => Scalar::Int(32),
            MatrixProduct::F64 => Scalar::Float(Float::F64),
        }
    }

    /// Returns the numbers of rows, columns and steps.
    pub const fn shape(self) -> [i64; 3] {
        match self {
            MatrixProduct::Bf16 | MatrixProduct::F16 => [16, 8, 16],
            MatrixProduct::I8 => [16, 8, 32],
            MatrixProduct::F64 => [8, 8, 4],
        }
    }

    /// Returns the number of elements in a word of an operand.
    pub fn pack(self) -> i64 {
        (WORD / self.factor().byte_size() as i64).max(1)
    }

    /// Returns three numbers for one lane: how many words of the left operand, how many words of
    /// the right operand, and how many sums the lane holds.
    pub fn words(self) -> [i64; 3] {
        let [rows, columns, steps] = self.shape();
        let of_lane = |elements: i64| elements / PRODUCT_LANES;
        [of_lane(rows * steps) / self.pack(), of_lane(columns * steps) / self.pack(), of_lane(rows * columns)]
    }

    /// Returns the type of a word of an operand.
    pub fn word(self) -> Type {
        match self.pack() {
            1 => self.factor().into(),
            pack => Type::vector(&[pack], self.factor()),
        }
    }

    /// Returns the position of one word of the left operand: its row and its first step. `word`
    /// numbers the words that the lane holds.
    pub fn left(self, lane: i64, word: i64) -> [i64; 2] {
        let halves = self.shape()[0] / GROUPS;
        let (group, place) = (lane / PLACES, lane % PLACES);
        [group + word % halves * GROUPS, (place + word / halves * PLACES) * self.pack()]
    }

    /// Returns the position of one word of the right operand: its column and its first step. `word`
    /// numbers the words that the lane holds.
    pub fn right(self, lane: i64, word: i64) -> [i64; 2] {
        let (group, place) = (lane / PLACES, lane % PLACES);
        [group, (place + word * PLACES) * self.pack()]
    }

    /// Returns the row and the column of one sum. `sum` numbers the sums that the lane holds.
    pub fn place(self, lane: i64, sum: i64) -> [i64; 2] {
        let (group, place) = (lane / PLACES, lane % PLACES);
        [group + sum / 2 * GROUPS, 2 * place + sum % 2]
    }
}

/// Number of threads that together multiply tiles in shared memory. The 128 threads form four
/// consecutive warps. The number of the first of these four warps is divisible by four.
pub const GROUP_THREADS: i64 = 128;
/// Number of rows of the left tile that a group of four warps multiplies.
pub const GROUP_ROWS: i64 = 64;
/// Number of rows, and of columns, in each square of a tile.
pub const TILE_SQUARE: i64 = 8;
/// Number of steps along the contracted dimension that one instruction of four warps covers.
pub const GROUP_STEPS: i64 = 16;
/// Largest number of columns of the right tile.
pub const MOST_GROUP_COLUMNS: i64 = 256;

/// Returns the row and the column of one sum in a product that four warps compute. `sum` numbers
/// the sums that the thread holds. Each warp holds sixteen rows of the product. In each piece of 16
/// rows and 8 columns, the lanes of a warp hold the sums at the same positions as in a
/// [`MatrixProduct`].
pub fn group_place(thread: i64, sum: i64) -> [i64; 2] {
    let (warp, lane) = (thread % GROUP_THREADS / PRODUCT_LANES, thread % PRODUCT_LANES);
    let [row, column] = MatrixProduct::Bf16.place(lane, sum % 4);
    [warp * 2 * GROUPS + row, sum / 4 * TILE_SQUARE + column]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Checks that the lanes together hold every element. No element is held twice, because the
    /// lanes together hold exactly as many words as the operands have.
    #[test]
    fn lanes_have_all_elements() {
        for product in MatrixProduct::ALL {
            let ([rows, columns, steps], [left, right, sums]) = (product.shape(), product.words());
            let of = |words: i64, pack: i64, place: &dyn Fn(i64, i64) -> [i64; 2]| -> HashSet<[i64; 2]> {
                let lanes = (0..PRODUCT_LANES).flat_map(|lane| (0..words).map(move |word| (lane, word)));
                lanes
                    .flat_map(|(lane, word)| (0..pack).map(move |i| (lane, word, i)))
                    .map(|(lane, word, i)| {
                        let [line, step] = place(lane, word);
                        [line, step + i]
                    })
                    .collect()
            };
            let all = |lines: i64, steps: i64| -> HashSet<[i64; 2]> {
                (0..lines).flat_map(|line| (0..steps).map(move |step| [line, step])).collect()
            };
            assert_eq!(of(left, product.pack(), &|lane, word| product.left(lane, word)), all(rows, steps));
            assert_eq!(of(right, product.pack(), &|lane, word| product.right(lane, word)), all(columns, steps));
            assert_eq!(of(sums, 1, &|lane, sum| product.place(lane, sum)), all(rows, columns));
            assert!(left + right + sums <= MOST_PRODUCT_WORDS as i64);
            assert_eq!(MatrixProduct::ALL[product.number() as usize], product);
        }
    }
}
