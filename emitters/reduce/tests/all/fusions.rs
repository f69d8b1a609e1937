//! Compares fusions that contain reductions with the interpreter, on cpu and simt. They have
//! prologues, epilogues, side outputs, several values or several reductions.

use crate::check_by;

const COMPUTATIONS: &str = "
add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] maximum(a, b) }
add_s32 { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT s = s32[] add(a, b) }
two_sums { n = f32[] parameter(0)\n s = f32[] parameter(1)\n m = f32[] parameter(2)\n t = f32[] parameter(3)
  u = f32[] add(n, m)\n v = f32[] add(s, t)\n ROOT r = (f32[], f32[]) tuple(u, v) }
arg_max { v = f32[] parameter(0)\n i = s32[] parameter(1)\n w = f32[] parameter(2)\n j = s32[] parameter(3)
  gt = pred[] compare(v, w), direction=GT\n eq = pred[] compare(v, w), direction=EQ
  lt = pred[] compare(i, j), direction=LT\n tie = pred[] and(eq, lt)\n first = pred[] or(gt, tie)
  x = f32[] select(first, v, w)\n k = s32[] select(first, i, j)\n ROOT r = (f32[], s32[]) tuple(x, k) }
";

/// Compares the results on both targets with those of the interpreter, and checks the emitter for
/// many threads.
fn reduces(body: &str, emitter: &str) {
    let text = format!("{COMPUTATIONS}\nfusion {{\n{body}\n}}\n");
    assert_eq!(check_by(&text, emitter)[1], emitter, "{text}");
}

/// A shape for each emitter, and the reduced dimension of this shape.
const SHAPES: [([i64; 2], usize, &str); 6] = [
    ([20, 300], 1, "row-reduce"),
    ([90, 8], 1, "multi-row-reduce"),
    ([700, 3], 1, "multi-row-reduce"),
    ([300, 50], 0, "column-reduce"),
    ([1000, 6], 0, "small-column-reduce"),
    ([9, 200], 0, "column-reduce"),
];

/// Replaces `A` and `B` by the sizes, and `D` by the reduced dimension. Replaces `N` by the other
/// dimension, and `K` by the size of the other dimension.
fn filled(template: &str, [a, b]: [i64; 2], reduced: usize) -> String {
    let kept = if reduced == 0 { b } else { a };
    let replaced = template.replace("A,B", &format!("{a},{b}")).replace("[K]", &format!("[{kept}]"));
    replaced.replace("{D}", &format!("{{{reduced}}}")).replace("{N}", &format!("{{{}}}", 1 - reduced))
}

fn reduces_everywhere(template: &str) {
    for (dims, reduced, emitter) in SHAPES {
        reduces(&filled(template, dims, reduced), emitter);
    }
}

#[test]
fn prologue_and_epilogue() {
    reduces_everywhere(
        "x = f32[A,B] parameter(0)\n w = f32[K] parameter(1)\n v = f32[A,B] parameter(2)\n z = f32[] constant(0)
         b = f32[A,B] broadcast(w), dimensions={N}\n p = f32[A,B] multiply(x, b)\n q = f32[A,B] add(p, v)
         r = f32[K] reduce(q, z), dimensions={D}, to_apply=add\n s = f32[K] subtract(r, w)
         ROOT e = f32[K] negate(s)",
    );
}

#[test]
fn several_reductions_of_one_operand() {
    reduces_everywhere(
        "x = f32[A,B] parameter(0)\n z = f32[] constant(0)\n m = f32[] constant(-inf)\n q = f32[A,B] multiply(x, x)
         a = f32[K] reduce(x, z), dimensions={D}, to_apply=add\n b = f32[K] reduce(q, z), dimensions={D}, to_apply=add
         c = f32[K] reduce(x, m), dimensions={D}, to_apply=max\n d = f32[K] subtract(b, a)
         ROOT t = (f32[K], f32[K], f32[K], f32[K]) tuple(a, d, c, a)",
    );
}

#[test]
fn side_outputs() {
    reduces_everywhere(
        "x = f32[A,B] parameter(0)\n z = f32[] constant(0)\n q = f32[A,B] multiply(x, x)\n n = f32[A,B] negate(q)
         h = s32[A,B] convert(x)\n zs = s32[] constant(7)\n i = s32[K] reduce(h, zs), dimensions={D}, to_apply=add_s32
         r = f32[K] reduce(q, z), dimensions={D}, to_apply=add
         ROOT t = (f32[A,B], f32[K], s32[A,B], s32[K]) tuple(n, r, h, i)",
    );
}

