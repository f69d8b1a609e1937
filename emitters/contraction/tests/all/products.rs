//! Checks products of all forms, sizes and types.

use fusebox_conformance::literals::Closeness;
use fusebox_conformance::{Machine, inputs};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, ArrayShape};

use crate::{compiler, contracts, exact, machines, makers};

/// A product that is written as a fusion.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    pub left: (&'a str, &'a [i64]),
    pub right: (&'a str, &'a [i64]),
    pub result: &'a str,
    pub batch: [&'a [i64]; 2],
    pub steps: [&'a [i64]; 2],
}

fn list(items: &[i64]) -> String {
    items.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

impl Product<'_> {
    /// Returns the dimensions of the result.
    pub fn dims(&self) -> Vec<i64> {
        let free = |dims: &[i64], side: usize| -> Vec<i64> {
            let is_free = |dim: &i64| !self.batch[side].contains(dim) && !self.steps[side].contains(dim);
            (0..dims.len() as i64).filter(is_free).map(|dim| dims[dim as usize]).collect()
        };
        let batch = self.batch[0].iter().map(|&dim| self.left.1[dim as usize]).collect();
        [batch, free(self.left.1, 0), free(self.right.1, 1)].concat()
    }

    pub fn text(&self) -> String {
        let [(left, left_dims), (right, right_dims)] = [self.left, self.right];
        let ([lhs_batch, rhs_batch], [lhs, rhs]) = (self.batch.map(list), self.steps.map(list));
        format!(
            "fusion {{
  x = {left}[{}] parameter(0)
  y = {right}[{}] parameter(1)
  ROOT d = {}[{}] dot(x, y), lhs_batch_dims={{{lhs_batch}}}, rhs_batch_dims={{{rhs_batch}}}, \
lhs_contracting_dims={{{lhs}}}, rhs_contracting_dims={{{rhs}}}
}}
",
            list(left_dims),
            list(right_dims),
            self.result,
            list(&self.dims())
        )
    }
}

/// Returns a product of `[m, k]` and `[k, n]`.
pub fn plain(element: &str, [m, k, n]: [i64; 3]) -> String {
    let (left, right) = ([m, k], [k, n]);
    Product {
        left: (element, &left),
        right: (element, &right),
        result: element,
        batch: [&[], &[]],
        steps: [&[1], &[0]],
    }
    .text()
}

#[test]
fn tiles_of_all_remainders() {
    // Sizes around multiples of the register tiles' rows and columns, and of the steps packed at
    // once.
    let sizes = [[14, 256, 32], [15, 257, 33], [13, 255, 31], [60, 5, 16], [7, 600, 17], [97, 31, 130], [260, 40, 260]];
    for sizes in sizes {
        contracts(&plain("f32", sizes));
    }
}

#[test]
fn few_rows_or_columns() {
    for sizes in [[1, 70, 300], [1, 70, 256], [2, 33, 129], [129, 33, 2], [3, 1000, 5], [5, 1000, 3], [600, 64, 16]] {
        contracts(&plain("f32", sizes));
    }
}

#[test]
fn operands_in_any_order() {
    // The contracted dimension of each operand is contiguous or strided.
    for (left, right, steps) in [
        ([40, 70], [90, 70], [1, 1]),
        ([70, 40], [70, 90], [0, 0]),
        ([70, 40], [90, 70], [0, 1]),
        ([40, 300], [45, 300], [1, 1]),
        // A column-major matrix times a vector.
        ([70, 40], [70, 1], [0, 0]),
    ] {
        let steps: [&[i64]; 2] = [&[steps[0]], &[steps[1]]];
        let product = Product { left: ("f32", &left), right: ("f32", &right), result: "f32", batch: [&[], &[]], steps };
        contracts(&product.text());
    }
}

#[test]
fn several_dimensions_of_each_role() {
    let product = Product {
        left: ("f32", &[3, 5, 4, 7, 2]),
        right: ("f32", &[7, 2, 11, 3, 5, 3]),
        result: "f32",
        batch: [&[0, 4], &[3, 1]],
        steps: [&[1, 3], &[4, 0]],
    };
    contracts(&product.text());
    // One side has no free dimension, then neither has.
    let product =
        Product { right: ("f32", &[7, 2, 3, 5]), batch: [&[0, 4], &[2, 1]], steps: [&[1, 3], &[3, 0]], ..product };
    contracts(&Product { left: ("f32", &[3, 5, 40, 7, 2]), ..product }.text());
}

