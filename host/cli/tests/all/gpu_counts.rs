//! The calls, the copies and the memory of executions on a GPU in the steady state, counted by the
//! software driver.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use fusebox_core::hlo::ArrayLiteral;
use fusebox_runtime::{AllocationKind, Buffer, Executable, ExecuteOptions, ExecutionThread, LoadedExecutable, Options};

use crate::program::Workplace;

/// A block of a transformer as flax builds it, with 4 heads: normalisation, attention with a causal
/// mask, normalisation, two dense layers with `gelu` between them.
const BLOCK: &str = "HloModule block
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}
normalise {
  x = f32[16,32] parameter(0)
  scale = f32[32] parameter(1)
  shift = f32[32] parameter(2)
  zero = f32[] constant(0)
  sum = f32[16] reduce(x, zero), dimensions={1}, to_apply=add
  count = f32[] constant(32)
  counts = f32[16] broadcast(count), dimensions={}
  mean = f32[16] divide(sum, counts)
  means = f32[16,32] broadcast(mean), dimensions={0}
  centred = f32[16,32] subtract(x, means)
  squares = f32[16,32] multiply(centred, centred)
  squared = f32[16] reduce(squares, zero), dimensions={1}, to_apply=add
  variance = f32[16] divide(squared, counts)
  epsilon = f32[] constant(1e-6)
  epsilons = f32[16] broadcast(epsilon), dimensions={}
  above = f32[16] add(variance, epsilons)
  inverse = f32[16] rsqrt(above)
  inverses = f32[16,32] broadcast(inverse), dimensions={0}
  scaled = f32[16,32] multiply(centred, inverses)
  scales = f32[16,32] broadcast(scale), dimensions={1}
  weighted = f32[16,32] multiply(scaled, scales)
  shifts = f32[16,32] broadcast(shift), dimensions={1}
  ROOT r = f32[16,32] add(weighted, shifts)
}
ENTRY main {
  x = f32[16,32] parameter(0)
  scale = f32[32] parameter(1)
  shift = f32[32] parameter(2)
  wq = f32[32,4,8] parameter(3)
  wk = f32[32,4,8] parameter(4)
  wv = f32[32,4,8] parameter(5)
  wo = f32[4,8,32] parameter(6)
  w1 = f32[32,128] parameter(7)
  b1 = f32[128] parameter(8)
  w2 = f32[128,32] parameter(9)
  b2 = f32[32] parameter(10)
  n = f32[16,32] call(x, scale, shift), to_apply=normalise
  q = f32[16,4,8] dot(n, wq), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = f32[16,4,8] dot(n, wk), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  v = f32[16,4,8] dot(n, wv), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[4,16,16] dot(q, k), lhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={2}
  root = f32[] constant(0.35355339)
  roots = f32[4,16,16] broadcast(root), dimensions={}
  t = f32[4,16,16] multiply(s, roots)
  row = s32[4,16,16] iota(), iota_dimension=1
  column = s32[4,16,16] iota(), iota_dimension=2
  seen = pred[4,16,16] compare(row, column), direction=GE
  least = f32[] constant(-1e30)
  leasts = f32[4,16,16] broadcast(least), dimensions={}
  m = f32[4,16,16] select(seen, t, leasts)
  largest = f32[4,16] reduce(m, least), dimensions={2}, to_apply=max
  largests = f32[4,16,16] broadcast(largest), dimensions={0,1}
  below = f32[4,16,16] subtract(m, largests)
  e = f32[4,16,16] exponential(below)
  zero = f32[] constant(0)
  sum = f32[4,16] reduce(e, zero), dimensions={2}, to_apply=add
  sums = f32[4,16,16] broadcast(sum), dimensions={0,1}
  p = f32[4,16,16] divide(e, sums)
  a = f32[4,16,8] dot(p, v), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={0}
  o = f32[16,32] dot(a, wo), lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}
  y = f32[16,32] add(x, o)
  n2 = f32[16,32] call(y, scale, shift), to_apply=normalise
  h = f32[16,128] dot(n2, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b1s = f32[16,128] broadcast(b1), dimensions={1}
  hb = f32[16,128] add(h, b1s)
  half = f32[] constant(0.70710678)
  halves = f32[16,128] broadcast(half), dimensions={}
  scaled = f32[16,128] multiply(hb, halves)
  erf = f32[16,128] erf(scaled)
  one = f32[] constant(1)
  ones = f32[16,128] broadcast(one), dimensions={}
  above = f32[16,128] add(erf, ones)
  fifty = f32[] constant(0.5)
  fifties = f32[16,128] broadcast(fifty), dimensions={}
  hh = f32[16,128] multiply(hb, fifties)
  g = f32[16,128] multiply(hh, above)
  d = f32[16,32] dot(g, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b2s = f32[16,32] broadcast(b2), dimensions={1}
  db = f32[16,32] add(d, b2s)
  ROOT r = f32[16,32] add(y, db)
}
";

/// A loop around a branch: an iteration doubles or negates an array, then counts.
pub const CONTROL: &str = "HloModule control
doubled {
  p = f32[300] parameter(0)
  ROOT r = f32[300] add(p, p)
}
negated {
  p = f32[300] parameter(0)
  ROOT r = f32[300] negate(p)
}
body {
  p = (s32[], s32[], f32[300], f32[300]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  x = f32[300] get-tuple-element(p), index=2
  y = f32[300] get-tuple-element(p), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
  bit = s32[] and(i, one)
  even = pred[] compare(bit, one), direction=NE
  z = f32[300] conditional(even, x, x), true_computation=doubled, false_computation=negated
  w = f32[300] add(y, z)
  ROOT r = (s32[], s32[], f32[300], f32[300]) tuple(j, n, z, w)
}
condition {
  p = (s32[], s32[], f32[300], f32[300]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY main {
  given = s32[] parameter(0)
  x = f32[300] parameter(1)
  least = s32[] constant(5)
  most = s32[] constant(9)
  n = s32[] clamp(least, given, most)
  i = s32[] constant(0)
  p = (s32[], s32[], f32[300], f32[300]) tuple(i, n, x, x)
  q = (s32[], s32[], f32[300], f32[300]) while(p), condition=condition, body=body
  z = f32[300] get-tuple-element(q), index=2
  w = f32[300] get-tuple-element(q), index=3
  ROOT r = f32[300] subtract(w, z)
}
";

/// Executes the executable that a variable names, as often as another variable says, with arrays of
/// ones as inputs. Other tests count the calls.
#[test]
fn repeated_executions_on_a_gpu() {
    let Some(path) = std::env::var_os("FUSEBOX_COUNTED_EXECUTABLE") else { return };
    let times: usize = std::env::var("FUSEBOX_EXECUTIONS").unwrap().parse().unwrap();
    let executable = Executable::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let program = LoadedExecutable::open(executable, &Options::default()).unwrap();
    let ones = |shape: &fusebox_core::hlo::ArrayShape| {
        let bytes = shape.dims.iter().product::<i64>() as usize * 4;
        let data = [0u8, 0, 0x80, 0x3f].into_iter().cycle().take(bytes).collect::<Vec<u8>>();
        let literal = ArrayLiteral { element_type: shape.element_type, dims: shape.dims.clone(), data: data.into() };
        Buffer::from_literal(program.device(), &literal).unwrap()
    };
    let inputs: Vec<Buffer> = program.inputs().map(ones).collect();
    let arguments: Vec<&Buffer> = inputs.iter().collect();
    let options = ExecuteOptions { thread: ExecutionThread::Caller, ..ExecuteOptions::default() };
    for turn in 1..=times {
        let results = program.execute(&arguments, &options).unwrap();
        if turn == times {
            results.iter().for_each(|result| drop(result.to_literal().unwrap()));
        }
    }
}

/// Compiles a module for a GPU, and executes it a number of times on the software driver. Returns
/// the executable, and the numbers of calls and bytes.
fn executed(text: &str, times: usize) -> (Executable, BTreeMap<String, u64>) {
    let place = Workplace::with_module(text);
    place.run(&["compile", "m.hlo", "--target", "sm_90", "--emit", "executable", "-o", "m.exe"]).succeeded();
    let library = Path::new(env!("CARGO_BIN_EXE_fusebox")).with_file_name("deps").join("libsoftware_cuda.so");
    symlink(library, place.path("libcuda.so.1")).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "gpu_counts::repeated_executions_on_a_gpu"]).current_dir(place.folder());
    command.env("LD_LIBRARY_PATH", place.folder()).env("SOFTWARE_CUDA_CALLS", "calls.json");
    command.env("FUSEBOX_COUNTED_EXECUTABLE", "m.exe").env("FUSEBOX_EXECUTIONS", times.to_string());
    let output = command.output().unwrap();
    let messages = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && !messages.contains("software-cuda:"), "{messages}");
    let number = |line: &str| {
        let (name, number) = line.split_once(": ")?;
        Some((name.trim_matches([' ', '"']).to_string(), number.trim_end_matches(',').parse::<u64>().ok()?))
    };
    let calls = std::fs::read_to_string(place.path("calls.json")).unwrap().lines().filter_map(number).collect();
    (Executable::from_bytes(&std::fs::read(place.path("m.exe")).unwrap()).unwrap(), calls)
}

/// Returns the calls and bytes of one more execution in the steady state.
fn steady(text: &str) -> (Executable, BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let (executable, few) = executed(text, 5);
    let (_, many) = executed(text, 25);
    let more = |(name, number): (&String, &u64)| (name.clone(), number - few.get(name).unwrap_or(&0));
    let more: BTreeMap<String, u64> = many.iter().map(more).filter(|(_, number)| *number > 0).collect();
    (executable, more, many)
}

/// The launch of a graph, a wait for it, and a look at the thread's context, which costs no more
/// than a read of a variable. Nothing is allocated, copied or updated.
const STEADY: [(&str, u64); 3] = [("cuCtxGetCurrent", 20), ("cuGraphLaunch", 20), ("cuStreamSynchronize", 20)];

fn pairs(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    counts.iter().map(|(name, number)| (name.as_str(), *number)).collect()
}

#[test]
fn a_block_of_a_transformer_takes_three_calls() {
    let (executable, more, all) = steady(BLOCK);
    assert!(executable.thunks.len() > 6, "{:?}", executable.thunks);
    assert_eq!(pairs(&more), STEADY);
    // Copied are the inputs, the constants and the results, once.
    let bytes = |is: &dyn Fn(&AllocationKind) -> bool| {
        executable.allocations.iter().filter(|it| is(&it.kind)).map(|it| it.bytes).sum::<u64>()
    };
    let given = bytes(&|kind| matches!(kind, AllocationKind::Parameter | AllocationKind::Constant(_)));
    assert_eq!(all.get("bytes copied to devices"), Some(&given));
    assert_eq!(all.get("bytes copied to the host"), Some(&(16 * 32 * 4)));
    // The memory is that of the buffer assignment. Each allocation is a multiple of 16 bytes.
    let assigned: u64 = executable.allocations.iter().map(|it| it.bytes.max(1).next_multiple_of(16)).sum();
    assert_eq!(all.get("most bytes allocated"), Some(&assigned));
}

#[test]
fn a_loop_with_a_branch_takes_three_calls() {
    let (_, mut more, all) = steady(CONTROL);
    // The loop copies its state on the device.
    more.remove("bytes copied on devices");
    assert_eq!(pairs(&more), STEADY);
    assert_eq!(all.get("bytes copied to the host"), Some(&(300 * 4)));
}

/// A loop of `COUNT` iterations, each of which computes the sines of an array.
const COUNTED: &str = "HloModule counted
body {
  p = (s32[], f32[300]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[300] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[300] sine(x)
  ROOT r = (s32[], f32[300]) tuple(j, y)
}
condition {
  p = (s32[], f32[300]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(COUNT)
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[300] parameter(0)
  i = s32[] constant(0)
  p = (s32[], f32[300]) tuple(i, x)
  q = (s32[], f32[300]) while(p), condition=condition, body=body
  ROOT y = f32[300] get-tuple-element(q), index=1
}
";

/// Returns how often the software driver launched each kernel during a run with checked results.
fn launches(text: &str, more: &[&str]) -> BTreeMap<String, u64> {
    let place = Workplace::with_module(text);
    let library = Path::new(env!("CARGO_BIN_EXE_fusebox")).with_file_name("deps").join("libsoftware_cuda.so");
    symlink(library, place.path("libcuda.so.1")).unwrap();
    let arguments = [&["run", "m.hlo", "--check", "--target", "cuda"], more].concat();
    let folder = place.folder().to_str().unwrap();
    let ran =
        place.run_with_environment(&arguments, &[("LD_LIBRARY_PATH", folder), ("SOFTWARE_CUDA_COUNTS", "counts.json")]);
    assert!(!ran.err.contains("software-cuda:"), "{}", ran.err);
    ran.succeeded();
    let counts: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path("counts.json")).unwrap()).unwrap();
    let counts = counts.as_object().unwrap().iter();
    counts.map(|(name, counts)| (name.clone(), counts["launches"].as_u64().unwrap())).collect()
}

/// A loop with a known number of iterations does not compute its condition in each of them.
#[test]
fn a_counted_loop_computes_no_condition() {
    let of = |count: &str, more: &[&str]| launches(&COUNTED.replace("COUNT", count), more).into_values().sum::<u64>();
    for more in [&[][..], &["--no-graphs"]] {
        // Each iteration computes the sines and counts, and nothing else.
        let (few, many) = (of("50", more), of("100", more));
        assert!(many - few <= 2 * 50, "{few} {many}");
    }
    // A long loop decides once before and once after every 32 iterations or more, by two kernels.
    let (few, many) = (of("1024", &[]), of("2048", &[]));
    assert!(many - few <= 2 * 1024 + 2 * 32, "{few} {many}");
}