#[test]
fn variadic() {
    reduces_everywhere(
        "x = f32[A,B] parameter(0)\n i = s32[A,B] iota(), iota_dimension=1\n m = f32[] constant(-inf)\n z = s32[] constant(0)
         r = (f32[K], s32[K]) reduce(x, i, m, z), dimensions={D}, to_apply=arg_max
         g = s32[K] get-tuple-element(r), index=1\n n = s32[K] negate(g)
         ROOT t = (s32[K], (f32[K], s32[K])) tuple(n, r)",
    );
    reduces_everywhere(
        "x = f32[A,B] parameter(0)\n q = f32[A,B] multiply(x, x)\n z = f32[] constant(0)
         r = (f32[K], f32[K]) reduce(x, q, z, z), dimensions={D}, to_apply=two_sums
         a = f32[K] get-tuple-element(r), index=0\n b = f32[K] get-tuple-element(r), index=1
         ROOT d = f32[K] subtract(b, a)",
    );
}

#[test]
fn mixed_types() {
    reduces_everywhere(
        "x = s8[A,B] parameter(0)\n y = f64[A,B] parameter(1)\n z = f32[] constant(0)\n c = f32[A,B] convert(x)
         d = f32[A,B] convert(y)\n p = f32[A,B] multiply(c, d)\n r = f32[K] reduce(p, z), dimensions={D}, to_apply=add
         ROOT e = bf16[K] convert(r)",
    );
}

#[test]
fn roots_of_the_results_size() {
    reduces_everywhere(
        "x = f32[A,B] parameter(0)\n w = f32[K] parameter(1)\n z = f32[] constant(0)
         r = f32[K] reduce(x, z), dimensions={D}, to_apply=add\n n = f32[K] negate(w)\n v = f32[K] reverse(r), dimensions={0}
         ROOT t = (f32[K], f32[K], f32[K]) tuple(n, r, v)",
    );
}

#[test]
fn epilogues_of_another_shape() {
    reduces(
        "x = f32[6,4,300] parameter(0)\n z = f32[] constant(0)\n r = f32[6,4] reduce(x, z), dimensions={2}, to_apply=add
         f = f32[24] reshape(r)\n n = f32[24] negate(f)\n s = f32[12,600] reshape(x)
         ROOT t = (f32[24], f32[6,4], f32[12,600]) tuple(n, r, s)",
        "row-reduce",
    );
}

#[test]
fn groups_have_their_own_blocks() {
    // No shared operand; another shape; another dimension.
    reduces(
        "x = f32[20,300] parameter(0)\n y = f32[20,300] parameter(1)\n w = f32[300,9] parameter(2)\n v = f32[5000] parameter(3)
         z = f32[] constant(0)\n a = f32[20] reduce(x, z), dimensions={1}, to_apply=add
         b = f32[20] reduce(y, z), dimensions={1}, to_apply=add\n c = f32[300] reduce(x, z), dimensions={0}, to_apply=max
         d = f32[9] reduce(w, z), dimensions={0}, to_apply=add\n e = f32[] reduce(v, z), dimensions={0}, to_apply=add
         n = f32[20,300] negate(y)
         ROOT t = (f32[20], f32[20], f32[300], f32[9], f32[], f32[20,300]) tuple(a, b, c, d, e, n)",
        "row-reduce",
    );
}

#[test]
fn prologues_that_move_elements() {
    reduces(
        "x = f32[300,40] parameter(0)\n z = f32[] constant(0)\n t = f32[40,300] transpose(x), dimensions={1,0}
         p = f32[] constant(1)\n q = f32[41,310] pad(t, p), padding=0_1x10_0
         s = f32[41,100] slice(q), slice={[0:41], [3:303:3]}
         ROOT r = f32[41] reduce(s, z), dimensions={1}, to_apply=add",
        "row-reduce",
    );
}

#[test]
fn a_reduction_within_the_epilogue_of_another() {
    reduces(
        "x = f32[20,300] parameter(0)\n y = f32[20,3] parameter(1)\n z = f32[] constant(0)
         a = f32[20] reduce(x, z), dimensions={1}, to_apply=add\n b = f32[20] reduce(y, z), dimensions={1}, to_apply=max
         ROOT d = f32[20] add(a, b)",
        "row-reduce",
    );
}
