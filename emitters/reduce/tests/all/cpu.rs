//! Compares reductions by blocks of one thread with the interpreter, for several shapes, types,
//! combiners, special values and chains. Also checks which emitters accept the reductions.

use fusebox_conformance::literals::{Closeness, filled, scattered, word};
use fusebox_conformance::{Machine, inputs, interpreted};
use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat, Literal};

use crate::{check, check_by, compiler};

/// Returns a fusion that reduces `x` with one operation.
fn reduction(element: &str, dims: &[i64], reduced: &[i64], combiner: &str, initial: &str) -> String {
    let list = |dims: &[i64]| dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let kept: Vec<i64> = (0..dims.len()).filter(|d| !reduced.contains(&(*d as i64))).map(|d| dims[d]).collect();
    format!(
        "combine {{
  a = {element}[] parameter(0)
  b = {element}[] parameter(1)
  ROOT s = {element}[] {combiner}(a, b)
}}
fusion {{
  x = {element}[{}] parameter(0)
  z = {element}[] constant({initial})
  ROOT r = {element}[{}] reduce(x, z), dimensions={{{}}}, to_apply=combine
}}
",
        list(dims),
        list(&kept),
        list(reduced)
    )
}

/// Compares the results with those of the interpreter, and checks the emitter on the cpu.
fn takes(text: &str, emitter: &str) {
    assert_eq!(check(text)[0], emitter, "{text}");
}

#[test]
fn problems_of_every_form() {
    let cases: [(&[i64], &[i64], &str); 18] = [
        (&[70, 1000], &[1], "serial-reduce"),
        (&[3, 4099], &[1], "serial-reduce"),
        (&[2, 33_000], &[1], "serial-reduce"),
        (&[4, 6, 100], &[0, 2], "serial-reduce"),
        (&[2, 7, 90, 130], &[1, 3], "serial-reduce"),
        (&[3, 2, 20_001], &[0, 2], "serial-reduce"),
        (&[1000, 16], &[1], "serial-reduce"),
        (&[33, 3, 630], &[0, 2], "serial-reduce"),
        (&[20_000], &[0], "serial-reduce"),
        (&[31, 33], &[0, 1], "serial-reduce"),
        (&[1000, 70], &[0], "serial-reduce"),
        (&[5, 300, 100], &[1], "serial-reduce"),
        (&[2, 9, 7, 80], &[0, 2], "serial-reduce"),
        (&[7, 5000], &[0], "serial-reduce"),
        (&[5000, 3], &[0], "serial-reduce"),
        (&[1025, 31], &[0], "serial-reduce"),
        (&[10, 256, 2], &[1], "serial-reduce"),
        (&[4096, 64], &[0], "serial-reduce"),
    ];
    for (dims, reduced, emitter) in cases {
        takes(&reduction("f32", dims, reduced, "add", "0"), emitter);
    }
}

#[test]
fn results_of_few_elements_are_left_to_loop() {
    for (dims, reduced) in [(&[700, 4][..], &[1][..]), (&[3, 700], &[0]), (&[50, 1], &[1])] {
        takes(&reduction("f32", dims, reduced, "add", "0"), "loop");
    }
}

/// Checks every type and operation. Each operation is checked in one of four forms: a row, short
/// rows, columns, or few columns.
#[test]
fn every_type_and_operation() {
    let forms: [([i64; 2], i64); 4] = [([3, 133], 1), ([20, 12], 1), ([67, 70], 0), ([67, 5], 0)];
    let extrema = ["s8", "u8", "s32", "u64", "f16", "bf16", "f32", "f64"];
    let sums = ["s8", "u16", "s32", "s64", "f16", "bf16", "f32", "f64", "c64", "c128"];
    let masks = ["pred", "u8", "s32", "s64"];
    let operations = extrema
        .iter()
        .flat_map(|element| [(*element, "maximum", "3"), (*element, "minimum", "3")])
        .chain(sums.iter().map(|element| (*element, "add", "0")))
        .chain(masks.iter().flat_map(|element| [(*element, "and", "1"), (*element, "or", "0"), (*element, "xor", "0")]))
        .chain(["s8", "s32", "u64"].iter().map(|element| (*element, "multiply", "1")));
    for (number, (element, combiner, initial)) in operations.enumerate() {
        let (dims, reduced) = forms[number % forms.len()];
        agrees(&reduction(element, &dims, &[reduced], combiner, initial));
    }
}

/// Checks initial values that change the result. Such a value must be combined only once, for all
/// numbers of accumulators.
#[test]
fn initial_values_that_matter() {
    for (dims, reduced) in [(&[5, 333][..], &[1][..]), (&[2, 40_000], &[1]), (&[333, 5], &[0]), (&[333, 100], &[0])] {
        for (element, combiner) in
            [("s32", "add"), ("f32", "add"), ("s32", "multiply"), ("s32", "xor"), ("s4", "add"), ("u4", "xor")]
        {
            agrees(&reduction(element, dims, reduced, combiner, "5"));
        }
    }
}

