//! Compares single reductions with the interpreter, on cpu and simt, for several shapes, types and
//! combiners. Also checks which emitters accept the reductions.

use crate::{check, check_by};

/// A reduction that is written as a fusion.
struct Case {
    element: &'static str,
    dims: Vec<i64>,
    reduced: Vec<i64>,
    combiner: &'static str,
    initial: &'static str,
}

impl Case {
    fn sum(element: &'static str, dims: &[i64], reduced: &[i64]) -> Case {
        Case { element, dims: dims.to_vec(), reduced: reduced.to_vec(), combiner: "add", initial: "constant(0)" }
    }

    fn text(&self) -> String {
        let Case { element, combiner, initial, .. } = self;
        let list = |dims: &[i64]| dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let kept: Vec<i64> =
            (0..self.dims.len()).filter(|d| !self.reduced.contains(&(*d as i64))).map(|d| self.dims[d]).collect();
        format!(
            "combine {{\n  a = {element}[] parameter(0)\n  b = {element}[] parameter(1)
  ROOT s = {element}[] {combiner}(a, b)\n}}
fusion {{\n  x = {element}[{}] parameter(0)\n  z = {element}[] {initial}
  ROOT r = {element}[{}] reduce(x, z), dimensions={{{}}}, to_apply=combine\n}}\n",
            list(&self.dims),
            list(&kept),
            list(&self.reduced)
        )
    }
}

/// Compares the results on both targets with those of the interpreter, and checks the emitter for
/// many threads.
fn reduces(case: &Case, emitter: &str) {
    let text = case.text();
    assert_eq!(check_by(&text, emitter)[1], emitter, "{text}");
}

#[test]
fn rows() {
    let cases: [(&[i64], &[i64], &str); 12] = [
        (&[70, 1000], &[1], "row-reduce"),
        (&[3, 4099], &[1], "row-reduce"),
        (&[2, 20_000], &[1], "row-reduce"),
        (&[700, 128], &[1], "row-reduce"),
        (&[4, 6, 1024], &[0, 2], "row-reduce"),
        (&[33, 3, 65], &[0, 2], "row-reduce"),
        (&[300, 5, 2], &[0, 2], "row-reduce"),
        (&[2, 7, 9, 130], &[1, 3], "row-reduce"),
        (&[100, 7], &[1], "multi-row-reduce"),
        (&[1000, 16], &[1], "multi-row-reduce"),
        (&[50, 4, 3], &[2], "multi-row-reduce"),
        (&[600, 1], &[1], "column-reduce"),
    ];
    for (dims, reduced, emitter) in cases {
        reduces(&Case::sum("f32", dims, reduced), emitter);
    }
}

#[test]
fn whole_inputs() {
    for dims in [&[1][..], &[5], &[31, 33], &[100_000], &[7, 1, 11, 13], &[]] {
        let reduced: Vec<i64> = (0..dims.len() as i64).collect();
        reduces(&Case::sum("f32", dims, &reduced), "scalar-reduce");
    }
}

#[test]
fn columns() {
    let cases: [(&[i64], &[i64], &str); 13] = [
        (&[1000, 70], &[0], "column-reduce"),
        (&[4099, 33], &[0], "column-reduce"),
        (&[64, 512], &[0], "column-reduce"),
        (&[5, 300, 100], &[1], "column-reduce"),
        (&[5, 3, 40], &[1], "column-reduce"),
        (&[2, 9, 7, 50], &[0, 2], "column-reduce"),
        (&[900, 2, 3], &[1], "column-reduce"),
        (&[17, 300], &[0], "column-reduce"),
        (&[5000, 3], &[0], "small-column-reduce"),
        (&[4096, 32], &[0], "small-column-reduce"),
        (&[10, 256, 2], &[1], "small-column-reduce"),
        (&[3, 777, 7], &[1], "small-column-reduce"),
        (&[1025, 31], &[0], "small-column-reduce"),
    ];
    for (dims, reduced, emitter) in cases {
        reduces(&Case::sum("f32", dims, reduced), emitter);
    }
}

#[test]
fn element_types() {
    let shapes: [(&[i64], &[i64]); 5] =
        [(&[37, 300], &[1]), (&[500, 8], &[1]), (&[300, 66], &[0]), (&[1001, 6], &[0]), (&[999], &[0])];
    for (dims, reduced) in shapes {
        for element in ["s8", "u16", "s32", "u64", "f64", "c64", "c128"] {
            let case = Case::sum(element, dims, reduced);
            check(&case.text());
        }
        for element in ["pred", "u8", "f16", "bf16", "f8e4m3fn", "s64"] {
            let (combiner, initial) =
                if element == "pred" { ("or", "constant(false)") } else { ("maximum", "constant(0)") };
            let case = Case { combiner, initial, ..Case::sum(element, dims, reduced) };
            check(&case.text());
        }
    }
}

#[test]
fn combiners_and_initial_values() {
    let shapes: [(&[i64], &[i64]); 4] = [(&[5, 300], &[1]), (&[90, 8], &[1]), (&[300, 40], &[0]), (&[1000, 3], &[0])];
    for (dims, reduced) in shapes {
        for (element, combiner, initial) in [
            ("f32", "add", "constant(-3)"),
            ("f32", "add", "parameter(1)"),
            ("f32", "minimum", "constant(inf)"),
            ("f32", "maximum", "constant(5)"),
            ("s32", "multiply", "constant(1)"),
            ("u32", "multiply", "parameter(1)"),
            ("s32", "xor", "constant(12)"),
            ("s32", "and", "constant(-1)"),
            ("u8", "or", "parameter(1)"),
            ("s4", "add", "parameter(1)"),
            ("u4", "multiply", "constant(3)"),
            ("pred", "and", "constant(true)"),
        ] {
            let case = Case { combiner, initial, ..Case::sum(element, dims, reduced) };
            check(&case.text());
        }
    }
}

#[test]
fn sums_of_negative_zeros() {
    for (dims, reduced, kept) in [("5,300", 1, "5"), ("90,8", 1, "90"), ("300,40", 0, "40"), ("64,2", 0, "2")] {
        check(&format!(
            "combine {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}}
fusion {{\n  x = f32[{dims}] parameter(0)\n  z = f32[] constant(-0)\n  size = f32[{dims}] abs(x)
  zeros = f32[{dims}] broadcast(z), dimensions={{}}\n  y = f32[{dims}] multiply(size, zeros)
  ROOT r = f32[{kept}] reduce(y, z), dimensions={{{reduced}}}, to_apply=combine\n}}\n"
        ));
    }
}
