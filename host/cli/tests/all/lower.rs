//! Checks `fusebox lower`. A kernel can enter lowering at any stage and leave it at any later
//! stage.

use crate::program::Workplace;

/// A program with one kernel. The kernel has narrow floats, a function of the math library and a
/// sum over a row. On GPUs, it also has shuffles.
const MODULE: &str = "HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY main { x = bf16[64,100] parameter(0)
  w = f32[64,100] convert(x)
  e = f32[64,100] exponential(w)
  zero = f32[] constant(0)
  s = f32[64] reduce(e, zero), dimensions={1}, to_apply=add
  ROOT t = f32[64] tanh(s) }
";

const STAGES: [&str; 6] = ["kernel", "inlined", "memory", "loops", "indices", "scalars"];

/// Returns the output of `lower` for a file.
fn lowered(place: &Workplace, file: &str, target: &str, from: &str, to: &str) -> String {
    place.run(&["lower", file, "--target", target, "--from", from, "--to", to]).succeeded()
}

/// Returns LLVM IR without source locations, and without the numbers of metadata, which they shift.
/// The locations of a kernel that is read from text are lines of this text.
fn without_locations(llvm: &str) -> Vec<String> {
    let without = |line: &str| {
        let (code, metadata) = line.split_once('!').unwrap_or((line, ""));
        let is_location = |part: &&str| part.starts_with("dbg ") || part.starts_with(|c: char| c.is_ascii_digit());
        let kept = metadata.split('!').filter(|part| !is_location(part));
        format!("{code}{}", kept.collect::<String>()).trim_end_matches([',', ' ']).to_owned()
    };
    llvm.lines().filter(|line| !line.starts_with('!')).map(without).collect()
}

#[test]
fn a_kernel_enters_at_every_stage() {
    let place = Workplace::with_module(MODULE);
    for target in ["cpu", "simt", "sm_90"] {
        let folder = format!("d-{target}");
        let llvm = place.run(&["compile", "m.hlo", "--target", target, "--dump-to", &folder, "--emit", "llvm"]);
        let llvm = llvm.succeeded();
        let emitted = place.run(&["compile", "m.hlo", "--target", target, "--emit", "mlir"]).succeeded();
        place.write("kernel.mlir", emitted.as_bytes());
        assert_eq!(std::fs::read_to_string(place.path(&format!("{folder}/06-emitted.fused_t.mlir"))).unwrap(), emitted);
        for (number, stage) in STAGES.into_iter().enumerate() {
            let dump = match number {
                0 => format!("{folder}/06-emitted.fused_t.mlir"),
                _ => format!("{folder}/07-lowered.{number}-{stage}0.mlir"),
            };
            let text = std::fs::read_to_string(place.path(&dump)).unwrap();
            let again = lowered(&place, &dump, target, stage, "llvm");
            assert_eq!(without_locations(&again), without_locations(&llvm), "{target}: from {stage}");
            assert_eq!(lowered(&place, &dump, target, stage, stage), text, "{target}: {stage} to itself");
            // Operations for several threads record a source location. It is a line of the emitter,
            // or a line of the text if the kernel was read from a text. Kernels for the cpu have no
            // such operations.
            if target == "cpu" {
                assert_eq!(lowered(&place, "kernel.mlir", target, "kernel", stage), text, "{target}: to {stage}");
            }
        }
    }
}

