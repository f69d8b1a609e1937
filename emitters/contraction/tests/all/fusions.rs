//! Checks prologues and epilogues of a dot.

use crate::{contracts, exact, makers};

#[test]
fn prologues_are_computed_while_packing() {
    contracts(
        "fusion {
  x = bf16[70,50] parameter(0)
  w = s8[60,70] parameter(1)
  scale = f32[60] parameter(2)
  xt = bf16[50,70] transpose(x), dimensions={1,0}
  xf = f32[50,70] convert(xt)
  wf = f32[60,70] convert(w)
  s = f32[60,70] broadcast(scale), dimensions={0}
  ws = f32[60,70] multiply(wf, s)
  ROOT d = f32[50,60] dot(xf, ws), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}
",
    );
}

#[test]
fn operands_are_gathered_and_padded() {
    contracts(
        "fusion {
  table = f32[100,40] parameter(0)
  rows = s32[30,1] parameter(1)
  x = f32[30,40] gather(table, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,40}
  y = f32[38,50] parameter(2)
  zero = f32[] constant(0)
  yp = f32[40,50] pad(y, zero), padding=1_1x0_0
  ROOT d = f32[30,50] dot(x, yp), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
",
    );
}

#[test]
fn epilogues_are_computed_where_sums_are_complete() {
    contracts(
        "fusion {
  x = f32[50,300] parameter(0)
  y = f32[300,70] parameter(1)
  bias = f32[70] parameter(2)
  residual = f32[50,70] parameter(3)
  d = f32[50,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[50,70] broadcast(bias), dimensions={1}
  s = f32[50,70] add(d, b)
  zero = f32[] constant(0)
  z = f32[50,70] broadcast(zero), dimensions={}
  m = f32[50,70] maximum(s, z)
  r = f32[50,70] add(m, residual)
  ROOT c = bf16[50,70] convert(r)
}
",
    );
}

#[test]
fn several_results_of_several_forms() {
    contracts(
        "fusion {
  x = f32[50,30] parameter(0)
  y = f32[30,70] parameter(1)
  d = f32[50,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[50,70] negate(d)
  f = f32[5,10,70] reshape(n)
  g = f32[5,10,70] add(f, f)
  ROOT t = (f32[5,10,70], f32[50,70], f32[50,70]) tuple(g, d, n)
}
",
    );
}

#[test]
fn both_operands_are_one() {
    contracts(
        "fusion {
  x = f32[50,30] parameter(0)
  ROOT d = f32[50,50] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}
",
    );
}

#[test]
fn epilogues_that_need_other_elements_are_not_taken() {
    let text = "fusion {
  x = f32[50,30] parameter(0)
  y = f32[30,50] parameter(1)
  d = f32[50,50] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[50,50] transpose(d), dimensions={1,0}
  ROOT a = f32[50,50] add(t, d)
}
";
    assert!(!makers(&exact(text)).concat().contains("contraction"));
}

#[test]
fn results_are_written_transposed() {
    for permutation in ["1,0", "0,1"] {
        let shape = if permutation == "1,0" { "70,50" } else { "50,70" };
        contracts(&format!(
            "fusion {{
  x = f32[30,50] parameter(0)
  y = f32[30,70] parameter(1)
  bias = f32[{shape}] parameter(2)
  d = f32[50,70] dot(x, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  n = f32[50,70] negate(d)
  t = f32[{shape}] transpose(n), dimensions={{{permutation}}}
  ROOT a = f32[{shape}] add(t, bias)
}}
"
        ));
    }
    // Exchanges heads and rows.
    contracts(
        "fusion {
  x = f32[4,30,20] parameter(0)
  y = f32[4,20,16] parameter(1)
  d = f32[4,30,16] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  t = f32[30,4,16] transpose(d), dimensions={1,0,2}
  ROOT r = f32[30,64] reshape(t)
}
",
    );
}
