//! Products of matrices that the lanes of a warp make together, in one instruction of the target: which there are, and which
//! lane has which elements.
//!
//! ```text
//! left    rows x steps      words of neighbouring steps
//! right   steps x columns   words of neighbouring steps
//! sums    rows x columns    one by one
//! ```
//!
//! Lanes are numbered as NVIDIA's `mma` does: a lane is at place `lane % 4` of the group `lane / 4`. (PTX manual, matrix
//! multiply-accumulate.)

use super::{Attribute, Float, Operation, Scalar, Type};

/// Lanes that make a product.
pub const PRODUCT_LANES: i64 = 32;
/// Words and sums of a lane, of whichever product.
pub const MOST_PRODUCT_WORDS: usize = 10;
/// Bytes of the smallest word that a lane has of an operand.
const WORD: i64 = 4;
/// Lanes of a group: it has a row of words of the left operand, and two neighbours of a row of sums each.
const PLACES: i64 = 4;
/// Rows, or columns, that the groups have one each.
const GROUPS: i64 = PRODUCT_LANES / PLACES;

/// A product: of which elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixProduct {
    /// 16 by 8 by 16, summed in `f32`.
    Bf16,
    /// 16 by 8 by 16, summed in `f32`.
    F16,
    /// Signed integers, 16 by 8 by 32, summed in 32 bits.
    I8,
    /// 8 by 8 by 4.
    F64,
}

impl MatrixProduct {
    /// All there are, each at its number.
    pub const ALL: [MatrixProduct; 4] =
        [MatrixProduct::Bf16, MatrixProduct::F16, MatrixProduct::I8, MatrixProduct::F64];

    /// Its number, for code that is not Rust.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Its name in the kernel IR.
    pub const fn name(self) -> &'static str {
        match self {
            MatrixProduct::Bf16 => "m16n8k16.bf16",
            MatrixProduct::F16 => "m16n8k16.f16",
            MatrixProduct::I8 => "m16n8k32.i8",
            MatrixProduct::F64 => "m8n8k4.f64",
        }
    }

    /// The product of a name.
    pub fn of_name(name: &str) -> Option<MatrixProduct> {
        MatrixProduct::ALL.into_iter().find(|product| product.name() == name)
    }

    /// The product that an operation's attribute names.
    pub fn of_operation(operation: &Operation) -> Option<MatrixProduct> {
        match operation.attribute("product") {
            Some(Attribute::Str(name)) => MatrixProduct::of_name(name),
            _ => None,
        }
    }

    /// Elements of the operands.
    pub const fn factor(self) -> Scalar {
        match self {
            MatrixProduct::Bf16 => Scalar::Float(Float::BF16),
            MatrixProduct::F16 => Scalar::Float(Float::F16),
            MatrixProduct::I8 => Scalar::Int(8),
            MatrixProduct::F64 => Scalar::Float(Float::F64),
        }
    }

    /// Elements of the sums.
    pub const fn sum(self) -> Scalar {
        match self {
            MatrixProduct::Bf16 | MatrixProduct::F16 => Scalar::F32,
            MatrixProduct::I8 => Scalar::Int(32),
            MatrixProduct::F64 => Scalar::Float(Float::F64),
        }
    }

    /// Rows, columns and steps.
    pub const fn shape(self) -> [i64; 3] {
        match self {
            MatrixProduct::Bf16 | MatrixProduct::F16 => [16, 8, 16],
            MatrixProduct::I8 => [16, 8, 32],
            MatrixProduct::F64 => [8, 8, 4],
        }
    }

    /// Elements of an operand's word.
    pub fn pack(self) -> i64 {
        (WORD / self.factor().byte_size() as i64).max(1)
    }

    /// A lane's words of the left and of the right operand, and its sums.
    pub fn words(self) -> [i64; 3] {
        let [rows, columns, steps] = self.shape();
        let of_lane = |elements: i64| elements / PRODUCT_LANES;
        [of_lane(rows * steps) / self.pack(), of_lane(columns * steps) / self.pack(), of_lane(rows * columns)]
    }

    /// The type of an operand's word.
    pub fn word(self) -> Type {
        match self.pack() {
            1 => self.factor().into(),
            pack => Type::vector(&[pack], self.factor()),
        }
    }

    /// Row and first step of a lane's word of the left operand.
    pub fn left(self, lane: i64, word: i64) -> [i64; 2] {
        let halves = self.shape()[0] / GROUPS;
        let (group, place) = (lane / PLACES, lane % PLACES);
        [group + word % halves * GROUPS, (place + word / halves * PLACES) * self.pack()]
    }

    /// Column and first step of a lane's word of the right operand.
    pub fn right(self, lane: i64, word: i64) -> [i64; 2] {
        let (group, place) = (lane / PLACES, lane % PLACES);
        [group, (place + word * PLACES) * self.pack()]
    }

    /// Row and column of a lane's sum.
    pub fn place(self, lane: i64, sum: i64) -> [i64; 2] {
        let (group, place) = (lane / PLACES, lane % PLACES);
        [group + sum / 2 * GROUPS, 2 * place + sum % 2]
    }
}

/// Threads that multiply tiles of shared memory together: four warps, the first of which has a number divisible by four.
pub const GROUP_THREADS: i64 = 128;
/// Rows of the left tile that a group multiplies.
pub const GROUP_ROWS: i64 = 64;
/// Rows, or columns, of the squares that tiles are made of.
pub const TILE_SQUARE: i64 = 8;
/// Steps that one instruction of a group takes.
pub const GROUP_STEPS: i64 = 16;
/// Most columns of the right tile.
pub const MOST_GROUP_COLUMNS: i64 = 256;

/// Row and column of a thread's sum of a group's product: a warp has sixteen rows, and squares of it side by side are as
/// those of [`MatrixProduct`].
pub fn group_place(thread: i64, sum: i64) -> [i64; 2] {
    let (warp, lane) = (thread % GROUP_THREADS / PRODUCT_LANES, thread % PRODUCT_LANES);
    let [row, column] = MatrixProduct::Bf16.place(lane, sum % 4);
    [warp * 2 * GROUPS + row, sum / 4 * TILE_SQUARE + column]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Every element is some lane's, each of them once.
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