/// A dump after a stage contains all kernels of one compilation unit.
#[test]
fn one_kernel_of_several_is_taken_by_name() {
    let two = MODULE.replace(
        "ROOT t = f32[64] tanh(s)",
        "y = f32[64] sort(s), dimensions={0}, to_apply=less\n  ROOT t = f32[64] tanh(y)",
    );
    let less = "less { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT }\nENTRY";
    let place = Workplace::with_module(&two.replace("ENTRY", less));
    place.run(&["compile", "m.hlo", "--dump-to", "d", "--emit", "llvm"]).succeeded();
    for (number, stage) in [(1, "inlined"), (5, "scalars")] {
        let dump = format!("d/07-lowered.{number}-{stage}0.mlir");
        let all = std::fs::read_to_string(place.path(&dump)).unwrap();
        let lower = |kernel| place.run(&["lower", &dump, "--from", stage, "--to", stage, "--kernel", kernel]);
        assert_eq!(lower("fused_s").succeeded() + &lower("fused_t").succeeded(), all);
        lower("fused_u").failed(1, &["there is no kernel fused_u in it; there are: fused_s, fused_t"]);
    }
}

#[test]
fn text_comes_from_standard_input_too() {
    let place = Workplace::new();
    let text = "func.func @k(%out: tensor<4xf32>) -> tensor<4xf32> {
  %i = arith.constant 1 : index
  %x = arith.constant 2.0 : f32
  %done = tensor.insert %x into %out[%i] : tensor<4xf32>
  func.return %done : tensor<4xf32>
}";
    let out = place.run_with_input(&["lower", "-", "--to", "memory"], text).succeeded();
    assert!(out.contains("xla_gpu.store") && out.contains("fusebox.launch = array<i64: 1, 1>"), "{out}");
}

#[test]
fn stages_that_are_none_are_wrong_usage() {
    let place = Workplace::new();
    place.write("k.mlir", b"func.func @k() { func.return }");
    let run = |from, to| place.run(&["lower", "k.mlir", "--from", from, "--to", to]);
    run("nowhere", "llvm").failed(2, &["there is no stage `nowhere`", "kernel, inlined, memory, loops"]);
    run("kernel", "nowhere").failed(2, &["there is no stage `nowhere`"]);
    run("loops", "memory").failed(2, &["stage memory comes before loops"]);
    run("llvm", "asm").failed(2, &["stage llvm is not kernel IR and cannot be entered", "scalars"]);
    place.run(&["lower", "k.mlir", "--target", "nothing"]).failed(2, &["unknown target `nothing`"]);
}

#[test]
fn text_that_is_no_kernel_is_refused_at_its_place() {
    let place = Workplace::new();
    let refused = |text: &str, words: &[&str]| {
        place.write("k.mlir", text.as_bytes());
        place.run(&["lower", "k.mlir"]).failed(1, words);
    };
    refused("func.func @k() {\n  nonsense\n}", &["k.mlir:2:3", "nonsense"]);
    refused("func.func @k(%x: f32) {\n  %y = arith.addi %x, %x : f32\n  func.return\n}", &["k.mlir:2:"]);
    refused(
        "\"func.func\"() ({\n  \"foo.bar\"() : () -> ()\n}) {sym_name = \"k\", function_type = () -> ()} : () -> ()",
        &["k.mlir:2:3", "`foo.bar` is not part of the kernel IR"],
    );
    let pretty = "// A comment, and\n// another.\nfunc.func @k(%t: tensor<4xf32>, %i: index) -> index {\n  %n = tensor.dim %t, %i : tensor<4xf32>\n  func.return %n : index\n}";
    refused(pretty, &["k.mlir:4:8", "`tensor.dim` is not part of the kernel IR"]);
    refused("", &["k.mlir", "there is no function in it"]);
    let kernel = |name: &str| format!("func.func @{name}() attributes {{fusebox.entry}} {{ func.return }}\n");
    refused(&(kernel("one") + &kernel("two")), &["k.mlir", "it holds 2 kernels: one, two; choose one by --kernel"]);
    // A stage that refuses also names the location in the text.
    let step = "func.func @k(%n: index) {\n  scf.for %i = %n to %n step %n {\n  }\n  func.return\n}";
    place.write("k.mlir", step.as_bytes());
    place
        .run(&["lower", "k.mlir", "--from", "memory"])
        .failed(1, &["scf.for", "k.mlir:2:3", "not a positive constant"]);
}
