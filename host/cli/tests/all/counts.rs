//! Checks `fusebox explain --counts`: what kernels execute on the software driver.

use std::path::Path;

use serde_json::Value;

use crate::program::{Ran, Workplace};

/// A kernel that adds neighbours, and a transposition.
const MODULE: &str = "HloModule m
ENTRY main {
  a = f32[128,256] parameter(0)
  b = f32[128,256] parameter(1)
  c = f32[128,256] add(a, b)
  t = f32[256,128] transpose(b), dimensions={1,0}
  ROOT r = (f32[128,256], f32[256,128]) tuple(c, t)
}
";

fn driver() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_fusebox"));
    program.with_file_name("deps").join("libsoftware_cuda.so").to_str().unwrap().to_owned()
}

/// Counts with the driver that `--driver` names.
fn explain(place: &Workplace, arguments: &[&str]) -> Ran {
    let driver = driver();
    place.run(&[&["explain", "m.hlo", "--counts", "--driver", &driver], arguments].concat())
}

fn counted(place: &Workplace, arguments: &[&str]) -> Vec<Value> {
    let text = explain(place, &[arguments, &["--json"]].concat()).succeeded();
    serde_json::from_str(&text).unwrap()
}

/// The sectors that the loop emitter's addition touches are those of its arrays. The rows of the
/// transposition that the loop emitter builds are read across.
#[test]
fn sectors_stand_beside_the_least_number() {
    let place = Workplace::with_module(MODULE);
    let rows = counted(&place, &["--target", "sm_90", "--emitter", "transpose=loop"]);
    let number = |row: &Value, kind: &str, field: &str| row[kind][field].as_u64().unwrap();
    let bytes = 128 * 256 * 4;
    let sums = |kind: &str, field: &str| rows.iter().map(|row| number(row, kind, field)).sum::<u64>();
    assert_eq!(sums("global_writes", "bytes"), 2 * bytes, "{rows:?}");
    assert_eq!(sums("global_writes", "perfect_sectors"), 2 * bytes / 32, "{rows:?}");
    assert!(sums("global_reads", "sectors") > 2 * sums("global_reads", "perfect_sectors"), "{rows:?}");
    for row in &rows {
        assert!(row["predicted_us"].as_f64().unwrap() > 0.0 && row["memory_us"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["bound"], "launch", "{row}");
        assert_eq!(row["launches"], 1, "{row}");
        let warps: u64 =
            row["instructions"].as_object().unwrap().values().map(|it| it["warps"].as_u64().unwrap()).sum();
        assert!(warps > number(row, "global_reads", "accesses"), "{row}");
    }
}

#[test]
fn the_emitter_of_transposes_reads_and_writes_along_rows() {
    let place = Workplace::with_module(MODULE);
    for target in ["cuda", "sm_80", "sm_90a"] {
        let text = explain(&place, &["--target", target]).succeeded();
        let line = text.lines().skip_while(|line| !line.contains("read sectors")).nth(1).unwrap();
        let ratios = line.split_whitespace().filter(|word| *word == "1.00").count();
        assert!(ratios >= 2, "{text}");
        assert!(text.contains("global loads") && text.contains("predicted us"), "{text}");
    }
}

#[test]
fn the_page_has_a_table_of_counts() {
    let place = Workplace::with_module(MODULE);
    explain(&place, &["--target", "sm_90", "--html", "page.html"]).succeeded();
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Counted in one launch") && page.contains("read sectors"), "{page}");
}

/// A loop launches its kernels several times. The tables show the mean of a launch.
#[test]
fn launches_of_a_loop_count_together() {
    let place = Workplace::with_module(
        "HloModule m
body {
  p = (s32[], f32[64], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[64] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[64] sine(x)
  ROOT r = (s32[], f32[64], s32[]) tuple(j, y, n)
}
condition {
  p = (s32[], f32[64], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=2
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[64] parameter(0)
  given = s32[] parameter(1)
  i = s32[] constant(0)
  least = s32[] constant(5)
  most = s32[] constant(7)
  n = s32[] clamp(least, given, most)
  p = (s32[], f32[64], s32[]) tuple(i, x, n)
  ROOT r = (s32[], f32[64], s32[]) while(p), condition=condition, body=body
}
",
    );
    let rows = counted(&place, &["--target", "sm_90"]);
    let launches = |row: &Value| row["launches"].as_u64().unwrap();
    let row = rows.iter().max_by_key(|row| row["global_writes"]["bytes"].as_u64()).unwrap();
    assert!((5..=7).contains(&launches(row)), "{row}");
    // A launch writes 64 numbers, and the counter of the iterations.
    assert_eq!(row["global_writes"]["sectors"].as_u64().unwrap(), 9 * launches(row), "{row}");
    let text = explain(&place, &["--target", "sm_90", "--fusion", row["fusion"].as_str().unwrap()]).succeeded();
    let written = text.lines().skip_while(|line| !line.contains("read sectors")).nth(1).unwrap();
    assert_eq!(written.split_whitespace().nth(3), Some("9"), "{text}");
}

#[test]
fn a_missing_driver_is_an_error_that_says_how_to_build_one() {
    let place = Workplace::with_module(MODULE);
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["explain", "m.hlo", "--counts"], arguments].concat();
        let none = [("FUSEBOX_CUDA_DRIVER", ""), ("LD_LIBRARY_PATH", "")];
        place.run_with_environment(&arguments, &[&none[..], variables].concat())
    };
    run(&["--target", "cuda"], &[]).failed(2, &["cargo build --release -p software-cuda", "--driver"]);
    run(&["--target", "cuda", "--driver", "absent.so"], &[]).failed(2, &["absent.so", "cargo build"]);
    run(&["--target", "cuda"], &[("FUSEBOX_CUDA_DRIVER", "absent.so")]).failed(2, &["absent.so"]);
    run(&[], &[]).failed(2, &["--target cuda or sm_NN, not cpu"]);
    run(&["--target", "cuda"], &[("FUSEBOX_CUDA_DRIVER", &driver())]).succeeded();
}
