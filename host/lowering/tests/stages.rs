//! What the stages make of small kernels.
#![allow(clippy::panic, clippy::unwrap_used)]

mod jit;

use fusebox_lowering::{KernelSource, Stage, Target};
use jit::{contains_in_order, source, stages_of};

/// A kernel over 1024 elements: `body` computes `%r` from `%a`, `%i` and the thread `%t` of 128 in the block `%b` of 8.
fn kernel(body: &str, functions: &str) -> KernelSource {
    let text = format!(
        r#""func.func"() <{{function_type = (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>, sym_name = "k"}}> ({{
^bb0(%a: tensor<1024xf32>, %out: tensor<1024xf32>):
  %t = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %b = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %c128 = "arith.constant"() <{{value = 128 : index}}> : () -> index
  %base = "arith.muli"(%b, %c128) : (index, index) -> index
  %i = "arith.addi"(%base, %t) : (index, index) -> index
{body}
  %done = "tensor.insert"(%r, %out, %i) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "func.return"(%done) : (tensor<1024xf32>) -> ()
}}) {{fusebox.entry}} : () -> ()
{functions}"#
    );
    source("k", &text, &[4096, 4096], 1, 8, 128)
}

const EXP: &str = r#"
"func.func"() <{function_type = (tensor<1024xf32>, index) -> f32, sym_name = "k.exp", sym_visibility = "private"}> ({
^bb0(%a: tensor<1024xf32>, %i: index):
  %x = "tensor.extract"(%a, %i) : (tensor<1024xf32>, index) -> f32
  %r = "math.sqrt"(%x) : (f32) -> f32
  "func.return"(%r) : (f32) -> ()
}) : () -> ()"#;

const NVIDIA: Target = Target::Nvptx { capability: 90, ptx_version: None };

#[track_caller]
fn stage(kernel: &KernelSource, target: &Target, stage: Stage) -> String {
    stages_of(kernel, target).unwrap_or_else(|error| panic!("{error}")).1.get(stage).to_owned()
}

/// The functions that are defined in a text of LLVM IR.
fn bodies(text: &str) -> Vec<&str> {
    text.split("\ndefine ").skip(1).map(|function| function.split("\n}").next().unwrap_or_default()).collect()
}

#[test]
fn equal_calls_are_one_and_are_inlined() {
    let body = r#"%x = "xla_gpu.pure_call"(%a, %i) {callee = @k.exp} : (tensor<1024xf32>, index) -> f32
%y = "xla_gpu.pure_call"(%a, %i) {callee = @k.exp} : (tensor<1024xf32>, index) -> f32
%unused = "xla_gpu.pure_call"(%a, %t) {callee = @k.exp} : (tensor<1024xf32>, index) -> f32
%r = "arith.addf"(%x, %y) : (f32, f32) -> f32"#;
    let text = stage(&kernel(body, EXP), &Target::Cpu, Stage::MlirLowered);
    let entry = text.split("k.exp").next().unwrap();
    assert!(!entry.contains("pure_call"), "{text}");
    assert_eq!(entry.matches("math.sqrt").count(), 1, "{text}");
}

#[test]
fn a_loop_is_to_be_unrolled_only_if_its_turns_are_known() {
    let looped = |first: &str| {
        let body = format!(
            r#"%first = "arith.constant"() <{{value = 5 : index}}> : () -> index
%end = "arith.constant"() <{{value = 300 : index}}> : () -> index
%zero = "arith.constant"() <{{value = 0.0 : f32}}> : () -> f32
%r = "scf.for"(%{first}, %end, %c128, %zero) ({{
^bb1(%j: index, %sum: f32):
  %x = "tensor.extract"(%a, %j) : (tensor<1024xf32>, index) -> f32
  %next = "arith.addf"(%sum, %x) : (f32, f32) -> f32
  "scf.yield"(%next) : (f32) -> ()
}}) : (index, index, index, f32) -> f32"#
        );
        stage(&kernel(&body, ""), &NVIDIA, Stage::LlvmUnoptimized)
    };
    assert!(looped("first").contains("llvm.loop.unroll.full"), "three turns");
    assert!(!looped("t").contains("llvm.loop.unroll.full"), "two or three, by the thread");
}

#[test]
fn a_large_function_that_is_used_twice_stays_one() {
    let chain: String =
        (0..60).map(|n| format!("%v{} = \"arith.mulf\"(%v{n}, %x) : (f32, f32) -> f32\n", n + 1)).collect();
    let large = EXP
        .replace("%r = \"math.sqrt\"(%x) : (f32) -> f32", &format!("%v0 = \"math.sqrt\"(%x) : (f32) -> f32\n{chain}"));
    let large = large.replace("\"func.return\"(%r)", "\"func.return\"(%v60)");
    let body = r#"%x = "xla_gpu.pure_call"(%a, %i) {callee = @k.exp} : (tensor<1024xf32>, index) -> f32
%y = "xla_gpu.pure_call"(%a, %t) {callee = @k.exp} : (tensor<1024xf32>, index) -> f32
%r = "arith.addf"(%x, %y) : (f32, f32) -> f32"#;
    let text = stage(&kernel(body, &large), &Target::Cpu, Stage::LlvmUnoptimized);
    assert_eq!(bodies(&text).len(), 3, "{text}");
    contains_in_order(&text, &["call float @k.exp", "call float @k.exp", "define internal float @k.exp("]);
}

