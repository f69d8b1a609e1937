//! Lists fusions that are typical of programs, and fusions that no kernel can compute.

/// Fusions that are typical of programs, each with a name. `{N}` and `{M}` stand for the numbers of
/// rows and columns.
pub const TYPICAL: [(&str, &str); 22] = [
    (
        "numerator of softmax",
        "x = f32[{N},{M}] parameter(0)
       m = f32[{N}] parameter(1)
       b = f32[{N},{M}] broadcast(m), dimensions={0}
       d = f32[{N},{M}] subtract(x, b)
       ROOT e = f32[{N},{M}] exponential(d)",
    ),
    (
        "bf16 activation",
        "x = bf16[{N},{M}] parameter(0)
       y = bf16[{M}] parameter(1)
       b = bf16[{N},{M}] broadcast(y), dimensions={1}
       s = bf16[{N},{M}] add(x, b)
       t = bf16[{N},{M}] tanh(s)
       ROOT p = bf16[{N},{M}] multiply(s, t)",
    ),
    (
        "causal mask",
        "x = f32[{N},{M}] parameter(0)
       i = s32[{N},{M}] iota(), iota_dimension=0
       j = s32[{N},{M}] iota(), iota_dimension=1
       c = pred[{N},{M}] compare(j, i), direction=LE
       l = f32[] constant(-1000)
       b = f32[{N},{M}] broadcast(l), dimensions={}
       ROOT r = f32[{N},{M}] select(c, x, b)",
    ),
    (
        "two results",
        "x = s32[{N},{M}] parameter(0)
       y = s32[{N},{M}] parameter(1)
       s = s32[{N},{M}] add(x, y)
       c = f32[{N},{M}] convert(s)
       ROOT r = (s32[{N},{M}], f32[{N},{M}]) tuple(s, c)",
    ),
    (
        "two results of two shapes",
        "x = f32[{N},{M}] parameter(0)
       y = f32[{M}] parameter(1)
       s = f32[{N},{M}] negate(x)
       c = f32[{M}] exponential(y)
       ROOT r = (f32[{N},{M}], f32[{M}]) tuple(s, c)",
    ),
    (
        "complex numbers",
        "x = c64[{N},{M}] parameter(0)
       ROOT r = c64[{N},{M}] multiply(x, x)",
    ),
    (
        "nothing but a copy",
        "x = u8[{N},{M}] parameter(0)
       ROOT r = u8[{N},{M}] copy(x)",
    ),
    (
        "padded and reversed",
        "x = f32[{N},{M}] parameter(0)
       z = f32[] constant(7)
       p = f32[{N},{M}] reverse(x), dimensions={1}
       q = f32[{N},{M}] add(p, x)
       b = f32[{N},{M}] broadcast(z), dimensions={}
       ROOT r = f32[{N},{M}] maximum(q, b)",
    ),
    (
        "rows of a table",
        "t = f32[17,{M}] parameter(0)
       i = s32[{N},1] parameter(1)
       ROOT g = f32[{N},{M}] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
         index_vector_dim=1, slice_sizes={1,{M}}",
    ),
    (
        "sums of rows",
        "x = f32[{N},{M}] parameter(0)
       z = f32[] constant(0)
       ROOT r = f32[{N}] reduce(x, z), dimensions={1}, to_apply=add_f32",
    ),
    (
        "sums of columns of squares",
        "x = f32[{N},{M}] parameter(0)
       s = f32[{N},{M}] multiply(x, x)
       z = f32[] constant(0)
       ROOT r = f32[{M}] reduce(s, z), dimensions={0}, to_apply=add_f32",
    ),
    (
        "largest of all",
        "x = s32[{N},{M}] parameter(0)
       z = s32[] constant(-9)
       ROOT r = s32[] reduce(x, z), dimensions={0,1}, to_apply=maximum_s32",
    ),
    (
        "root of a row's mean square",
        "x = f32[3,{N},{M}] parameter(0)
       s = f32[3,{N},{M}] multiply(x, x)
       z = f32[] constant(0)
       t = f32[3,{N}] reduce(s, z), dimensions={2}, to_apply=add_f32
       ROOT r = f32[3,{N}] sqrt(t)",
    ),
    (
        "a sum that starts from one",
        "x = s32[{N},{M}] parameter(0)
       z = s32[] constant(1)
       ROOT r = s32[{N}] reduce(x, z), dimensions={1}, to_apply=add_s32",
    ),
    (
        "transpose",
        "x = f32[{N},{M}] parameter(0)
       ROOT r = f32[{M},{N}] transpose(x), dimensions={1,0}",
    ),
    (
        "transpose of bytes, with an epilogue",
        "x = s8[{N},{M}] parameter(0)
       y = s8[{M},{N}] parameter(1)
       t = s8[{M},{N}] transpose(x), dimensions={1,0}
       ROOT r = s8[{M},{N}] add(t, y)",
    ),
    (
        "transposes of several matrices",
        "x = bf16[3,{N},{M}] parameter(0)
       e = bf16[3,{N},{M}] negate(x)
       ROOT r = bf16[3,{M},{N}] transpose(e), dimensions={0,2,1}",
    ),
    (
        "exchanged leading dimensions",
        "x = f32[{N},4,{M}] parameter(0)
       ROOT r = f32[4,{N},{M}] transpose(x), dimensions={1,0,2}",
    ),
    (
        "concatenated rows",
        "x = f32[{N},{M}] parameter(0)
       y = f32[3,{M}] parameter(1)
       e = f32[{N},{M}] negate(x)
       ROOT r = f32[{N+3},{M}] concatenate(e, y), dimensions={0}",
    ),
    (
        "a row replaced",
        "x = f32[{N+3},{M}] parameter(0)
       u = f32[1,{M}] parameter(1)
       i = s32[] parameter(2)
       z = s32[] constant(0)
       ROOT r = f32[{N+3},{M}] dynamic-update-slice(x, u, i, z)",
    ),
    (
        "product of matrices",
        "x = f32[{N},24] parameter(0)
       y = f32[24,{M}] parameter(1)
       ROOT r = f32[{N},{M}] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    (
        "running sums",
        "x = s32[{N},{M}] parameter(0)
       z = s32[] constant(0)
       ROOT r = s32[{N},{M}] reduce-window(x, z), window={size=1x{M} pad=0_0x{M-1}_0}, to_apply=add_s32",
    ),
];

/// Fusions that no kernel can compute.
pub const IMPOSSIBLE: [(&str, &str); 2] = [
    (
        "a call of something unknown",
        "x = f32[8] parameter(0)
       ROOT r = f32[8] custom-call(x), custom_call_target=\"nobody knows this\"",
    ),
    (
        "a result that is no array",
        "x = f32[8] parameter(0)
       t = token[] after-all()
       ROOT r = (f32[8], token[]) tuple(x, t)",
    ),
];

/// Text of the combiners that the fusions apply.
pub const COMBINERS: &str = "add_f32 { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
add_s32 { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b) }
maximum_s32 { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] maximum(a, b) }
";