/// Checks few columns that are computed from smaller arrays. The kernel reduces one column after
/// another. Some rows remain after the last full iteration.
#[test]
fn few_columns_of_smaller_arrays() {
    for columns in [2, 3, 8, 9] {
        let text = format!(
            "HloModule m
sum {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}
ENTRY main {{
  x = f32[700,{columns}] parameter(0)
  w = f32[5,700] parameter(1)
  zero = f32[] constant(0)
  xs = f32[5,700,{columns}] broadcast(x), dimensions={{1,2}}
  ws = f32[5,700,{columns}] broadcast(w), dimensions={{0,1}}
  all = f32[5,700,{columns}] multiply(xs, ws)
  ROOT r = f32[5,{columns}] reduce(all, zero), dimensions={{1}}, to_apply=sum
}}
"
        );
        takes(&text, "serial-reduce");
        agrees(&text);
    }
}

/// Checks columns that form several lines. Each line repeats an array. If lines consist of whole
/// vectors and blocks consist of whole lines, the kernel has a loop per line. The reduced array is
/// also a result.
#[test]
fn columns_in_lines_of_what_is_repeated() {
    for (lines, length) in [(16, 64), (64, 64), (20, 16), (3, 100), (40, 15), (7, 64)] {
        let text = format!(
            "HloModule m
least {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] minimum(a, b)
}}
ENTRY main {{
  p = f32[37] parameter(0)
  x = f32[{length}] parameter(1)
  y = f32[{lines}] parameter(2)
  infinity = f32[] constant(inf)
  ps = f32[37,{lines},{length}] broadcast(p), dimensions={{0}}
  xs = f32[37,{lines},{length}] broadcast(x), dimensions={{2}}
  ys = f32[37,{lines},{length}] broadcast(y), dimensions={{1}}
  q = f32[37,{lines},{length}] multiply(ps, xs)
  all = f32[37,{lines},{length}] subtract(q, ys)
  r = f32[{lines},{length}] reduce(all, infinity), dimensions={{0}}, to_apply=least
  ROOT t = (f32[37,{lines},{length}], f32[{lines},{length}]) tuple(all, r)
}}
"
        );
        // For rows of 15, the prediction for `loop` is the same.
        assert_eq!(check_by(&text, "serial-reduce")[0], "serial-reduce", "{text}");
        agrees(&text);
    }
}

/// Combiner that computes the maximum and its first index. The result does not depend on the order
/// in which values are combined.
const FIRST_MAXIMUM: &str = "first {
  v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  gt = pred[] compare(v, w), direction=GT
  eq = pred[] compare(v, w), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  both = pred[] and(eq, lt)
  take = pred[] or(gt, both)
  x = f32[] select(take, v, w)
  k = s32[] select(take, i, j)
  ROOT t = (f32[], s32[]) tuple(x, k)
}
";

#[test]
fn computations_that_are_no_single_operation() {
    let cases = [
        ("9,100", 1, "9", "serial-reduce"),
        ("9,4099", 1, "9", "serial-reduce"),
        ("20,33", 1, "20", "serial-reduce"),
        ("20,9", 1, "20", "serial-reduce"),
        ("100,90", 0, "90", "serial-reduce"),
        ("1001,7", 0, "7", "serial-reduce"),
    ];
    for (dims, dimension, kept, emitter) in cases {
        let text = format!(
            "{FIRST_MAXIMUM}fusion {{
  x = f32[{dims}] parameter(0)
  i = s32[{dims}] iota(), iota_dimension={dimension}
  low = f32[] constant(-inf)
  none = s32[] constant(2147483647)
  ROOT r = (f32[{kept}], s32[{kept}]) reduce(x, i, low, none), dimensions={{{dimension}}}, to_apply=first
}}"
        );
        takes(&text, emitter);
    }
}

/// Checks a sum and a maximum in one pass, with epilogues, a side output, and a reduction of other
/// elements.
#[test]
fn several_results() {
    for (dims, kept, other, dimension) in
        [("60,500", "60", "60,500", 1), ("500,60", "60", "500,60", 0), ("4,30,500", "4,30", "60,1000", 2)]
    {
        let text = format!(
            "add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}}
max {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}}
fusion {{
  x = f32[{dims}] parameter(0)
  y = f32[{other}] parameter(1)
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  n = f32[{dims}] negate(x)
  s = f32[{kept}] reduce(n, zero), dimensions={{{dimension}}}, to_apply=add
  m = f32[{kept}] reduce(x, low), dimensions={{{dimension}}}, to_apply=max
  e = f32[{kept}] add(s, m)
  t = f32[] reduce(y, zero), dimensions={{0,1}}, to_apply=add
  ROOT r = (f32[{kept}], f32[{kept}], f32[{dims}], f32[]) tuple(e, m, n, t)
}}"
        );
        assert_ne!(check(&text)[0], "loop", "{text}");
    }
}

