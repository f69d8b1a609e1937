//! Kernels for this machine, compiled and run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod jit;

use fusebox_lowering::{Stage, Target};
use jit::{Buffer, compile_and_run, contains_in_order, object, run, source, stages_of};

/// `a + b` of 1000 elements, 256 a block, by a subgraph function.
const ADD: &str = r#"
"func.func"() <{function_type = (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>, sym_name = "add"}> ({
^bb0(%a: tensor<1000xf32>, %b: tensor<1000xf32>, %out: tensor<1000xf32>):
  %block = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
  %result = "xla_gpu.loop"(%block, %out) ({
  ^bb1(%s: index, %i: index, %state: tensor<1000xf32>):
    %sum = "xla_gpu.pure_call"(%a, %b, %i) {callee = @add.sum} : (tensor<1000xf32>, tensor<1000xf32>, index) -> f32
    %next = "tensor.insert"(%sum, %state, %i) : (f32, tensor<1000xf32>, index) -> tensor<1000xf32>
    "xla_gpu.yield"(%next) : (tensor<1000xf32>) -> ()
  }) {map = "(d0)[s0] -> (d0 * 256 + s0), domain: d0 in [0, 3], s0 in [0, 255], d0 * 256 + s0 in [0, 999]"} : (index, tensor<1000xf32>) -> tensor<1000xf32>
  "func.return"(%result) : (tensor<1000xf32>) -> ()
}) {fusebox.entry} : () -> ()
"func.func"() <{function_type = (tensor<1000xf32>, tensor<1000xf32>, index) -> f32, sym_name = "add.sum", sym_visibility = "private"}> ({
^bb0(%a: tensor<1000xf32>, %b: tensor<1000xf32>, %i: index):
  %x = "tensor.extract"(%a, %i) : (tensor<1000xf32>, index) -> f32
  %y = "tensor.extract"(%b, %i) : (tensor<1000xf32>, index) -> f32
  %sum = "arith.addf"(%x, %y) : (f32, f32) -> f32
  "func.return"(%sum) : (f32) -> ()
}) : () -> ()
"#;

#[test]
fn a_loop_runs_in_any_split_of_its_blocks() {
    let kernel = source("add", ADD, &[4000; 3], 1, 4, 1);
    let (code, stages) = stages_of(&kernel, &Target::cpu()).unwrap_or_else(|error| panic!("{error}"));
    // The loop is vectorised, and nothing is called.
    contains_in_order(stages.get(Stage::Llvm), &["define void @add(", "x float>", "fadd <"]);
    let bytes = object(code);
    let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..1000).map(|i| 0.5 * i as f32).collect();
    let mut buffers = [Buffer::of(&a), Buffer::of(&b), Buffer::of(&[-1f32; 1000])];
    run(&bytes, "add", &mut buffers, 1, 3);
    let halfway: Vec<f32> = buffers[2].values();
    assert!((0..1000).all(|i| halfway[i] == if (256..768).contains(&i) { 1.5 * i as f32 } else { -1.0 }));
    run(&bytes, "add", &mut buffers, 0, 1);
    run(&bytes, "add", &mut buffers, 3, 4);
    assert_eq!(buffers[2].values::<f32>(), (0..1000).map(|i| 1.5 * i as f32).collect::<Vec<_>>());
}

#[test]
fn two_kernels_of_one_batch_and_two_batches_of_one_thread() {
    let first = source("add", ADD, &[4000; 3], 1, 4, 1);
    let second = source("again", &ADD.replace("\"add", "\"again").replace("@add", "@again"), &[4000; 3], 1, 4, 1);
    for _ in 0..2 {
        let code = jit::compile(&[first.clone(), second.clone()], &Target::cpu(), &mut fusebox_lowering::NoStages);
        let bytes = object(code.unwrap());
        for name in ["add", "again"] {
            let mut buffers = [Buffer::of(&[1f32; 1000]), Buffer::of(&[2f32; 1000]), Buffer::of(&[0f32; 1000])];
            run(&bytes, name, &mut buffers, 0, 4);
            assert_eq!(buffers[2].values::<f32>(), [3.0; 1000]);
        }
    }
    let mut buffers = [Buffer::of(&[1f32; 1000]), Buffer::of(&[2f32; 1000]), Buffer::of(&[0f32; 1000])];
    compile_and_run(&first, &mut buffers);
    assert_eq!(buffers[2].values::<f32>(), [3.0; 1000]);
}
