//! Runs programs for GPUs on the software driver, through the command line, and compares the
//! results with the interpreter's.

use std::os::unix::fs::symlink;
use std::path::Path;

use fusebox_conformance::fusions;
use fusebox_core::hlo::Literal;

use crate::gpu_counts::CONTROL;
use crate::program::{Ran, Workplace};

/// Makes the software driver the library that a program finds as NVIDIA's driver.
fn install(place: &Workplace) {
    let program = Path::new(env!("CARGO_BIN_EXE_fusebox"));
    let library = program.with_file_name("deps").join("libsoftware_cuda.so");
    symlink(library, place.path("libcuda.so.1")).unwrap();
}

/// Runs the program with the software driver, which has one device of a kind.
fn run(place: &Workplace, device: &str, arguments: &[&str], more: &[(&str, &str)]) -> Ran {
    let folder = place.folder().to_str().unwrap().to_string();
    let mut variables = vec![("LD_LIBRARY_PATH", folder.as_str()), ("SOFTWARE_CUDA_DEVICE", device)];
    variables.extend(more);
    place.run_with_environment(arguments, &variables)
}

/// Compares the results of a module on devices of several kinds with those of the interpreter.
fn check(text: &str, targets: &[(&str, &str)], arguments: &[&str]) {
    let place = Workplace::with_module(text);
    install(&place);
    for (device, target) in targets {
        let arguments = [&["run", "m.hlo", "--check", "--target", target], arguments].concat();
        let ran = run(&place, device, &arguments, &[]);
        assert!(!ran.err.contains("software-cuda:"), "{}", ran.err);
        ran.succeeded();
    }
}

const TARGETS: [(&str, &str); 5] =
    [("sm_90", "cuda"), ("sm_80", "sm_80"), ("sm_90", "sm_90"), ("sm_90", "sm_90a"), ("sm_100", "sm_100")];

#[test]
fn elementwise_kernels() {
    check(
        "HloModule m
ENTRY main {
  a = f32[3,333] parameter(0)
  b = bf16[3,333] parameter(1)
  c = f32[3,333] convert(b)
  t = f32[3,333] tanh(a)
  e = f32[3,333] exponential(c)
  ROOT r = f32[3,333] divide(t, e)
}
",
        &TARGETS,
        &[],
    );
}

#[test]
fn reductions_transpositions_and_products() {
    check(
        "HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY main {
  a = f32[70,50] parameter(0)
  b = f32[50,40] parameter(1)
  t = f32[50,70] transpose(a), dimensions={1,0}
  z = f32[] constant(0)
  s = f32[50] reduce(t, z), dimensions={1}, to_apply=add
  c = f32[70] reduce(a, z), dimensions={1}, to_apply=add
  d = f32[70,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[50,70], f32[50], f32[70], f32[70,40]) tuple(t, s, c, d)
}
",
        &TARGETS,
        &[],
    );
}