#[test]
fn many_small_products() {
    for (batch, sizes) in [(100, [16, 16, 16]), (33, [5, 9, 7]), (1000, [3, 8, 4]), (3, [70, 20, 40])] {
        let [m, k, n] = sizes;
        let (left, right) = ([batch, m, k], [batch, n, k]);
        let product = Product {
            left: ("f32", &left),
            right: ("f32", &right),
            result: "f32",
            batch: [&[0], &[0]],
            steps: [&[2], &[2]],
        };
        contracts(&product.text());
    }
}

#[test]
fn all_types() {
    for (left, right, result) in [
        ("f64", "f64", "f64"),
        ("bf16", "bf16", "bf16"),
        ("bf16", "bf16", "f32"),
        ("f16", "f16", "f16"),
        ("f16", "bf16", "f32"),
        ("f8e4m3fn", "f8e5m2", "f32"),
        ("f8e4m3fn", "f8e4m3fn", "f8e4m3fn"),
        ("f32", "f64", "f64"),
        ("f32", "f64", "f32"),
        ("s8", "s8", "s32"),
        ("u8", "s8", "s32"),
        ("s8", "s8", "s8"),
        ("s16", "u8", "s16"),
        ("u32", "u32", "u32"),
        ("s64", "s64", "s64"),
        ("s8", "s8", "f32"),
        ("pred", "s8", "s32"),
        ("s4", "s4", "s32"),
        ("u8", "u8", "u32"),
        ("f8e5m2fnuz", "bf16", "bf16"),
        ("c64", "c64", "c64"),
        ("c128", "c128", "c128"),
    ] {
        for steps in [[1, 0], [0, 1]] {
            let dims = |step: i64, lines: i64| if step == 0 { [40, lines] } else { [lines, 40] };
            let (lhs, rhs) = (dims(steps[0], 37), dims(steps[1], 70));
            let steps: [&[i64]; 2] = [&[steps[0]], &[steps[1]]];
            let product = Product { left: (left, &lhs), right: (right, &rhs), result, batch: [&[], &[]], steps };
            contracts(&product.text());
        }
    }
}

/// Checks products with one row, few rows or few columns, and products whose tiles contain only a
/// part of the steps.
#[test]
fn complex_numbers_of_all_forms() {
    for sizes in [[1, 70, 90], [3, 70, 90], [90, 70, 2], [50, 1100, 21], [7, 30, 17]] {
        contracts(&plain("c64", sizes));
    }
}

/// Checks sizes at which rows, columns and steps fill whole tiles, and larger and smaller sizes.
/// Operands are packed for all steps at once, or for some steps at a time.
#[test]
fn tile_registers_of_all_sizes() {
    for sizes in [[8, 32, 8], [16, 32, 16], [17, 33, 33], [40, 300, 40], [33, 1111, 70], [70, 3000, 330], [32, 65, 100]]
    {
        for (element, result) in [("bf16", "f32"), ("s8", "s32")] {
            contracts(&plain(element, sizes).replace(&format!("d = {element}"), &format!("d = {result}")));
        }
    }
}

#[test]
fn what_is_left_to_others() {
    for text in [
        // Too few products in total or per element; no element is used twice; no elements.
        plain("f32", [4, 8, 4]),
        plain("f32", [40, 3, 40]),
        plain("f32", [1, 9000, 1]),
        plain("f32", [300, 70, 1]),
        plain("f32", [40, 0, 40]),
        plain("c64", [20, 20, 20]).replace("y = c64", "y = f32"),
        plain("c64", [20, 20, 20]).replace("d = c64", "d = f32"),
        plain("pred", [20, 20, 20]),
    ] {
        assert_eq!(makers(&exact(&text)), ["loop", "loop"], "{text}");
    }
}