/// Compares the results on the cpu with those of the interpreter. Values are small, so that bf16
/// sums are exact.
fn agrees(text: &str) {
    let inputs = inputs(text, |shape, seed| filled(shape, |position| scattered(position, seed, 2))).unwrap();
    let made = compiler().compared(text, [Machine::cpu()], &inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Returns the bits of a module's results, as computed on the cpu and by the interpreter. Also
/// returns the format of the results.
fn both(text: &str, input: ArrayLiteral) -> (Vec<u64>, Vec<u64>, FloatFormat) {
    let expected = interpreted(text, std::slice::from_ref(&input)).unwrap();
    let found = compiler().run(text, &Machine::cpu(), &[input]).unwrap().result;
    let bits = |value: &Literal| {
        let array = value.as_array().unwrap();
        let size = array.element_type.byte_size();
        array.data.chunks(size).map(word).collect()
    };
    let format = FloatFormat::of(found.as_array().unwrap().element_type).unwrap();
    (bits(&found), bits(&expected), format)
}

/// Compares extrema of special values. The signs of zeros must agree. Any two NaNs count as equal.
#[test]
fn extrema_of_special_values() {
    let specials = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, 1.5, -2.5];
    for (name, element) in
        [("f16", ElementType::F16), ("bf16", ElementType::BF16), ("f32", ElementType::F32), ("f64", ElementType::F64)]
    {
        let format = FloatFormat::of(element).unwrap();
        // Every pair of specials in a row of 40 otherwise equal values, one of them first.
        let mut rows = Vec::new();
        for filler in [-0.0, 7.0] {
            for (a, b) in specials.iter().flat_map(|&a| specials.iter().map(move |&b| (a, b))) {
                let mut row = vec![filler; 40];
                (row[0], row[33]) = (a, b);
                rows.push(row);
            }
        }
        let data = |rows: &[Vec<f64>]| -> Vec<u8> {
            let encode = |value: &f64| format.encode(*value).to_le_bytes()[..element.byte_size()].to_vec();
            rows.iter().flatten().flat_map(encode).collect()
        };
        let columns: Vec<Vec<f64>> = (0..40).map(|c| rows.iter().map(|row| row[c]).collect()).collect();
        let count = rows.len() as i64;
        for (combiner, initial) in [("maximum", "-inf"), ("minimum", "inf")] {
            for (dims, reduced, data) in [([count, 40], 1, data(&rows)), ([40, count], 0, data(&columns))] {
                let text = reduction(name, &dims, &[reduced], combiner, initial);
                let input = ArrayLiteral::new(element, dims.to_vec(), data).unwrap();
                let (found, expected, format) = both(&text, input);
                for (row, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
                    let nans = format.decode(found).is_nan() && format.decode(expected).is_nan();
                    let what = (format.decode(found), format.decode(expected), &rows[row]);
                    assert!(found == expected || nans, "{name} {combiner}: {what:?}");
                }
            }
        }
    }
}

/// Checks the maximum of a row and its first index. The kernel processes adjacent rows together,
/// and then the remaining rows of a block.
#[test]
fn places_in_short_rows() {
    let argmax = |element: &str, rows: i64, length: i64| {
        format!(
            "greater {{
  a = {element}[] parameter(0)
  i = s32[] parameter(1)
  b = {element}[] parameter(2)
  j = s32[] parameter(3)
  first = pred[] compare(a, b), direction=GT
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  of_a = pred[] or(first, tie)
  value = {element}[] select(of_a, a, b)
  place = s32[] select(of_a, i, j)
  ROOT both = ({element}[], s32[]) tuple(value, place)
}}
fusion {{
  x = {element}[{rows},{length}] parameter(0)
  i = s32[{rows},{length}] iota(), iota_dimension=1
  low = {element}[] constant(-inf)
  zero = s32[] constant(0)
  ROOT r = ({element}[{rows}], s32[{rows}]) reduce(x, i, low, zero), dimensions={{1}}, to_apply=greater
}}
"
        )
    };
    for element in ["bf16", "f32", "f64"] {
        for length in [5, 7, 8, 10, 24, 31, 40] {
            let text = argmax(element, 101, length);
            takes(&text, "serial-reduce");
            agrees(&text);
        }
    }
}

