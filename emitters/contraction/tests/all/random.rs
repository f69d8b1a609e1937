//! Checks random products. The roles, the order and the sizes of dimensions are random, and so are
//! types, prologues and epilogues.
//!
//! `FUSEBOX_PRODUCTS` sets the number of products, and `FUSEBOX_PRODUCT_SEED` sets the first seed.

use fusebox_conformance::fusions::Chance;

use crate::exact;

pub fn list(items: &[i64]) -> String {
    items.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// Returns up to two dimensions with at most `most` elements together.
fn dims(chance: &mut Chance, most: i64) -> Vec<i64> {
    let count = chance.pick(&[0, 1, 1, 1, 2]);
    let mut most = most;
    (0..count)
        .map(|_| {
            let size = 1 + chance.below(most);
            most = (most / size).max(1);
            size
        })
        .collect()
}

/// One operand of a product. Holds its dimensions, and the positions of the batch dimensions and of
/// the contracted dimensions.
struct Side {
    dims: Vec<i64>,
    batch: Vec<i64>,
    steps: Vec<i64>,
    lines: Vec<i64>,
}

fn side(chance: &mut Chance, batch: &[i64], lines: &[i64], steps: &[i64]) -> Side {
    let sizes = [batch, lines, steps].concat();
    let order = chance.permutation(sizes.len());
    let place = |role: std::ops::Range<usize>| -> Vec<i64> {
        role.filter_map(|of| order.iter().position(|&it| it == of)).map(|at| at as i64).collect()
    };
    let (first, second) = (batch.len(), batch.len() + lines.len());
    let mut free = place(first..second);
    free.sort_unstable();
    let dims: Vec<i64> = order.iter().map(|&of| sizes[of]).collect();
    let lines = free.iter().map(|&at| dims[at as usize]).collect();
    Side { lines, batch: place(0..first), steps: place(second..sizes.len()), dims }
}

/// Appends a chain of operations on `value`. Returns the name of the last operation.
pub fn followed(chance: &mut Chance, text: &mut String, value: &str, shape: &str, is_left: bool) -> String {
    let mut last = value.to_owned();
    for number in 0..chance.pick(&[0, 0, 1, 2]) {
        let name = format!("{value}_{number}");
        let operation = chance.pick(&["negate(A)", "abs(A)", "add(A, A)", "multiply(A, A)", "maximum(A, A)"]);
        // Complex numbers have no order, and their magnitudes are of another type.
        let operation = if shape.starts_with('c') { "negate(A)" } else { operation };
        // A product of many factors would round.
        let operation = if is_left { operation.replace("multiply", "subtract") } else { operation.into() };
        text.push_str(&format!("  {name} = {shape} {}\n", operation.replace('A', &last)));
        last = name;
    }
    last
}

pub fn product(seed: u64) -> String {
    let chance = &mut Chance::new(seed);
    let most = chance.pick(&[[3, 200, 40, 60], [1, 40, 300, 70], [40, 12, 12, 20], [2, 3, 400, 300], [2, 300, 600, 3]]);
    let [batch, rows, steps, columns] = most.map(|most| dims(chance, most));
    let (left, right) = (side(chance, &batch, &rows, &steps), side(chance, &batch, &columns, &steps));
    let (a, b, c) = chance.pick(&[
        ("f32", "f32", "f32"),
        ("f32", "f32", "f32"),
        ("f64", "f64", "f64"),
        ("bf16", "bf16", "f32"),
        ("bf16", "bf16", "bf16"),
        ("f8e4m3fn", "f8e5m2", "f32"),
        ("f16", "f16", "f32"),
        ("s8", "s8", "s32"),
        ("u8", "s8", "s32"),
        ("u8", "u8", "s16"),
        ("s4", "u8", "s32"),
        ("s32", "s32", "s32"),
        ("s16", "s16", "s16"),
        ("c64", "c64", "c64"),
        ("c128", "c128", "c128"),
    ]);
    let [left_shape, right_shape] =
        [(a, &left.dims), (b, &right.dims)].map(|(element, dims)| format!("{element}[{}]", list(dims)));
    let result = [batch, left.lines.clone(), right.lines.clone()].concat();
    let shape = format!("{c}[{}]", list(&result));
    let mut text = format!("  x = {left_shape} parameter(0)\n  y = {right_shape} parameter(1)\n");
    let x = followed(chance, &mut text, "x", &left_shape, true);
    text.push_str(&format!(
        "  d = {shape} dot({x}, y), lhs_batch_dims={{{}}}, rhs_batch_dims={{{}}}, lhs_contracting_dims={{{}}}, \
rhs_contracting_dims={{{}}}\n  r = {shape} parameter(2)\n  e = {shape} add(d, r)\n",
        list(&left.batch),
        list(&right.batch),
        list(&left.steps),
        list(&right.steps)
    ));
    let last = chance.pick(&["d", "e"]);
    let last = followed(chance, &mut text, last, &shape, c != "f64");
    format!("fusion {{\n{text}  ROOT root = {shape} copy({last})\n}}\n")
}

pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn products_that_nobody_wrote() {
    let first = setting("FUSEBOX_PRODUCT_SEED", 1);
    let count = setting("FUSEBOX_PRODUCTS", 60);
    let made = (first..first + count).map(|seed| exact(&product(seed)));
    let taken = made.filter(|made| made[0].emitters == ["contraction"]).count();
    assert!(taken as u64 * 3 > count, "it takes {taken} of {count}");
}
