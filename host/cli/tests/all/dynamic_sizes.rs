//! Compares dynamic dimensions with the reference interpreter. In the interpreter, arrays have
//! their actual sizes.

use fusebox_conformance::Compiler;

const COMPUTATIONS: &str = "HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
mul { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] multiply(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
ge { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE }
gt { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GT }
le { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LE }
scaled { a = f32[] parameter(0)
  b = f32[] parameter(1)
  m = f32[] maximum(a, b)
  n = f32[] minimum(m, b)
  ROOT c = f32[] maximum(a, n) }
argmax { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  less = pred[] compare(a, b), direction=LT
  m = f32[] select(less, b, a)
  k = s32[] select(less, j, i)
  ROOT c = (f32[], s32[]) tuple(m, k) }
step { a = f32[] parameter(0)
  c = f32[] parameter(1)
  k = s32[] parameter(2)
  one = s32[] constant(1)
  d = f32[] subtract(a, c)
  l = s32[] add(k, one)
  ROOT r = (f32[], f32[], s32[]) tuple(c, d, l) }
step_of_four { a = f32[4] parameter(0)
  c = f32[4] parameter(1)
  d = f32[4] subtract(a, c)
  ROOT r = (f32[4], f32[4]) tuple(c, d) }
first_less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT }
";

/// Compiles `lines` for several sizes. Compares `q` and the size of `r` with the results of the
/// interpreter. `d` holds the first elements of `x`, and `s` holds the first columns of `y`. The
/// program computes the size, so that no pass can fold it.
fn check(lines: &str, result: &str) {
    let compiler = Compiler::new(Vec::new()).unwrap();
    for size in [0, 1, 3, 8] {
        let text = format!(
            "{COMPUTATIONS}ENTRY main {{ x = f32[8] parameter(0)
  y = f32[4,8] parameter(1)
  w = s32[] parameter(2)
  none = s32[] subtract(w, w)
  size = s32[] constant({size})
  n = s32[] add(none, size)
  z = f32[] constant(0)
  three = f32[] constant(3)
  d = f32[<=8] set-dimension-size(x, n), dimensions={{0}}
  s = f32[4,<=8] set-dimension-size(y, n), dimensions={{1}}
{lines}
  k = s32[] get-dimension-size(r), dimensions={{0}}
  ROOT out = ({result}, s32[]) tuple(q, k)
}}
"
        );
        compiler.check(&text).unwrap_or_else(|failure| panic!("size {size}: {failure}\n{text}"));
    }
}

#[test]
fn reductions() {
    for combiner in ["add", "mul", "max"] {
        for initial in ["z", "three"] {
            check(
                &format!(
                    "  r = f32[<=8] negate(d)\n  q = f32[] reduce(r, {initial}), dimensions={{0}}, to_apply={combiner}"
                ),
                "f32[]",
            );
            check(
                &format!(
                    "  r = f32[4,<=8] negate(s)\n  q = f32[4] reduce(r, {initial}), dimensions={{1}}, to_apply={combiner}"
                ),
                "f32[4]",
            );
        }
    }
    check(
        "  r = f32[<=8] reduce(s, z), dimensions={0}, to_apply=add\n  q = f32[] reduce(r, three), dimensions={0}, to_apply=add",
        "f32[]",
    );
}

#[test]
fn windows() {
    for (window, bound) in
        [("size=3", 6), ("size=3 stride=2 pad=1_1", 4), ("size=2 pad=0_2 lhs_dilate=2", 16), ("size=1 pad=0_2", 10)]
    {
        check(
            &format!(
                "  r = f32[<={bound}] reduce-window(d, z), window={{{window}}}, to_apply=add
  q = f32[] reduce(r, z), dimensions={{0}}, to_apply=add"
            ),
            "f32[]",
        );
    }
}

