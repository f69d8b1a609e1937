//! Compares fusions of the transpose emitters with the interpreter, on cpu and simt.

use fusebox_conformance::Compiler;
use fusebox_emitter_transpose::emitters;

use crate::check;

/// Checks a transpose of `element[dims]`. Returns the emitters for cpu and simt.
fn plain(element: &str, dims: &[i64], permutation: &[usize]) -> [String; 2] {
    let result: Vec<i64> = permutation.iter().map(|&dim| dims[dim]).collect();
    let list = |items: &[i64]| items.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let permutation: Vec<i64> = permutation.iter().map(|&dim| dim as i64).collect();
    transposes(&format!(
        "fusion {{\n  x = {element}[{}] parameter(0)\n  ROOT t = {element}[{}] transpose(x), dimensions={{{}}}\n}}\n",
        list(dims),
        list(&result),
        list(&permutation)
    ))
}

/// Checks a fusion. Returns the emitters of its kernels, which must be transpose emitters.
fn transposes(text: &str) -> [String; 2] {
    let made = check(text);
    assert!(made.iter().all(|name| name.ends_with("-transpose")), "{made:?}\n{text}");
    made
}

#[test]
fn two_dimensions_of_any_size() {
    for dims in [[32, 32], [64, 96], [33, 31], [1000, 7], [7, 1000], [3, 2], [513, 40], [100, 259]] {
        plain("f32", &dims, &[1, 0]);
    }
}

#[test]
fn every_permutation_of_four_dimensions() {
    let dims = [5, 6, 9, 20];
    let mut checked = 0;
    for code in 0..256usize {
        let permutation: Vec<usize> = (0..4).map(|place| code >> (2 * place) & 3).collect();
        if (0..4).any(|dim| !permutation.contains(&dim)) || permutation.is_sorted() {
            continue;
        }
        plain("s32", &dims, &permutation);
        checked += 1;
    }
    assert_eq!(checked, 23);
}

#[test]
fn batches_and_units() {
    let cases: [(&[i64], &[usize]); 12] = [
        (&[20, 16, 18, 33], &[1, 3, 0, 2]),
        (&[21, 9, 10, 64], &[3, 1, 0, 2]),
        (&[4, 30, 21, 3], &[0, 3, 1, 2]),
        (&[4, 3, 30, 21], &[0, 2, 3, 1]),
        (&[300, 3, 5], &[0, 2, 1]),
        (&[300, 3, 5], &[2, 1, 0]),
        (&[2, 70, 65], &[0, 2, 1]),
        (&[33, 4, 70], &[2, 1, 0]),
        (&[1, 40, 1, 50], &[3, 0, 1, 2]),
        (&[2, 3, 4, 5, 6], &[4, 2, 0, 3, 1]),
        (&[64, 2, 40], &[1, 0, 2]),
        (&[40, 70, 3], &[1, 0, 2]),
    ];
    for (dims, permutation) in cases {
        plain("f32", dims, permutation);
    }
}

#[test]
fn elements_of_every_size() {
    for element in ["f64", "s64", "u32", "c64", "c128"] {
        assert_ne!(plain(element, &[70, 45], &[1, 0])[1], "packed-transpose", "{element}");
        assert_ne!(plain(element, &[11, 5, 12], &[1, 0, 2])[1], "packed-transpose", "{element}");
    }
    for element in ["bf16", "f16", "s16", "s8", "u8", "pred", "s4", "u4", "f8e4m3fn"] {
        assert_eq!(plain(element, &[64, 128], &[1, 0])[1], "packed-transpose", "{element}");
        assert_eq!(plain(element, &[2, 200, 72], &[0, 2, 1])[1], "packed-transpose", "{element}");
        assert_ne!(plain(element, &[70, 45], &[1, 0])[1], "packed-transpose", "{element}");
        assert_ne!(plain(element, &[33, 64, 6], &[1, 0, 2])[1], "packed-transpose", "{element}");
    }
}

/// Checks results on the cpu. The rows of these results are whole cache lines. The columns fill a
/// tile, a unit or a vector, or do not even fill a vector.
#[test]
fn results_of_whole_lines() {
    for (element, line) in [("u8", 64), ("f8e5m2", 64), ("bf16", 32), ("s16", 32), ("f32", 16), ("u32", 16), ("f64", 8)]
    {
        for (lines, columns) in [(1, 9), (1, line), (2, 2 * line), (3, 2 * line + 1), (5, 37), (4, 5 * line + 24)] {
            plain(element, &[lines * line, columns], &[1, 0]);
        }
        plain(element, &[3, 2 * line, 20], &[0, 2, 1]);
        plain(element, &[line, 5, 3, 12], &[3, 1, 2, 0]);
        plain(element, &[2, 3, line, 2, 18], &[4, 3, 0, 1, 2]);
    }
}

