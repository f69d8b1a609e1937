//! Compiles kernels for this machine, and runs them.

use std::collections::BTreeSet;

use crate::jit::elementwise::kernel;
use crate::jit::{self, Buffer, Recorded, compile_and_run, contains_in_order, object, run, source, stages_of};
use fusebox_lowering::{Argument, Batch, Code, Composite, LoweringError, Stage, Step, Target};

/// A kernel that computes `a + b` for 1000 elements, 256 per block. A subgraph function computes
/// the sums.
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
    // The loop is vectorised and contains no calls.
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

/// Compiles a composite, which is one function that executes these steps. Only the composite calls
/// the kernels. Its buffer has 4 bytes, and its temporaries have 1 and 4 bytes.
fn composed(kernels: &[jit::KernelSource], steps: Vec<Step>) -> Result<(Code, Recorded), LoweringError> {
    composed_of(&[4], kernels, steps)
}

/// Compiles a composite like `composed`, but for buffers of these sizes in bytes. The temporaries
/// follow the buffers.
fn composed_of(
    bytes: &[u64],
    kernels: &[jit::KernelSource],
    steps: Vec<Step>,
) -> Result<(Code, Recorded), LoweringError> {
    let argument = |&bytes: &u64| Argument { bytes, alignment: 64, read_only: false, no_alias: true };
    let arguments = bytes.iter().map(argument).collect();
    let composite = Composite { name: "all".into(), arguments, own: vec![1, 4], steps };
    let inner: BTreeSet<String> = kernels.iter().map(|kernel| kernel.entry.clone()).collect();
    let kernels = jit::read(kernels)?;
    let batch = Batch { kernels: &kernels, composites: &[composite], inner: &inner };
    let mut stages = Recorded::default();
    fusebox_lowering::compile_batch(&batch, &Target::cpu(), &mut stages).map(|code| (code, stages))
}

fn call(kernel: &str, buffers: [usize; 2]) -> Step {
    Step::Kernel { kernel: kernel.into(), arguments: buffers.to_vec() }
}

/// Returns a kernel that adds `number`. The kernel also has `times` redundant pairs of operations.
fn adding(name: &str, number: i64, times: usize) -> jit::KernelSource {
    let constant = format!(r#"%c = "arith.constant"() <{{value = {number} : i32}}> : () -> i32"#);
    let add = |at: usize| {
        format!(
            "%x{} = \"arith.xori\"(%x{at}, %i{at}) : (i32, i32) -> i32\n%i{} = \"arith.addi\"(%i{at}, %x{at}) : (i32, i32) -> i32",
            at + 1,
            at + 1
        )
    };
    let more: Vec<String> = (0..times).map(add).collect();
    let start = r#"%i0 = "arith.addi"(%x0, %c) : (i32, i32) -> i32"#;
    let end = format!(
        r#"%z = "arith.xori"(%i{times}, %i{times}) : (i32, i32) -> i32
%y = "arith.addi"(%i0, %z) : (i32, i32) -> i32
%r = "arith.addi"(%y, %z) : (i32, i32) -> i32"#
    );
    kernel(name, &[("i32", 4)], ("i32", 4), 1, &format!("{constant}\n{start}\n{}\n{end}", more.join("\n")))
}

/// Returns a kernel that computes whether a number is below ten.
fn below() -> jit::KernelSource {
    let below = r#"%ten = "arith.constant"() <{value = 10 : i32}> : () -> i32
%less = "arith.cmpi"(%x0, %ten) <{predicate = 2 : i64}> : (i32, i32) -> i1
%r = "arith.extui"(%less) : (i1) -> i8"#;
    kernel("below", &[("i32", 4)], ("i8", 1), 1, below)
}

#[test]
fn a_loop_over_elements_becomes_vectors_at_the_end_of_a_turn_too() {
    let double = r#"%r = "arith.addi"(%x0, %x0) : (i32, i32) -> i32"#;
    let double = kernel("double", &[("i32", 512)], ("i32", 512), 128, double);
    let body =
        vec![call("one", [0, 4]), Step::Copy { from: 4, to: 0 }, Step::Copy { from: 2, to: 1 }, call("double", [1, 2])];
    let repeated = Step::While {
        name: "loop".into(),
        condition: vec![call("below", [0, 3])],
        predicate: 3,
        body,
        iterations: None,
    };
    let (code, stages) = composed_of(&[4, 512, 512], &[below(), adding("one", 1, 0), double], vec![repeated]).unwrap();
    let mut buffers = [Buffer::of(&[0i32]), Buffer::of(&[0i32; 128]), Buffer::of(&[1i32; 128])];
    run(&object(code), "all", &mut buffers, 0, 1);
    assert_eq!(buffers[2].values::<i32>(), [1024; 128]);
    let text = stages.get(Stage::Llvm);
    assert!(text.contains("x i32>") && !text.contains("shl i32"), "{text}");
}

#[test]
fn a_composite_loops_and_branches_without_calls_or_memory() {
    let kernels = [below(), adding("one", 1, 0), adding("two", 2, 0), adding("five", 5, 0)];
    let set = |kernel| vec![call(kernel, [0, 2]), Step::Copy { from: 2, to: 0 }];
    let body = vec![Step::Conditional {
        name: "choice".into(),
        index: 0,
        branches: vec![set("one"), set("two"), set("five")],
    }];
    let repeated = Step::While {
        name: "loop".into(),
        condition: vec![call("below", [0, 1])],
        predicate: 1,
        body,
        iterations: None,
    };
    let last = Step::Conditional { name: "choice".into(), index: 1, branches: vec![set("five"), set("one")] };
    let (code, stages) = composed(&kernels, vec![repeated, last]).unwrap();
    let mut buffers = [Buffer::of(&[0i32])];
    run(&object(code), "all", &mut buffers, 0, 1);
    // 0 + 1 + 2 + 5 + 5 is not below 10, so the last branch adds 1.
    assert_eq!(buffers[0].values::<i32>(), [14]);
    let text = stages.get(Stage::Llvm);
    let calls = text.lines().any(|line| line.contains("call ") && !line.contains("@llvm.sideeffect()"));
    assert!(!calls && !text.contains("alloca") && !text.contains("@one"), "{text}");
}

#[test]
fn a_composite_has_large_kernels_once() {
    let steps = |times| vec![Step::Kernel { kernel: "large".into(), arguments: vec![0, 2] }; times];
    let is_called = |operations, times| {
        let (_, stages) = composed(&[adding("large", 1, operations)], steps(times)).unwrap();
        stages.get(Stage::Llvm).contains("call void @large.body")
    };
    assert_eq!([is_called(300, 1), is_called(300, 2), is_called(10, 2)], [false, true, false]);
}

#[test]
fn a_composite_that_does_not_fit_its_kernels_is_refused() {
    let one = || adding("one", 1, 0);
    for (step, reason) in [
        (call("two", [0, 2]), "no kernel of a step's name"),
        (Step::Kernel { kernel: "one".into(), arguments: vec![0] }, "wrong number of buffers"),
        (call("one", [0, 3]), "a buffer that does not exist"),
        (Step::Copy { from: 1, to: 2 }, "different sizes"),
        (Step::Conditional { name: "choice".into(), index: 0, branches: Vec::new() }, "no branch"),
    ] {
        let Err(error) = composed(&[one()], vec![step]) else { panic!("compiled: {reason}") };
        assert!(error.to_string().contains(reason), "{error}");
    }
}