#[test]
fn products() {
    check(
        "  e = f32[4,<=8] multiply(s, s)
  p = f32[4] dot(e, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[<=8] negate(d)
  q = f32[4] negate(p)",
        "f32[4]",
    );
    check(
        "  c = f32[4] slice(x), slice={[0:4]}
  r = f32[<=8] dot(s, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  q = f32[] reduce(r, z), dimensions={0}, to_apply=max",
        "f32[]",
    );
}

/// Checks convolutions with a dynamic spatial dimension, and convolutions with dynamic features.
#[test]
fn convolutions() {
    check(
        "  i = f32[1,8,1] reshape(x)
  v = f32[1,<=8,1] set-dimension-size(i, n), dimensions={1}
  l = f32[3,1,1] constant({{{1}},{{2}},{{4}}})
  c = f32[1,<=9,1] convolution(v, l), window={size=3 pad=1_2}, dim_labels=b0f_0io->b0f
  r = f32[<=9] reshape(c)
  q = f32[] reduce(r, three), dimensions={0}, to_apply=add",
        "f32[]",
    );
    check(
        "  i = f32[1,4,8] reshape(y)
  v = f32[1,4,<=8] set-dimension-size(i, n), dimensions={2}
  l = f32[1,8,1] reshape(x)
  h = f32[1,<=8,1] set-dimension-size(l, n), dimensions={1}
  q = f32[1,4,1] convolution(v, h), window={size=1}, dim_labels=b0f_0io->b0f
  r = f32[<=8] negate(d)",
        "f32[1,4,1]",
    );
}

#[test]
fn movements() {
    for lines in [
        // The first element of the result is the last element within the size.
        "  e = f32[<=8] reverse(d), dimensions={0}\n  i = f32[8] iota(), iota_dimension=0
  r = f32[<=8] multiply(e, i)",
        "  e = f32[4,<=8] reverse(s), dimensions={0,1}\n  i = f32[4,8] iota(), iota_dimension=1
  m = f32[4,<=8] multiply(e, i)\n  r = f32[<=8] reduce(m, z), dimensions={0}, to_apply=add",
        // Operands are contiguous in the result.
        "  e = f32[<=24] concatenate(d, x, d), dimensions={0}\n  i = f32[24] iota(), iota_dimension=0
  r = f32[<=24] multiply(e, i)",
        // High padding directly follows the last element.
        "  e = f32[<=27] pad(d, three), padding=2_3_2\n  i = f32[27] iota(), iota_dimension=0
  r = f32[<=27] multiply(e, i)",
        "  e = f32[<=8] pad(d, three), padding=1_-1\n  i = f32[8] iota(), iota_dimension=0
  r = f32[<=8] multiply(e, i)",
        "  e = f32[<=8,4] transpose(s), dimensions={1,0}\n  m = f32[<=32] reshape(e)
  i = f32[32] iota(), iota_dimension=0\n  r = f32[<=32] multiply(m, i)",
        "  b = f32[3,<=8] broadcast(d), dimensions={1}\n  t = f32[<=8,3] transpose(b), dimensions={1,0}
  u = f32[<=8,1,3] reshape(t)\n  m = f32[<=24] reshape(u)\n  i = f32[24] iota(), iota_dimension=0
  r = f32[<=24] multiply(m, i)",
    ] {
        check(&format!("{lines}\n  q = f32[] reduce(r, three), dimensions={{0}}, to_apply=add"), "f32[]");
    }
}

/// Static operands are read up to the size of the dynamic operands. If a size is set to the bound,
/// the dimension becomes static.
#[test]
fn elementwise() {
    check(
        "  i = f32[8] iota(), iota_dimension=0
  p = pred[<=8] compare(d, i), direction=LT
  e = f32[<=8] select(p, d, i)
  c = f32[<=8] clamp(z, e, three)
  h = bf16[<=8] convert(c)
  r = f32[<=8] convert(h)
  q = f32[] reduce(r, z), dimensions={0}, to_apply=add",
        "f32[]",
    );
    check(
        "  r = f32[<=8] negate(d)
  eight = s32[] constant(8)
  b = f32[8] set-dimension-size(x, eight), dimensions={0}
  q = f32[8] negate(b)",
        "f32[8]",
    );
}

/// Elements beyond the size must come last, even if they are the smallest. Equal elements must keep
/// their order.
#[test]
fn sorts() {
    check(
        "  r = f32[<=8] sort(d), dimensions={0}, to_apply=less
  first = f32[<=8] negate(r)
  q = f32[] reduce(first, z), dimensions={0}, to_apply=max",
        "f32[]",
    );
    check(
        "  places = s32[8] iota(), iota_dimension=0
  at = s32[<=8] set-dimension-size(places, n), dimensions={0}
  signs = f32[<=8] sign(d)
  both = (f32[<=8], s32[<=8]) sort(signs, at), dimensions={0}, is_stable=true, to_apply=first_less
  r = s32[<=8] get-tuple-element(both), index=1
  f = f32[<=8] convert(r)
  fours = f32[8] iota(), iota_dimension=0
  weights = f32[<=8] set-dimension-size(fours, n), dimensions={0}
  products = f32[<=8] multiply(f, weights)
  q = f32[] reduce(products, z), dimensions={0}, to_apply=add",
        "f32[]",
    );
    check(
        "  t = f32[4,<=8] sort(s), dimensions={0}, to_apply=less
  r = f32[<=8] reduce(t, z), dimensions={0}, to_apply=max
  q = f32[] reduce(r, z), dimensions={0}, to_apply=add",
        "f32[]",
    );
}

/// Checks two combiners: one computes the index of the largest element, and the other is a maximum
/// in a form that the compiler does not recognise.
#[test]
fn combiners_without_a_known_neutral_element() {
    check(
        "  r = f32[<=8] negate(d)\n  low = f32[] constant(-100)\n  q = f32[] reduce(r, low), dimensions={0}, to_apply=scaled",
        "f32[]",
    );
    for (array, dimension, other, result) in [("<=8", 0, "[<=8]", "s32[]"), ("4,<=8", 1, "[4,<=8]", "s32[4]")] {
        let (of, shape) = if dimension == 0 { ("d", "8") } else { ("s", "4,8") };
        let kept = result.trim_start_matches("s32");
        check(
            &format!(
                "  places = s32[{shape}] iota(), iota_dimension={dimension}
  at = s32[{array}] set-dimension-size(places, n), dimensions={{{dimension}}}
  low = f32[] constant(-100)
  none_yet = s32[] constant(-1)
  both = (f32{kept}, s32{kept}) reduce({of}, at, low, none_yet), dimensions={{{dimension}}}, to_apply=argmax
  whole = f32{other} negate({of})
  r = f32[<=8] reduce(whole, z), dimensions={{{}}}, to_apply=add
  q = {result} get-tuple-element(both), index=1",
                if dimension == 0 { "" } else { "0" }
            ),
            result,
        );
    }
}

/// A slice must stay within the actual size. A slice of a whole dimension must have the actual
/// size. `r` and `m` have at least two elements along the dynamic dimension.
#[test]
fn windows_that_begin_where_a_value_says() {
    let four = "  two = s32[] constant(2)
  most = s32[] add(n, two)
  r = f32[<=8] set-dimension-size(x, most), dimensions={0}
  m = f32[4,<=8] set-dimension-size(y, most), dimensions={1}
  far = s32[] constant(7)
  near = u8[] convert(far)
  long = s64[] convert(far)
";
    for start in ["n", "far", "near", "long", "w"] {
        check(&format!("{four}  q = f32[2] dynamic-slice(r, {start}), dynamic_slice_sizes={{2}}"), "f32[2]");
        check(
            &format!(
                "{four}  rows = f32[2,<=8] dynamic-slice(m, {start}, {start}), dynamic_slice_sizes={{2,8}}
  q = f32[2] reduce(rows, z), dimensions={{1}}, to_apply=add"
            ),
            "f32[2]",
        );
        check(
            &format!(
                "{four}  two_of = f32[2] slice(x), slice={{[6:8]}}
  u = f32[<=8] dynamic-update-slice(r, two_of, {start})
  q = f32[] reduce(u, three), dimensions={{0}}, to_apply=mul"
            ),
            "f32[]",
        );
    }
}

/// An update of dynamic size must leave the elements behind the update unchanged.
#[test]
fn updates_of_dynamic_size() {
    let sizes = "  two = s32[] constant(2)
  most = s32[] add(n, two)
  v = f32[<=8] set-dimension-size(x, most), dimensions={0}
  far = s32[] constant(7)
  near = u8[] convert(far)
";
    for start in ["n", "far", "near", "w"] {
        for (into, shape) in [("v", "<=8"), ("x", "8")] {
            check(
                &format!(
                    "{sizes}  most_of = f32[6] slice(x), slice={{[2:8]}}
  least = s32[] minimum(n, two)
  u = f32[<=6] set-dimension-size(most_of, least), dimensions={{0}}
  updated = f32[{shape}] dynamic-update-slice({into}, u, {start})
  weights = f32[8] iota(), iota_dimension=0
  weighted = f32[{shape}] multiply(updated, weights)
  q = f32[] reduce(weighted, z), dimensions={{0}}, to_apply=add
  r = f32[<=8] negate(d)"
                ),
                "f32[]",
            );
        }
    }
}

/// In both directions, iterations beyond the size must leave the loop-carried values unchanged.
#[test]
fn scans() {
    for reverse in ["false", "true"] {
        check(
            &format!(
                "  zero = s32[] constant(0)
  all = (f32[<=8], f32[], s32[]) scan(d, z, zero), dimensions={{0}}, num_carries=2, is_reverse={reverse}, to_apply=step
  r = f32[<=8] get-tuple-element(all), index=0
  weights = f32[8] iota(), iota_dimension=0
  weighted = f32[<=8] multiply(r, weights)
  sum = f32[] reduce(weighted, z), dimensions={{0}}, to_apply=add
  last = f32[] get-tuple-element(all), index=1
  steps = s32[] get-tuple-element(all), index=2
  q = (f32[], f32[], s32[]) tuple(sum, last, steps)"
            ),
            "(f32[], f32[], s32[])",
        );
        check(
            &format!(
                "  carry = f32[4] broadcast(three), dimensions={{}}
  all = (f32[4,<=8], f32[4]) scan(s, carry), dimensions={{1}}, num_carries=1, is_reverse={reverse}, to_apply=step_of_four
  each = f32[4,<=8] get-tuple-element(all), index=0
  r = f32[<=8] reduce(each, z), dimensions={{0}}, to_apply=max
  q = f32[4] get-tuple-element(all), index=1"
            ),
            "f32[4]",
        );
    }
}

/// A gather must read no elements beyond the size, and a scatter must ignore index vectors beyond
/// the number of index vectors. `v`, `m` and `at` have at least two elements along the dynamic
/// dimension.
#[test]
fn index_vectors() {
    let three = "  two = s32[] constant(2)
  most = s32[] add(n, two)
  v = f32[<=8] set-dimension-size(x, most), dimensions={0}
  m = f32[4,<=8] set-dimension-size(y, most), dimensions={1}
  i = s32[8] constant({7,0,-1,3,2,2,9,1})
  at = s32[<=8] set-dimension-size(i, most), dimensions={0}
";
    // Gathers one element or row per index vector.
    check(
        &format!(
            "{three}  r = f32[<=8] gather(v, at), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, \
             index_vector_dim=1, slice_sizes={{1}}
  q = f32[] reduce(r, z), dimensions={{0}}, to_apply=add"
        ),
        "f32[]",
    );
    check(
        &format!(
            "{three}  near = u8[8] convert(i)
  g = f32[8,<=8] gather(m, near), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, \
             slice_sizes={{1,8}}
  r = f32[<=8] reduce(g, z), dimensions={{0}}, to_apply=add
  q = f32[] reduce(r, z), dimensions={{0}}, to_apply=add"
        ),
        "f32[]",
    );
    // Gathers windows of two elements. The row index is static.
    check(
        &format!(
            "{three}  pairs = s32[4,2] constant({{{{0,7}},{{3,1}},{{9,2}},{{1,-1}}}})
  q = f32[4,2] gather(m, pairs), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0,1}}, index_vector_dim=1, \
             slice_sizes={{1,2}}
  r = f32[<=8] negate(v)"
        ),
        "f32[4,2]",
    );
    for into in ["v", "x"] {
        let shape = if into == "v" { "<=8" } else { "8" };
        for ty in ["s32", "u8", "s64", "u64"] {
            check(
                &format!(
                    "{three}  as = {ty}[<=8] convert(at)
  into = f32[{shape}] scatter({into}, as, v), update_window_dims={{}}, inserted_window_dims={{0}}, \
                     scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add
  weights = f32[8] iota(), iota_dimension=0
  weighted = f32[{shape}] multiply(into, weights)
  q = f32[] reduce(weighted, z), dimensions={{0}}, to_apply=add
  r = f32[<=8] negate(v)"
                ),
                "f32[]",
            );
        }
    }
    // A scatter must leave out a window that ends beyond the size.
    check(
        &format!(
            "{three}  starts = s32[3,1] constant({{{{2}},{{0}},{{6}}}})
  few = f32[3,2] constant({{{{1,2}},{{3,4}},{{5,6}}}})
  r = f32[<=8] scatter(v, starts, few), update_window_dims={{1}}, inserted_window_dims={{}}, scatter_dims_to_operand_dims={{0}}, \
             index_vector_dim=1, to_apply=add
  weights = f32[8] iota(), iota_dimension=0
  weighted = f32[<=8] multiply(r, weights)
  q = f32[] reduce(weighted, z), dimensions={{0}}, to_apply=add"
        ),
        "f32[]",
    );
}

