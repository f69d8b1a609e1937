//! Compares fusions of the concatenate emitter with the interpreter, on cpu and simt.

use crate::check;

/// Asserts that the concatenate emitter accepts the fusion on both targets, and that the results
/// are right.
fn concatenates(text: &str) {
    assert_eq!(check(text), ["concatenate", "concatenate"], "{text}");
}

#[test]
fn any_dimension_and_number_of_operands() {
    let cases: [(&str, &[[i64; 3]], usize); 8] = [
        ("f32", &[[5, 6, 7], [2, 6, 7]], 0),
        ("f32", &[[5, 6, 70], [5, 1, 70], [5, 200, 70]], 1),
        ("f32", &[[5, 6, 7], [5, 6, 1], [5, 6, 2]], 2),
        ("s8", &[[40, 30, 128], [40, 30, 16]], 2),
        ("f64", &[[1, 1, 5000], [1, 1, 4096]], 2),
        ("c64", &[[3, 5, 9], [3, 2, 9]], 1),
        ("bf16", &[[300, 1, 1], [300, 1, 1], [300, 1, 1]], 2),
        ("pred", &[[7, 0, 9], [7, 3, 9]], 1),
    ];
    for (element, operands, dimension) in cases {
        let shape = |dims: &[i64; 3]| format!("{element}[{},{},{}]", dims[0], dims[1], dims[2]);
        let mut result = operands[0];
        result[dimension] = operands.iter().map(|dims| dims[dimension]).sum();
        let parameters: Vec<String> =
            operands.iter().enumerate().map(|(i, dims)| format!("  p{i} = {} parameter({i})", shape(dims))).collect();
        let names: Vec<String> = (0..operands.len()).map(|i| format!("p{i}")).collect();
        concatenates(&format!(
            "fusion {{\n{}\n  ROOT c = {} concatenate({}), dimensions={{{dimension}}}\n}}\n",
            parameters.join("\n"),
            shape(&result),
            names.join(", ")
        ));
    }
}

#[test]
fn a_hundred_operands() {
    let parameters: Vec<String> = (0..100).map(|i| format!("  p{i} = s32[3,{}] parameter({i})", i % 5 + 1)).collect();
    let names: Vec<String> = (0..100).map(|i| format!("p{i}")).collect();
    concatenates(&format!(
        "fusion {{\n{}\n  ROOT c = s32[3,300] concatenate({}), dimensions={{1}}\n}}\n",
        parameters.join("\n"),
        names.join(", ")
    ));
}

#[test]
fn prologues_share_what_they_read() {
    // A rotation: each half of the result depends on both halves of the operand.
    concatenates(
        "fusion {
  x = f32[40,16,64] parameter(0)
  c = f32[40,32] parameter(1)
  s = f32[40,32] parameter(2)
  a = f32[40,16,32] slice(x), slice={[0:40], [0:16], [0:32]}
  b = f32[40,16,32] slice(x), slice={[0:40], [0:16], [32:64]}
  cc = f32[40,16,32] broadcast(c), dimensions={0,2}
  ss = f32[40,16,32] broadcast(s), dimensions={0,2}
  ac = f32[40,16,32] multiply(a, cc)
  bs = f32[40,16,32] multiply(b, ss)
  as = f32[40,16,32] multiply(a, ss)
  bc = f32[40,16,32] multiply(b, cc)
  re = f32[40,16,32] subtract(ac, bs)
  im = f32[40,16,32] add(as, bc)
  ROOT r = f32[40,16,64] concatenate(re, im), dimensions={2}
}
",
    );
}

#[test]
fn nested_and_repeated_operands() {
    concatenates(
        "fusion {
  p = f32[64,40] parameter(0)
  q = f32[64,30] parameter(1)
  n = f32[64,40] negate(p)
  inner = f32[64,110] concatenate(n, q, p), dimensions={1}
  ROOT c = f32[64,220] concatenate(p, inner, p, q), dimensions={1}
}
",
    );
}

#[test]
fn epilogues_with_side_parameters() {
    concatenates(
        "fusion {
  p = f32[20,33] parameter(0)
  q = f32[20,31] parameter(1)
  bias = f32[64] parameter(2)
  c = f32[20,64] concatenate(p, q), dimensions={1}
  b = f32[20,64] broadcast(bias), dimensions={1}
  s = f32[20,64] add(c, b)
  flat = f32[1280] reshape(s)
  side = f32[1280] parameter(3)
  ROOT r = f32[1280] multiply(flat, side)
}
",
    );
}

#[test]
fn several_results() {
    // Two epilogues of different shapes, the concatenate itself twice, an operand, and an unrelated
    // result.
    concatenates(
        "fusion {
  p = s32[20,33] parameter(0)
  q = s32[20,31] parameter(1)
  n = s32[20,33] negate(p)
  c = s32[20,64] concatenate(n, q), dimensions={1}
  d = s32[20,64] add(c, c)
  f = s32[40,32] reshape(c)
  g = s32[40,32] negate(f)
  other = s32[128,5] parameter(2)
  h = s32[128,5] negate(other)
  ROOT t = (s32[20,64], s32[20,64], s32[40,32], s32[20,33], s32[128,5], s32[20,64]) tuple(c, d, g, n, h, c)
}
",
    );
}

#[test]
fn several_concatenates() {
    concatenates(
        "fusion {
  p = f32[2,50,33] parameter(0)
  q = f32[2,50,33] parameter(1)
  s = f32[2,50,33] add(p, q)
  d = f32[2,50,33] subtract(p, q)
  c = f32[2,100,33] concatenate(s, d), dimensions={1}
  e = f32[4,50,33] concatenate(d, s), dimensions={0}
  n = f32[4,50,33] negate(e)
  ROOT t = (f32[2,100,33], f32[4,50,33]) tuple(c, n)
}
",
    );
}

#[test]
fn the_nearest_of_several_is_the_hero() {
    // A shift in each direction: the borders of the second cross the operands of the first.
    concatenates(
        "fusion {
  x = f32[40,90] parameter(0)
  a = f32[40,87] slice(x), slice={[0:40], [3:90]}
  b = f32[40,3] slice(x), slice={[0:40], [0:3]}
  right = f32[40,90] concatenate(a, b), dimensions={1}
  c = f32[5,90] slice(x), slice={[35:40], [0:90]}
  d = f32[35,90] slice(x), slice={[0:35], [0:90]}
  down = f32[40,90] concatenate(c, d), dimensions={0}
  ROOT s = f32[40,90] add(right, down)
}
",
    );
}

#[test]
fn a_concatenate_below_something_that_moves_elements_is_not_taken() {
    let [cpu, simt] = check(
        "fusion {
  p = f32[20,33] parameter(0)
  q = f32[20,31] parameter(1)
  c = f32[20,64] concatenate(p, q), dimensions={1}
  ROOT r = f32[20,64] reverse(c), dimensions={1}
}
",
    );
    assert_eq!([cpu.as_str(), simt.as_str()], ["loop", "loop"]);
}
