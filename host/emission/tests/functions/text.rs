//! The text itself, for operations whose code has a shape of its own.

use crate::support::emit;

/// The block of the only function.
fn body(hlo: &str) -> String {
    let text = emit(hlo);
    let inner = text.split_once("({\n").and_then(|(_, rest)| rest.rsplit_once("\n})"));
    inner.map_or(text.clone(), |(inner, _)| inner.to_owned())
}

#[test]
fn a_pad_reads_only_inside() {
    let text = body(
        "fusion { p = f32[4] parameter(0)
           z = f32[] constant(1)
           ROOT r = f32[6] pad(p, z), padding=1_1 }",
    );
    assert_eq!(
        text,
        r#"^bb0(%0: tensor<4xf32>, %1: index):
  %2 = "xla_gpu.apply_indexing"(%1) {map = "(d0) -> (d0 - 1), domain: d0 in [0, 5]"} : (index) -> index
  %4 = "arith.constant"() {value = 0x3F800000 : f32} : () -> f32
  %5 = "arith.constant"() {value = 0 : index} : () -> index
  %6 = "arith.cmpi"(%2, %5) {predicate = 5 : i64} : (index, index) -> i1
  %7 = "arith.constant"() {value = 3 : index} : () -> index
  %8 = "arith.cmpi"(%2, %7) {predicate = 3 : i64} : (index, index) -> i1
  %9 = "arith.andi"(%6, %8) : (i1, i1) -> i1
  %10 = "scf.if"(%9) ({
    %3 = "tensor.extract"(%0, %2) : (tensor<4xf32>, index) -> f32 loc("r")
    "scf.yield"(%3) : (f32) -> ()
  }, {
    "scf.yield"(%4) : (f32) -> ()
  }) : (i1) -> f32
  "func.return"(%10) : (f32) -> ()"#
    );
}

#[test]
fn a_reduction_is_a_loop_that_may_be_regrouped() {
    let text = body(
        "add { x = f32[] parameter(0)
           y = f32[] parameter(1)
           ROOT s = f32[] add(x, y) }
         ENTRY fusion { p = f32[4,16] parameter(0)
           z = f32[] constant(0)
           ROOT r = f32[4] reduce(p, z), dimensions={1}, to_apply=add }",
    );
    assert_eq!(
        text,
        r#"^bb0(%0: tensor<4x16xf32>, %1: index):
  %5 = "arith.constant"() {value = 0x0 : f32} : () -> f32
  %7 = "xla_gpu.loop"(%5) ({
  ^bb0(%2: index, %3: f32):
    %4 = "tensor.extract"(%0, %1, %2) : (tensor<4x16xf32>, index, index) -> f32 loc("r")
    %6 = "arith.addf"(%3, %4) {fastmath = #arith.fastmath<reassoc>} : (f32, f32) -> f32
    "xla_gpu.yield"(%6) : (f32) -> ()
  }) {map = "()[s0] -> (), domain: s0 in [0, 15]", unroll = array<i64>} : (f32) -> f32
  "func.return"(%7) : (f32) -> ()"#
    );
}

#[test]
fn a_start_is_clamped_in_its_own_type() {
    let text = body(
        "fusion { p = f32[20] parameter(0)
           i = s32[] parameter(1)
           ROOT r = f32[5] dynamic-slice(p, i), dynamic_slice_sizes={5} }",
    );
    assert_eq!(
        text,
        r#"^bb0(%0: tensor<20xf32>, %1: tensor<i32>, %2: index):
  %3 = "tensor.extract"(%1) : (tensor<i32>) -> i32 loc("i")
  %4 = "arith.constant"() {value = 0 : i32} : () -> i32
  %5 = "arith.maxsi"(%3, %4) : (i32, i32) -> i32
  %6 = "arith.constant"() {value = 15 : i32} : () -> i32
  %7 = "arith.minsi"(%5, %6) : (i32, i32) -> i32
  %8 = "arith.index_castui"(%7) : (i32) -> index
  %9 = "xla_gpu.apply_indexing"(%2, %8) {map = "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 4], rt0 in [0, 15]"} : (index, index) -> index
  %10 = "tensor.extract"(%0, %9) : (tensor<20xf32>, index) -> f32 loc("r")
  "func.return"(%10) : (f32) -> ()"#
    );
}

#[test]
fn narrow_floats_are_rounded_once_per_operation() {
    let text = body(
        "fusion { p = bf16[4] parameter(0)
           q = bf16[4] parameter(1)
           s = bf16[4] add(p, q)
           ROOT r = bf16[2,2] reshape(s) }",
    );
    assert_eq!(
        text,
        r#"^bb0(%0: tensor<4xbf16>, %1: tensor<4xbf16>, %2: index, %3: index):
  %4 = "xla_gpu.apply_indexing"(%2, %3) {map = "(d0, d1) -> (d0 * 2 + d1), domain: d0 in [0, 1], d1 in [0, 1]"} : (index, index) -> index
  %5 = "tensor.extract"(%0, %4) : (tensor<4xbf16>, index) -> bf16 loc("s")
  %6 = "tensor.extract"(%1, %4) : (tensor<4xbf16>, index) -> bf16 loc("s")
  %7 = "arith.extf"(%5) : (bf16) -> f32
  %8 = "arith.extf"(%6) : (bf16) -> f32
  %9 = "arith.addf"(%7, %8) : (f32, f32) -> f32
  %10 = "arith.truncf"(%9) : (f32) -> bf16
  "func.return"(%10) : (bf16) -> ()"#
    );
}

#[test]
fn a_concatenation_chooses_by_the_position() {
    let text = body(
        "fusion { p = f32[2] parameter(0)
           q = f32[3] parameter(1)
           ROOT r = f32[5] concatenate(p, q), dimensions={0} }",
    );
    assert_eq!(
        text,
        r#"^bb0(%0: tensor<2xf32>, %1: tensor<3xf32>, %2: index):
  %3 = "xla_gpu.apply_indexing"(%2) {map = "(d0) -> (d0 - 2), domain: d0 in [0, 4]"} : (index) -> index
  %6 = "arith.constant"() {value = 2 : index} : () -> index
  %7 = "arith.cmpi"(%2, %6) {predicate = 2 : i64} : (index, index) -> i1
  %8 = "scf.if"(%7) ({
    %4 = "tensor.extract"(%0, %2) : (tensor<2xf32>, index) -> f32 loc("r")
    "scf.yield"(%4) : (f32) -> ()
  }, {
    %5 = "tensor.extract"(%1, %3) : (tensor<3xf32>, index) -> f32 loc("r")
    "scf.yield"(%5) : (f32) -> ()
  }) : (i1) -> f32
  "func.return"(%8) : (f32) -> ()"#
    );
}

#[test]
fn a_static_size_is_a_constant() {
    let text = body(
        "fusion { p = f32[20,6] parameter(0)
           ROOT s = s32[] get-dimension-size(p), dimensions={1} }",
    );
    assert!(text.contains("value = 6 : i32"), "{text}");
}
