//! Checks that no kernel spills registers. NVIDIA's assembler reports the spills. If
//! `FUSEBOX_CORPUS` names the corpus, the test also checks the modules of the corpus.

use std::path::{Path, PathBuf};

use crate::built;
use crate::program::Workplace;

/// Returns the path of the assembler if the assembler is installed.
fn assembler() -> Option<PathBuf> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/ptxas");
    let program = std::env::var_os("FUSEBOX_PTXAS").map_or(fetched, Into::into);
    if !program.exists() {
        eprintln!("skipped: no ptxas at {}", program.display());
        return None;
    }
    Some(program)
}

/// Compiles a module, also with the emitters of a library. Returns the report's entries for its
/// kernels.
fn assembled(place: &Workplace, assembler: &Path, module: &str, library: &str) -> Vec<serde_json::Value> {
    let environment = [("FUSEBOX_PTXAS", assembler.to_str().unwrap()), ("FUSEBOX_EMITTER_PATH", library)];
    let out = place.run_with_environment(&["explain", "--ptxas", "--json", module], &environment).succeeded();
    serde_json::from_str(&out).unwrap()
}

/// Returns the report's entries for those kernels of a module that spill.
fn spilling(place: &Workplace, assembler: &Path, module: &str) -> Vec<String> {
    let kernels = assembled(place, assembler, module, "");
    let spills = |kernel: &&serde_json::Value| kernel["spill_stores"] != 0 || kernel["spill_loads"] != 0;
    kernels.iter().filter(spills).map(|kernel| format!("{module}: {kernel}")).collect()
}

/// Returns a chain of values. Each value adds halves of neighbouring elements of the two previous
/// values. The kernel contains calls of functions, and these functions contain calls too.
fn shared_chain() -> String {
    let mut text = String::from(
        "HloModule chain
ENTRY main {
  a0 = f32[100] parameter(0)
  a1 = f32[100] sine(a0)
  zero = f32[] constant(0)
  half = f32[] constant(0.5)
  halves = f32[100] broadcast(half), dimensions={}
",
    );
    for step in 2..22 {
        let (old, new) = (step - 2, step - 1);
        text += &format!(
            "  l{step} = f32[99] slice(a{old}), slice={{[1:100]}}
  p{step} = f32[100] pad(l{step}, zero), padding=0_1
  x{step} = f32[100] multiply(p{step}, halves)
  r{step} = f32[99] slice(a{new}), slice={{[0:99]}}
  q{step} = f32[100] pad(r{step}, zero), padding=1_0
  y{step} = f32[100] multiply(q{step}, halves)
  a{step} = f32[100] add(x{step}, y{step})
"
        );
    }
    text + "  ROOT end = f32[100] add(a20, a21)\n}\n"
}

/// A program that resembles the gradient of a pooling with overlapping windows. But the combiner of
/// the scatter has more than one operation. The kernel has nested loops over windows, and each loop
/// contains branches.
const OVERLAPPING_WINDOWS: &str = "HloModule pooling
larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE
}
mean {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  half = f32[] constant(0.5)
  c = f32[] add(a, b)
  ROOT d = f32[] multiply(c, half)
}
ENTRY main {
  x = f32[2,9,7,2] parameter(0)
  y = f32[2,5,4,2] parameter(1)
  gradient = f32[2,5,4,2] cosine(y)
  lowest = f32[] constant(-inf)
  zero = f32[] constant(0)
  padded = f32[2,11,9,2] pad(x, lowest), padding=0_0x1_1x1_1x0_0
  all = f32[2,11,9,2] select-and-scatter(padded, gradient, zero), window={size=1x3x3x1 stride=1x2x2x1}, select=larger, scatter=mean
  ROOT inner = f32[2,9,7,2] slice(all), slice={[0:2], [1:10], [1:8], [0:2]}
}
";