/// Checks windows whose combiner has no known neutral element.
#[test]
fn windows_of_any_combiner() {
    for (window, bound) in [("size=3", 6), ("size=3 stride=2 pad=1_1", 4), ("size=8 pad=7_0", 8)] {
        check(
            &format!(
                "  r = f32[<={bound}] reduce-window(d, three), window={{{window}}}, to_apply=scaled
  q = f32[] reduce(r, z), dimensions={{0}}, to_apply=add"
            ),
            "f32[]",
        );
    }
}

/// Checks a dynamic number of overlapping windows. A window that begins beyond the last element
/// selects no element.
#[test]
fn selections() {
    for (windows, sources, padding, select) in
        [(4, "<=4", "pad=0_1", "ge"), (4, "<=4", "pad=1_0", "le"), (3, "<=3", "", "ge"), (4, "<=4", "pad=0_1", "gt")]
    {
        check(
            &format!(
                "  rounded = f32[<=8] floor(d)
  pooled = f32[{sources}] reduce-window(rounded, z), window={{size=3 stride=2 {padding}}}, to_apply=add
  v = f32[{windows}] constant({{{}}})
  m = s32[] get-dimension-size(pooled), dimensions={{0}}
  u = f32[{sources}] set-dimension-size(v, m), dimensions={{0}}
  r = f32[<=8] select-and-scatter(rounded, u, three), window={{size=3 stride=2 {padding}}}, select={select}, scatter=add
  q = f32[] reduce(r, z), dimensions={{0}}, to_apply=scaled",
                ["1", "20", "300", "4000"][..windows].join(",")
            ),
            "f32[]",
        );
    }
    check(
        "  c = s32[] constant(2)
  t = f32[8,4] transpose(y), dimensions={1,0}
  rows = f32[<=8,4] set-dimension-size(t, n), dimensions={0}
  v = f32[8,2] slice(t), slice={[0:8], [0:2]}
  u = f32[<=8,2] set-dimension-size(v, n), dimensions={0}
  r = f32[<=8,4] select-and-scatter(rows, u, z), window={size=1x2 stride=1x2}, select=ge, scatter=add
  q = f32[4] reduce(r, z), dimensions={0}, to_apply=add",
        "f32[4]",
    );
}