#[test]
fn splitting_an_index_and_joining_it_again_costs_nothing() {
    let body = r#"%c32 = "arith.constant"() <{value = 32 : index}> : () -> index
%row = "arith.divui"(%i, %c32) : (index, index) -> index
%column = "arith.remui"(%i, %c32) : (index, index) -> index
%j = "xla_gpu.apply_indexing"(%row, %column) {map = "(d0, d1) -> (d0 * 32 + d1), domain: d0 in [0, 31], d1 in [0, 31]"} : (index, index) -> index
%r = "tensor.extract"(%a, %j) : (tensor<1024xf32>, index) -> f32"#;
    for target in [&Target::Cpu, &NVIDIA] {
        let text = stage(&kernel(body, ""), target, Stage::LlvmUnoptimized);
        assert!(!text.contains("udiv") && !text.contains("urem") && !text.contains("sdiv"), "{text}");
    }
}

#[test]
fn gpus_compute_indices_in_32_bits() {
    let body = r#"%c7 = "arith.constant"() <{value = 7 : index}> : () -> index
%j = "arith.divui"(%i, %c7) : (index, index) -> index
%r = "tensor.extract"(%a, %j) : (tensor<1024xf32>, index) -> f32"#;
    let kernel = kernel(body, "");
    contains_in_order(
        &stage(&kernel, &NVIDIA, Stage::LlvmUnoptimized),
        &["mul nsw i32", "add nsw i32", "udiv i32", "zext nneg i32"],
    );
    let text = stage(&kernel, &NVIDIA, Stage::Llvm);
    assert!(!text.contains("mul nuw nsw i64") && !text.contains("udiv i64"), "{text}");
    contains_in_order(&text, &["range(i32 0, 8) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x", "range(i32 0, 128) i32"]);
}

#[test]
fn comparisons_that_ranges_decide_are_gone() {
    let body = r#"%limit = "arith.constant"() <{value = 1024 : index}> : () -> index
%inside = "arith.cmpi"(%i, %limit) <{predicate = 2 : i64}> : (index, index) -> i1
%zero = "arith.constant"() <{value = 0.0 : f32}> : () -> f32
%r = "xla_gpu.predicated_extract"(%inside, %zero, %a, %i) : (i1, f32, tensor<1024xf32>, index) -> f32"#;
    let text = stage(&kernel(body, ""), &NVIDIA, Stage::LlvmUnoptimized);
    assert!(!text.contains("icmp") && !text.contains("br i1"), "{text}");
}

#[test]
fn buffers_are_described_and_flags_kept() {
    let body = r#"%x = "tensor.extract"(%a, %i) : (tensor<1024xf32>, index) -> f32
%y = "arith.addf"(%x, %x) <{fastmath = #arith.fastmath<reassoc,nsz>}> : (f32, f32) -> f32
%r = "arith.mulf"(%y, %x) : (f32, f32) -> f32"#;
    let text = stage(&kernel(body, ""), &NVIDIA, Stage::LlvmUnoptimized);
    contains_in_order(
        &text,
        &[
            "define ptx_kernel void @k(ptr addrspace(1)",
            "noalias",
            "readonly",
            "align 64",
            "dereferenceable(4096)",
            "load float, ptr addrspace(1)",
            "!invariant.load",
            "fadd reassoc nsz float",
            "fmul float",
        ],
    );
}

#[test]
fn a_constraint_that_only_needs_the_block_is_outside_the_loop() {
    let body = r#"%state = "xla_gpu.loop"(%b, %t, %out) ({
^bb0(%s: index, %at: index, %now: tensor<1024xf32>):
  %v = "tensor.extract"(%a, %at) : (tensor<1024xf32>, index) -> f32
  %next = "tensor.insert"(%v, %now, %at) : (f32, tensor<1024xf32>, index) -> tensor<1024xf32>
  "xla_gpu.yield"(%next) : (tensor<1024xf32>) -> ()
}) {map = "(bl, th)[s0] -> (bl * 128 + s0), domain: bl in [0, 7], th in [0, 127], s0 in [0, 127], bl * 2 + th in [0, 9], bl * 128 + s0 in [0, 999]"} : (index, index, tensor<1024xf32>) -> tensor<1024xf32>
%r = "tensor.extract"(%state, %i) : (tensor<1024xf32>, index) -> f32"#;
    let text = stage(&kernel(body, ""), &Target::Cpu, Stage::LlvmUnoptimized);
    // The check of block and thread, then the loop with the other constraint as its bound, and nothing inside.
    contains_in_order(
        &text,
        &["icmp sle i64", "br i1", "llvm.smin.i64", "phi i64", "icmp slt i64", "br i1", "load float", "store float"],
    );
    assert_eq!(bodies(&text)[0].matches("br i1").count(), 2, "{text}");
}