/// Checks signed and unsigned bytes, including the smallest and the largest. Covers all layouts of
/// operands, and many numbers of rows, columns and steps.
#[test]
fn sums_of_all_bytes_are_exact() {
    let fillings: [fn(i64, u64) -> u8; 3] = [
        |_, number| [128, 127][number as usize % 2],
        |_, _| 255,
        |i, number| (i.wrapping_mul(7919 + 2 * number as i64) >> 3) as u8,
    ];
    for (left, right) in [("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")] {
        for ([rows, steps, columns], order) in
            [([20, 1000, 40], [1, 0]), ([33, 2300, 70], [1, 1]), ([45, 129, 300], [0, 0]), ([270, 66, 17], [0, 1])]
        {
            let dims = |lines: i64, step: i64| if step == 0 { [steps, lines] } else { [lines, steps] };
            let (lhs, rhs) = (dims(rows, order[0]), dims(columns, order[1]));
            let steps: [&[i64]; 2] = [&[order[0]], &[order[1]]];
            let product = Product { left: (left, &lhs), right: (right, &rhs), result: "s32", batch: [&[], &[]], steps };
            let text = product.text();
            for filling in fillings {
                let filled = |shape: &ArrayShape, number| {
                    let bytes: Vec<u8> = (0..shape.element_count()).map(|i| filling(i, number)).collect();
                    ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).unwrap()
                };
                let made = compiler().compared(&text, machines(), &inputs(&text, filled).unwrap(), Closeness::Bits);
                assert_eq!(makers(&made.unwrap_or_else(|failure| panic!("{failure}"))), ["contraction", "contraction"]);
            }
        }
    }
}

/// Checks that bits do not depend on tiles. Each element is computed by chains of additions, in the
/// order of the steps. Tiles depend on cores and registers, but the lengths of the chains do not.
#[test]
fn bits_do_not_depend_on_tiles() {
    let filled = |shape: &ArrayShape, number: u64| {
        let value = |i: i64| ((i * 7919 + number as i64) as f32).sin();
        let bytes: Vec<u8> = (0..shape.element_count()).flat_map(|i| value(i).to_le_bytes()).collect();
        ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).unwrap()
    };
    for sizes in [[300, 1500, 300], [70, 900, 20], [3, 900, 512]] {
        let text = plain("f32", sizes);
        let inputs = inputs(&text, filled).unwrap();
        let results = machines().into_iter().flat_map(|machine| {
            [1, 2, 16].map(|core_count| {
                let device = DeviceDescription { core_count, ..machine.device.clone() };
                compiler().run(&text, &Machine::new(machine.target.clone(), device), &inputs).unwrap().result
            })
        });
        let results: Vec<_> = results.collect();
        assert!(results.iter().all(|result| *result == results[0]), "{sizes:?}");
    }
}

/// Checks the rounding errors of sums of many products. These errors grow with the square root of
/// the number of consecutive additions. So if chains of 256 additions are combined by a few more
/// additions, the error is a tenth of that of 16,384 consecutive additions.
#[test]
fn sums_of_many_products_are_close() {
    let value = |i: i64, number: u64| ((i * 7919 + 31 * number as i64) as f32).sin();
    let filled = |shape: &ArrayShape, number: u64| {
        let bytes: Vec<u8> = (0..shape.element_count()).flat_map(|i| value(i, number).to_le_bytes()).collect();
        ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).unwrap()
    };
    const LINES: i64 = 24;
    const STEPS: i64 = 16_384;
    let of_convolution = format!(
        "fusion {{
  x = f32[1,{LINES},{STEPS}] parameter(0)
  y = f32[1,{STEPS},{LINES}] parameter(1)
  ROOT z = f32[1,{LINES},{LINES}] convolution(x, y), window={{size=1}}, dim_labels=b0f_0io->b0f
}}"
    );
    for text in [plain("f32", [LINES, STEPS, LINES]), of_convolution] {
        let inputs = inputs(&text, filled).unwrap();
        let found = compiler().run(&text, &machines()[0], &inputs).unwrap().result;
        let found = found.leaves()[0].as_array().unwrap().data.to_vec();
        let (mut off, mut all) = (0.0, 0.0);
        for (number, bytes) in found.chunks_exact(4).enumerate() {
            let (row, column) = (number as i64 / LINES, number as i64 % LINES);
            let product =
                |step: i64| f64::from(value(row * STEPS + step, 0)) * f64::from(value(step * LINES + column, 1));
            let exact: f64 = (0..STEPS).map(product).sum();
            let found = f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            off += (found - exact).powi(2);
            all += exact * exact;
        }
        let error = (off / all).sqrt() / f64::from(f32::EPSILON);
        assert!(error < 4.0, "{error} times the precision\n{text}");
    }
}