/// Checks that the code states the instruction of each access, and its line in Python or in HLO
/// text.
#[test]
fn code_names_the_instructions() {
    let place = Workplace::with_module(
        "HloModule m
ENTRY main {
  a = f32[64,96] parameter(0)
  e = f32[64,96] exponential(a), metadata={op_name=\"exp\" source_file=\"model.py\" source_line=12}
  b = f32[64,96] parameter(1)
  s = f32[64,96] sine(b)
  ROOT r = (f32[64,96], f32[64,96]) tuple(e, s)
}
",
    );
    let ptx = place.run(&["compile", "m.hlo", "--target", "sm_90"]).succeeded();
    for file in ["\"HLO instruction %e, model.py\"", "\"HLO instruction %s, m.hlo\""] {
        assert!(ptx.contains(file), "{ptx}");
    }
    assert!(ptx.contains(" 12 0\n") && ptx.contains(" 6 0\n"), "{ptx}");
}

/// A loop of five to seven iterations. Its body is a sequence of kernels.
const LOOP: &str = "HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
body {
  p = (s32[], f32[32,64], f32[64,96], f32[96,64], f32[32], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[32,64] get-tuple-element(p), index=1
  v = f32[64,96] get-tuple-element(p), index=2
  w = f32[96,64] get-tuple-element(p), index=3
  y = f32[32] get-tuple-element(p), index=4
  n = s32[] get-tuple-element(p), index=5
  one = s32[] constant(1)
  j = s32[] add(i, one)
  d = f32[32,96] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[32,96] tanh(d)
  e = f32[32,64] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  u = f32[32,64] tanh(e)
  z = f32[] constant(0)
  s = f32[32] reduce(x, z), dimensions={1}, to_apply=add
  y2 = f32[32] add(y, s)
  ROOT r = (s32[], f32[32,64], f32[64,96], f32[96,64], f32[32], s32[]) tuple(j, u, v, w, y2, n)
}
condition {
  p = (s32[], f32[32,64], f32[64,96], f32[96,64], f32[32], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=5
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[32,64] parameter(0)
  v = f32[64,96] parameter(1)
  w = f32[96,64] parameter(2)
  y = f32[32] parameter(3)
  i = s32[] constant(0)
  given = s32[] parameter(4)
  least = s32[] constant(5)
  most = s32[] constant(7)
  n = s32[] clamp(least, given, most)
  p = (s32[], f32[32,64], f32[64,96], f32[96,64], f32[32], s32[]) tuple(i, x, v, w, y, n)
  ROOT r = (s32[], f32[32,64], f32[64,96], f32[96,64], f32[32], s32[]) while(p), condition=condition, body=body
}
";

#[test]
fn loops_with_and_without_graphs() {
    check(LOOP, &TARGETS[..1], &[]);
    check(LOOP, &TARGETS[..1], &["--no-graphs"]);
}

/// Six chains of kernels, which read the same parameter, and a kernel that reads their results.
const CHAINS: &str = "HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY main {
  x = f32[64,96] parameter(0)
  z = f32[] constant(0)
  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  e = f32[96,96] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  f = f32[64] reduce(x, z), dimensions={1}, to_apply=add
  g = f32[96] reduce(x, z), dimensions={0}, to_apply=add
  t = f32[96,64] transpose(x), dimensions={1,0}
  h = f32[64,64] dot(d, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  i = f32[64] reduce(h, z), dimensions={1}, to_apply=add
  j = f32[96] reduce(e, z), dimensions={1}, to_apply=add
  k = f32[96,96] dot(t, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[64], f32[96], f32[64], f32[96], f32[96,96], f32[96,64]) tuple(f, g, i, j, k, t)
}
";

#[test]
fn streams_change_no_result() {
    let place = Workplace::with_module(CHAINS);
    install(&place);
    let count = |streams: &str, graphs: &str, seed: &str| {
        let arguments = ["run", "m.hlo", "--check", "--target", "cuda", "--streams", streams, "--graphs", graphs];
        let variables = [("SOFTWARE_CUDA_SEED", seed), ("SOFTWARE_CUDA_CALLS", "calls.json")];
        let ran = run(&place, "sm_90", &arguments, &variables);
        assert!(!ran.err.contains("software-cuda:"), "{}", ran.err);
        ran.succeeded();
        calls(&place, "cuStreamWaitEvent")
    };
    assert_eq!(count("1", "never", "1"), 0);
    for seed in ["1", "2", "3"] {
        assert!(count("4", "never", seed) >= 6);
        assert_eq!(count("4", "always", seed), 0);
    }
    run(&place, "sm_90", &["run", "m.hlo", "--target", "cuda", "--streams", "0"], &[]).failed(2, &["--streams"]);
}

/// Returns the number of calls of a function of the driver, or of bytes.
fn calls(place: &Workplace, name: &str) -> u64 {
    let text = std::fs::read_to_string(place.path("calls.json")).unwrap();
    let line = text.lines().find(|line| line.contains(&format!("\"{name}\"")));
    line.map_or(0, |line| line.rsplit(':').next().unwrap().trim().trim_end_matches(',').parse().unwrap())
}

#[test]
fn a_loop_is_one_launch() {
    let place = Workplace::with_module(LOOP);
    install(&place);
    let count = |more: &[&str]| {
        let arguments = [&["run", "m.hlo", "--target", "cuda"], more].concat();
        run(&place, "sm_90", &arguments, &[("SOFTWARE_CUDA_CALLS", "calls.json")]).succeeded();
        (calls(&place, "cuLaunchKernel"), calls(&place, "cuGraphLaunch"))
    };
    let (single, no_graphs) = count(&["--no-graphs"]);
    let (direct, graphs) = count(&[]);
    assert_eq!(no_graphs, 0);
    // The loop is a graph at once, with its condition and its body.
    assert!(graphs == 1 && direct < single, "{direct} launches and {graphs} graphs instead of {single} launches");
}

/// Before CUDA 12.4, graphs have no loops. The host decides, and the body is a graph.
#[test]
fn a_loop_on_an_old_driver_waits_for_its_condition() {
    for text in [LOOP, CONTROL] {
        let place = Workplace::with_module(text);
        install(&place);
        let variables = [("SOFTWARE_CUDA_CALLS", "calls.json"), ("SOFTWARE_CUDA_VERSION", "12.3")];
        let arguments = ["run", "m.hlo", "--check", "--target", "cuda", "--graphs", "always"];
        let ran = run(&place, "sm_90", &arguments, &variables);
        assert!(!ran.err.contains("software-cuda:"), "{}", ran.err);
        ran.succeeded();
        assert_eq!(calls(&place, "cuGraphConditionalHandleCreate"), 0);
        assert!(calls(&place, "cuGraphLaunch") > 5);
    }
}

#[test]
fn only_arguments_and_results_are_copied_and_allocated() {
    let place = Workplace::with_module(
        "HloModule m\nENTRY main {\n  a = f32[1000] parameter(0)\n  b = bf16[3] parameter(1)\n  c = f32[1000] negate(a)\n  \
         d = bf16[3] negate(b)\n  ROOT r = (f32[1000], bf16[3]) tuple(c, d)\n}\n",
    );
    install(&place);
    let variables = [("SOFTWARE_CUDA_CALLS", "calls.json")];
    run(&place, "sm_90", &["run", "m.hlo", "--target", "cuda"], &variables).succeeded();
    let bytes = |name| calls(&place, &format!("bytes copied {name}"));
    assert_eq!([bytes("to devices"), bytes("to the host"), bytes("on devices")], [4006, 4006, 0]);
    // Sizes are multiples of 16 bytes.
    assert_eq!(calls(&place, "most bytes allocated"), 2 * (4000 + 16));
}

#[test]
fn random_interleavings_give_the_same_results() {
    for text in [LOOP, CONTROL] {
        let place = Workplace::with_module(text);
        install(&place);
        for (seed, graphs) in [("1", "never"), ("2", "repeated"), ("3", "always"), ("4", "always")] {
            let arguments = ["run", "m.hlo", "--check", "--target", "cuda", "--graphs", graphs];
            let ran = run(&place, "sm_90", &arguments, &[("SOFTWARE_CUDA_SEED", seed)]);
            assert!(!ran.err.contains("software-cuda:"), "{}", ran.err);
            ran.succeeded();
        }
    }
}

#[test]
fn a_device_with_too_little_memory_is_out_of_memory() {
    let place = Workplace::with_module(
        "HloModule m\nENTRY main {\n  a = f32[65536] parameter(0)\n  ROOT r = f32[65536] negate(a)\n}\n",
    );
    install(&place);
    let memory = |size| run(&place, "sm_90", &["run", "m.hlo", "--target", "cuda"], &[("SOFTWARE_CUDA_MEMORY", size)]);
    memory("1MiB").succeeded();
    memory("300KiB").failed(1, &["memory"]);
}

#[test]
fn code_for_a_newer_device_is_refused() {
    let place = Workplace::with_module("HloModule m\nENTRY main {\n  ROOT a = f32[4] parameter(0)\n}\n");
    install(&place);
    run(&place, "sm_80", &["run", "m.hlo", "--target", "sm_90"], &[]).failed(1, &["sm_90", "sm_80"]);
    run(&place, "sm_12", &["run", "m.hlo", "--target", "cuda"], &[]).failed(1, &["SOFTWARE_CUDA_DEVICE=sm_12"]);
}

/// Runs random fusions on devices of several kinds. `FUSEBOX_FUSIONS` sets their number, and
/// `FUSEBOX_FUSION_SEED` the first seed.
#[test]
fn random_fusions_on_devices_of_several_kinds() {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let first = number("FUSEBOX_FUSION_SEED", 1);
    let place = Workplace::new();
    install(&place);
    let mut failures = Vec::new();
    for (turn, seed) in (first..first + number("FUSEBOX_FUSIONS", 40)).enumerate() {
        let fusion = fusions::any(seed);
        place.write("m.hlo", format!("HloModule m\n{}", fusion.text()).as_bytes());
        let inputs = Literal::Tuple(fusion.inputs().map(Literal::Array).collect());
        fusebox_runtime::npz::write_outputs(&place.path("in.npz"), &inputs).unwrap();
        let (device, target) = TARGETS[turn % TARGETS.len()];
        let arguments = ["run", "m.hlo", "--check", "--target", target, "--inputs", "in.npz", "--graphs", "always"];
        let ran = run(&place, device, &arguments, &[("SOFTWARE_CUDA_SEED", "1")]);
        let text = ran.out + &ran.err;
        if ran.code != Some(0) || !text.contains("check: right") || text.contains("software-cuda:") {
            failures.push(format!("seed {seed} for {target}: {text}\n{}", fusion.text()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