/// Checks results that are too large for the caches of the cores. The kernel writes such results
/// with non-temporal stores.
#[test]
fn results_larger_than_the_caches() {
    plain("f32", &[16, 12 << 10, 3], &[2, 1, 0]);
    plain("f32", &[560, 1000], &[1, 0]);
    plain("bf16", &[32, 1030, 33], &[1, 2, 0]);
    plain("f32", &[37, 16, 1040], &[1, 0, 2]);
}

/// Checks computed operands. The kernel reads parameters as vectors, but processes computed
/// operands and side outputs element by element.
#[test]
fn whole_lines_of_computed_operands() {
    transposes(
        "fusion {
  x = f32[32,75] parameter(0)
  y = f32[32,75] parameter(1)
  s = f32[32,75] subtract(x, y)
  t = f32[75,32] transpose(s), dimensions={1,0}
  u = s32[32,75] bitcast-convert(y)
  v = s32[75,32] transpose(u), dimensions={1,0}
  ROOT all = (f32[75,32], f32[32,75], s32[75,32]) tuple(t, s, v)
}
",
    );
}

#[test]
fn packed_tiles_that_stick_out() {
    for dims in [[300, 64], [64, 300], [44, 1000], [132, 132], [260, 256]] {
        assert_eq!(plain("s8", &dims, &[1, 0])[1], "packed-transpose", "{dims:?}");
        assert_eq!(plain("bf16", &dims, &[1, 0])[1], "packed-transpose", "{dims:?}");
    }
}

#[test]
fn epilogues_read_other_parameters_and_change_the_type() {
    for (rows, columns) in [(40, 50), (64, 64), (9, 300)] {
        transposes(&format!(
            "fusion {{
  x = f32[{rows},{columns}] parameter(0)
  y = f32[{columns},{rows}] parameter(1)
  bias = f32[{rows}] parameter(2)
  t = f32[{columns},{rows}] transpose(x), dimensions={{1,0}}
  s = f32[{columns},{rows}] add(t, y)
  b = f32[{columns},{rows}] broadcast(bias), dimensions={{1}}
  m = f32[{columns},{rows}] multiply(s, b)
  ROOT c = s32[{columns},{rows}] convert(m)
}}
"
        ));
    }
}

/// Checks an epilogue with more operations than the kernel of a panel unrolls for every column.
#[test]
fn long_epilogues() {
    for (dims, result, permutation) in
        [("40,50", "50,40", "1,0"), ("3,64,64", "3,64,64", "0,2,1"), ("300,20", "20,300", "1,0"), ("5,7", "7,5", "1,0")]
    {
        transposes(&format!(
            "fusion {{
  x = f32[{dims}] parameter(0)
  y = f32[{result}] parameter(1)
  z = s8[{dims}] parameter(2)
  t = f32[{result}] transpose(x), dimensions={{{permutation}}}
  u = s8[{result}] transpose(z), dimensions={{{permutation}}}
  v = f32[{result}] convert(u)
  a = f32[{result}] add(t, y)
  m = f32[{result}] multiply(a, v)
  s = f32[{result}] subtract(m, t)
  p = pred[{result}] compare(s, y), direction=GT
  c = f32[{result}] select(p, s, a)
  n = f32[{dims}] negate(x)
  ROOT r = (f32[{result}], pred[{result}], f32[{dims}]) tuple(c, p, n)
}}
"
        ));
    }
}

#[test]
fn prologues_are_computed_once_while_reading() {
    transposes(
        "fusion {
  x = bf16[3,40,50] parameter(0)
  y = f32[50] parameter(1)
  w = f32[3,40,50] convert(x)
  b = f32[3,40,50] broadcast(y), dimensions={2}
  s = f32[3,40,50] add(w, b)
  ROOT t = f32[50,3,40] transpose(s), dimensions={2,0,1}
}
",
    );
}

#[test]
fn reshapes_behind_the_transpose() {
    transposes(
        "fusion {
  x = f32[24,50] parameter(0)
  t = f32[50,24] transpose(x), dimensions={1,0}
  r = f32[5,10,4,6] reshape(t)
  y = f32[5,10,4,6] parameter(1)
  ROOT s = f32[5,10,4,6] add(r, y)
}
",
    );
}