/// Products with prologues and epilogues, for all types for which GPUs have special instructions.
const PRODUCTS: &str = "HloModule products
ENTRY main {
  x = f32[512,300] parameter(0)
  y = f32[300,1000] parameter(1)
  bias = f32[1000] parameter(2)
  u = bf16[700,256] parameter(3)
  v = bf16[256,640] parameter(4)
  s = s8[256,640] parameter(5)
  d = f32[512,1000] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[512,1000] broadcast(bias), dimensions={1}
  sum = f32[512,1000] add(d, b)
  activated = f32[512,1000] tanh(sum)
  e = f32[700,640] dot(u, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  w = bf16[256,640] convert(s)
  f = bf16[700,640] dot(u, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  row = bf16[1,256] slice(u), slice={[0:1], [0:256]}
  g = f32[1,640] dot(row, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT all = (f32[512,1000], f32[700,640], bf16[700,640], f32[1,640]) tuple(activated, e, f, g)
}
";

#[test]
fn kernels_do_not_spill() {
    let Some(assembler) = assembler() else { return };
    let place = Workplace::new();
    for module in [shared_chain(), OVERLAPPING_WINDOWS.into(), PRODUCTS.into()] {
        place.write("m.hlo", module.as_bytes());
        assert_eq!(spilling(&place, &assembler, "m.hlo"), [""; 0]);
    }
    let environment = [("FUSEBOX_PTXAS", assembler.to_str().unwrap())];
    let arguments = ["explain", "--ptxas", "--json", "--target", "sm_90a", "m.hlo"];
    let report = place.run_with_environment(&arguments, &environment).succeeded();
    let kernels: Vec<serde_json::Value> = serde_json::from_str(&report).unwrap();
    assert!(kernels.iter().any(|kernel| kernel["emitter"] == "wgmma-contraction"), "{report}");
    assert!(kernels.iter().all(|kernel| kernel["spill_stores"] == 0), "{report}");
    let Some(corpus) = std::env::var_os("FUSEBOX_CORPUS") else { return };
    let mut found = Vec::new();
    for file in std::fs::read_dir(corpus).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "hlo") {
            found.extend(spilling(&place, &assembler, path.to_str().unwrap()));
        }
    }
    assert_eq!(found, [""; 0]);
}

/// Checks queries, keys and values of 64 and of 256 elements. The number of registers that a thread
/// needs for a result grows with this size.
#[test]
fn a_strangers_kernel_with_many_registers_does_not_spill() {
    let Some(assembler) = assembler() else { return };
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/attention-emitter/modules/batch_head_query.hlo");
    let module = std::fs::read_to_string(path).unwrap();
    let library = built::attention().display().to_string();
    for size in [64, 256] {
        let place = Workplace::with_module(&module.replace("2,3,9,8]", &format!("2,3,9,{size}]")));
        for kernel in assembled(&place, &assembler, "m.hlo", &library) {
            assert_eq!(kernel["emitter"], "online-attention");
            assert!(kernel["spill_stores"] == 0 && kernel["spill_loads"] == 0, "{kernel}");
        }
    }
}

/// LLVM 22 converts a select around a 64-bit shift to PTX's shift, and keeps only 32 bits of the
/// shift amount. So `7 << (2^32 + 1)` was 14. A clamped amount has at most 32 bits.
#[test]
fn amounts_of_shifts_are_clamped_in_ptx() {
    for (ty, bits) in [("u64", 64), ("s64", 64), ("s32", 32), ("u32", 32)] {
        for op in ["shift-left", "shift-right-logical", "shift-right-arithmetic"] {
            let place = Workplace::with_module(&format!(
                "HloModule m\nENTRY e {{\n  x = {ty}[64] parameter(0)\n  y = {ty}[64] parameter(1)\n  ROOT s = {ty}[64] {op}(x, y)\n}}\n"
            ));
            let ptx = place.run(&["compile", "m.hlo", "--target", "sm_90", "--emit", "ptx"]).succeeded();
            let lines: Vec<&str> = ptx.lines().map(str::trim_start).collect();
            let (clamp, most) = (format!("min.u{bits}"), format!("{};", bits - 1));
            let clamped = lines.iter().position(|line| line.starts_with(&clamp) && line.ends_with(&most));
            let shift = lines.iter().rposition(|line| line.starts_with("shl.") || line.starts_with("shr."));
            assert!(clamped.is_some() && clamped < shift, "{op} of {ty}:\n{ptx}");
        }
    }
}