/// Checks sums of a million times 0.1. In these types, a single accumulator would have an error of
/// some percent.
#[test]
fn long_sums_are_precise() {
    for (name, element, tolerance) in [("f32", ElementType::F32, 1e-5), ("bf16", ElementType::BF16, 4e-3)] {
        let format = FloatFormat::of(element).unwrap();
        let tenth = format.encode(0.1);
        let exact = format.decode(tenth) * 1e6;
        let data: Vec<u8> = (0..1_000_000).flat_map(|_| tenth.to_le_bytes()[..element.byte_size()].to_vec()).collect();
        let text = reduction(name, &[1, 1_000_000], &[1], "add", "0");
        let input = ArrayLiteral::new(element, vec![1, 1_000_000], data).unwrap();
        let found = compiler().run(&text, &Machine::cpu(), &[input]).unwrap().result;
        let error = format.decode(word(&found.as_array().unwrap().data)) / exact - 1.0;
        assert!(error.abs() < tolerance, "{name}: off by {error}");
    }
}

/// Returns a fusion with `body` and with combiners for sums and maxima. The parameters `x` and `y`
/// have the dimensions `dims`, and `g` has the last of these dimensions.
fn chain(element: &str, dims: &str, body: &str) -> String {
    let last = dims.rsplit(',').next().unwrap();
    format!(
        "add {{
  a = {element}[] parameter(0)
  b = {element}[] parameter(1)
  ROOT r = {element}[] add(a, b)
}}
max {{
  a = {element}[] parameter(0)
  b = {element}[] parameter(1)
  ROOT r = {element}[] maximum(a, b)
}}
fusion {{
  x = {element}[{dims}] parameter(0)
  y = {element}[{dims}] parameter(1)
  g = {element}[{last}] parameter(2)
  zero = {element}[] constant(0)
  low = {element}[] constant(-100)
  {body}
}}"
    )
}

/// Checks two consecutive reductions with elements of a third array. Between the reductions, a
/// value should be kept instead of being recomputed.
#[test]
fn chains_of_row_reductions() {
    for (number, (rows, length)) in [(1, 100), (7, 33), (70, 128), (5, 1027), (200, 8)].into_iter().enumerate() {
        let element = ["f32", "f64", "s32"][number % 3];
        // Integers have no square root. The roots of the floats are exact, as these are squares.
        let root = if element == "s32" { "abs" } else { "sqrt" };
        let (wide, narrow) = (format!("{element}[{rows},{length}]"), format!("{element}[{rows}]"));
        let body = format!(
            "m = {narrow} reduce(x, low), dimensions={{1}}, to_apply=max
  one = {element}[{rows},1] reshape(m)
  flat = {narrow} reshape(one)
  mb = {wide} broadcast(flat), dimensions={{0}}
  d = {wide} subtract(x, mb)
  q = {wide} multiply(d, d)
  e = {wide} {root}(q)
  f = {wide} add(e, y)
  s = {narrow} reduce(f, zero), dimensions={{1}}, to_apply=add
  t = {narrow} subtract(s, m)
  sb = {wide} broadcast(t), dimensions={{0}}
  gb = {wide} broadcast(g), dimensions={{1}}
  h = {wide} multiply(e, gb)
  p = {wide} add(h, sb)
  ROOT r = ({wide}, {narrow}, {wide}) tuple(p, t, q)"
        );
        takes(&chain(element, &format!("{rows},{length}"), &body), "row-normalise");
    }
}

/// Checks rows of several dimensions, two reductions in one phase, and chains that only have a
/// result per row.
#[test]
fn chains_that_end_in_a_row() {
    let body = "s = f32[3,4] reduce(x, zero), dimensions={2,3}, to_apply=add
  m = f32[3,4] reduce(y, low), dimensions={2,3}, to_apply=max
  c = f32[3,4] add(s, m)
  cb = f32[3,4,5,6] broadcast(c), dimensions={0,1}
  d = f32[3,4,5,6] subtract(x, cb)
  gb = f32[3,4,5,6] broadcast(g), dimensions={3}
  e = f32[3,4,5,6] multiply(d, gb)
  t = f32[3,4] reduce(e, zero), dimensions={2,3}, to_apply=add
  ROOT r = f32[12] reshape(t)";
    takes(&chain("f32", "3,4,5,6", body), "row-normalise");
}

/// Checks columns that read the result of their row, and a reversed row. They are not chains, but
/// their results must be right too.
#[test]
fn what_is_no_chain() {
    for (what, dims) in [("broadcast(s), dimensions={1}", "40,40"), ("reverse(mb), dimensions={0}", "40,40")] {
        let body = format!(
            "s = f32[40] reduce(x, zero), dimensions={{1}}, to_apply=add
  mb = f32[40,40] broadcast(s), dimensions={{0}}
  b = f32[40,40] {what}
  d = f32[40,40] add(mb, b)
  ROOT r = f32[40,40] subtract(x, d)"
        );
        assert_ne!(check(&chain("f32", dims, &body))[0], "row-normalise");
    }
}