/// Checks routines with a dynamic number of matrices or of signals.
#[test]
fn routines() {
    check(
        "  eye = f32[8,2,2] broadcast(x), dimensions={0}
  c = f32[2,2] constant({{4,2},{2,5}})
  some = f32[8,2,2] broadcast(c), dimensions={1,2}
  all = f32[<=8,2,2] set-dimension-size(some, n), dimensions={0}
  r = f32[<=8,2,2] cholesky(all), lower=true
  rights = f32[<=8,2,2] set-dimension-size(eye, n), dimensions={0}
  solved = f32[<=8,2,2] triangular-solve(r, rights), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
  q = f32[2,2] reduce(solved, z), dimensions={0}, to_apply=max",
        "f32[2,2]",
    );
    check(
        "  t = f32[8,4] transpose(y), dimensions={1,0}
  signals = f32[<=8,4] set-dimension-size(t, n), dimensions={0}
  spectra = c64[<=8,3] fft(signals), fft_type=RFFT, fft_length={4}
  real = f32[<=8,3] real(spectra)
  r = f32[<=8,3] negate(real)
  q = f32[3] reduce(r, z), dimensions={0}, to_apply=add",
        "f32[3]",
    );
    check(
        "  t = f32[8,4] transpose(y), dimensions={1,0}
  rows = f32[<=8,4] set-dimension-size(t, n), dimensions={0}
  first = (f32[<=8,2], s32[<=8,2]) topk(rows), k=2, largest=true
  r = f32[<=8,2] get-tuple-element(first), index=0
  q = f32[2] reduce(r, z), dimensions={0}, to_apply=add",
        "f32[2]",
    );
}