#[test]
fn side_outputs_are_written_while_reading() {
    transposes(
        "fusion {
  x = f32[40,50] parameter(0)
  n = f32[40,50] negate(x)
  i = s32[40,50] convert(x)
  t = f32[50,40] transpose(n), dimensions={1,0}
  a = f32[50,40] abs(t)
  y = f32[50,40] parameter(1)
  z = f32[50,40] negate(y)
  ROOT r = (f32[50,40], f32[40,50], f32[50,40], s32[40,50], f32[50,40]) tuple(t, n, a, i, z)
}
",
    );
}

#[test]
fn side_outputs_where_rows_stay() {
    transposes(
        "fusion {
  x = f32[6,40,50] parameter(0)
  n = f32[6,40,50] negate(x)
  t = f32[40,6,50] transpose(n), dimensions={1,0,2}
  ROOT r = (f32[40,6,50], f32[6,40,50]) tuple(t, n)
}
",
    );
}

#[test]
fn several_heroes_of_different_types() {
    transposes(
        "fusion {
  x = f32[40,50] parameter(0)
  y = s8[40,50] parameter(1)
  z = f64[4,10,50] parameter(2)
  t = f32[50,40] transpose(x), dimensions={1,0}
  u = s8[50,40] transpose(y), dimensions={1,0}
  v = f64[50,4,10] transpose(z), dimensions={2,0,1}
  w = f64[50,40] reshape(v)
  a = f32[50,40] convert(u)
  s = f32[50,40] add(t, a)
  ROOT r = (f32[50,40], f64[50,40], s8[50,40]) tuple(s, w, u)
}
",
    );
}

#[test]
fn several_packed_heroes() {
    let found = check(
        "fusion {
  x = s8[80,160] parameter(0)
  y = u8[80,160] parameter(1)
  t = s8[160,80] transpose(x), dimensions={1,0}
  u = u8[160,80] transpose(y), dimensions={1,0}
  a = s32[160,80] convert(t)
  b = s32[160,80] convert(u)
  s = s32[160,80] add(a, b)
  n = s8[80,160] negate(x)
  ROOT r = (s32[160,80], s8[80,160]) tuple(s, n)
}
",
    );
    assert_eq!(found[1], "packed-transpose");
}

#[test]
fn what_is_no_tile_is_left_to_others() {
    let reversed = "fusion {
  x = f32[8,8] parameter(0)
  t = f32[8,8] transpose(x), dimensions={1,0}
  u = f32[8,8] reverse(t), dimensions={0}
  ROOT y = (f32[8,8], f32[8,8]) tuple(t, u)
}
";
    assert_eq!(check(reversed), ["loop", "loop"]);
}

/// Returns the kinds of memory accesses in the PTX of a transpose, for example `ld.global.nc.b32`.
/// Each kind is listed once.
fn accesses(element: &str, dims: &str, result: &str, permutation: &str) -> Vec<String> {
    let text = format!(
        "fusion {{
  x = {element}[{dims}] parameter(0)
  ROOT t = {element}[{result}] transpose(x), dimensions={{{permutation}}}
}}
"
    );
    let ptx = Compiler::new(emitters())
        .and_then(|compiler| compiler.preferring(&["packed-transpose"]))
        .and_then(|compiler| compiler.ptx(&text, 90))
        .unwrap();
    let memory = |word: &str| word.contains(".global.") || word.contains(".shared.");
    let words = ptx.lines().filter_map(|line| line.split_whitespace().next()).filter(|word| memory(word));
    let mut found: Vec<String> = words.map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn narrow_elements_are_moved_as_words() {
    let halves = accesses("bf16", "512,1024", "1024,512", "1,0");
    assert!(halves.iter().all(|access| access.ends_with(".b32") || access.ends_with(".v2.b16")), "{halves:?}");
    for element in ["s8", "u4", "pred"] {
        let bytes = accesses(element, "512,1024", "1024,512", "1,0");
        assert!(bytes.iter().all(|access| access.ends_with(".b32") || access.ends_with(".v4.b8")), "{bytes:?}");
    }
}

#[test]
fn rows_are_moved_as_the_widest_vectors() {
    assert_eq!(accesses("f32", "64,32,64", "32,64,64", "1,0,2"), ["ld.global.nc.v4.b32", "st.global.v4.b32"]);
}

#[test]
fn tiles_of_floats_have_one_access_an_element() {
    let found = accesses("f32", "512,512", "512,512", "1,0");
    assert_eq!(found, ["ld.global.nc.b32", "ld.shared.b32", "st.global.b32", "st.shared.b32"]);
}
