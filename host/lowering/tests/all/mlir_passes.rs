//! Runs MLIR's passes between stages. They must know the effects of the operations of `xla_gpu`.
//! The kernel that they produce must be verified.

use fusebox_core::ir::{Effect, OpKind};
use fusebox_lowering::{LoweringError, MlirPasses, Stage, Target, check_with_mlir, lower, read_kernel};

/// A kernel with two equal calls and an unused call. Its loop adds an element that does not change
/// in the loop.
const KERNEL: &str = r#"
"func.func"() ({
^bb0(%0: tensor<8xf32>, %1: tensor<8xf32>):
  %2 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "xla_gpu.loop"(%2, %3, %1) ({
  ^bb0(%5: index, %6: index, %7: tensor<8xf32>):
    %8 = "xla_gpu.pure_call"(%0, %5) {callee = @k.value} : (tensor<8xf32>, index) -> f32
    %9 = "xla_gpu.pure_call"(%0, %5) {callee = @k.value} : (tensor<8xf32>, index) -> f32
    %10 = "xla_gpu.pure_call"(%0, %2) {callee = @k.value} : (tensor<8xf32>, index) -> f32
    %11 = "arith.addf"(%8, %9) : (f32, f32) -> f32
    %12 = "tensor.insert"(%11, %7, %5) : (f32, tensor<8xf32>, index) -> tensor<8xf32>
    "xla_gpu.yield"(%12) : (tensor<8xf32>) -> ()
  }) {map = "(th, bl)[i] -> (i), domain: th in [0, 0], bl in [0, 0], i in [0, 7]", unroll = array<i64>} : (index, index, tensor<8xf32>) -> tensor<8xf32>
  "func.return"(%4) : (tensor<8xf32>) -> ()
}) {sym_name = "k", function_type = (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>, fusebox.entry} : () -> ()
"func.func"() ({
^bb0(%0: tensor<8xf32>, %1: index):
  %2 = "tensor.extract"(%0, %1) : (tensor<8xf32>, index) -> f32 loc("read")
  "func.return"(%2) : (f32) -> ()
}) {sym_name = "k.value", function_type = (tensor<8xf32>, index) -> f32, sym_visibility = "private"} : () -> ()
"#;

/// Runs passes at the first stage of the kernel, and returns the kernel.
fn after(pipeline: &str) -> Result<String, LoweringError> {
    let passes = MlirPasses::parse(&format!("kernel=builtin.module({pipeline})"))?;
    let kernel = read_kernel("k", KERNEL, None)?;
    lower(&kernel, &Target::cpu(), Stage::Kernel, Stage::Kernel, &[passes])
}

fn calls(text: &str) -> usize {
    text.matches("xla_gpu.pure_call").count()
}

#[test]
fn passes_know_the_effects_of_operations() {
    assert_eq!(calls(&after("").unwrap()), 3);
    assert_eq!(calls(&after("cse").unwrap()), 1);
    assert_eq!(calls(&after("canonicalize").unwrap()), 2);
}

#[test]
fn the_inliner_replaces_pure_calls() {
    let text = after("inline,cse").unwrap();
    assert_eq!(calls(&text), 0, "{text}");
    assert!(text.contains(r#"loc("read")"#), "{text}");
}

#[test]
fn every_operation_of_xla_gpu_is_registered() {
    let found = |operation: &str, effect: Effect| {
        let end = if effect == Effect::Ends { "" } else { "\"func.return\"() : () -> ()" };
        let body = format!("\"{operation}\"() : () -> () {end}");
        let text = format!("\"func.func\"() ({{ {body} }}) {{sym_name = \"f\", function_type = () -> ()}} : () -> ()");
        check_with_mlir("f", &text).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(found("xla_gpu.of_no_kind", Effect::None).contains("unregistered operation"));
    for kind in OpKind::ALL.iter().filter(|kind| kind.name().starts_with("xla_gpu.")) {
        let found = found(kind.name(), kind.effect());
        assert!(!found.contains("unregistered operation"), "{found}");
    }
}

#[test]
fn verifiers_name_the_operation() {
    let text = KERNEL.replace(
        "{callee = @k.value} : (tensor<8xf32>, index) -> f32\n    %11",
        ": (tensor<8xf32>, index) -> f32\n    %11",
    );
    let error = check_with_mlir("k", &text).unwrap_err().to_string();
    assert!(error.contains("'xla_gpu.pure_call' op needs the symbol of a function, `callee`"), "{error}");
}

#[test]
fn a_pipeline_that_leaves_other_dialects_is_refused() {
    let passes = MlirPasses::parse("scalars=builtin.module(convert-scf-to-cf)").unwrap();
    let kernel = read_kernel("k", KERNEL, None).unwrap();
    let error = lower(&kernel, &Target::cpu(), Stage::Kernel, Stage::Scalars, &[passes]).unwrap_err().to_string();
    assert!(error.contains("after stage scalars") && error.contains("cf.br"), "{error}");
}

#[test]
fn unknown_stages_and_passes_are_errors() {
    let stage = MlirPasses::parse("llvm=builtin.module(cse)").unwrap_err().to_string();
    assert!(stage.contains("one of kernel, inlined, memory, loops, indices, scalars, not `llvm="), "{stage}");
    assert!(MlirPasses::parse("loops").unwrap_err().to_string().contains("not `loops`"));
    let pass = MlirPasses::parse("loops=builtin.module(csee)").unwrap_err().to_string();
    assert!(pass.contains("'csee' does not refer to a registered pass"), "{pass}");
    let kernel = read_kernel("k", KERNEL, None).unwrap();
    let unused = [MlirPasses::parse("loops=builtin.module(cse)").unwrap()];
    let error = lower(&kernel, &Target::cpu(), Stage::Kernel, Stage::Memory, &unused).unwrap_err().to_string();
    assert!(error.contains("after stage loops do not run from kernel to memory"), "{error}");
}
