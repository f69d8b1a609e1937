//! Checks `fusebox bench --profile`: the times of kernels, and the trace.

use crate::program::Workplace;
use serde_json::Value;

/// A program with a sum of rows and two loops. The first loop has thirty iterations, and its body
/// has a thunk that is not a kernel. The second loop contains only kernels.
const MODULE: &str = "HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
before {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=LT
}
goes_on {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(30)
  ROOT less = pred[] compare(i, most), direction=LT
}
turn {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  wave = f32[64] sine(v)
  sorted = f32[64] sort(wave), dimensions={0}, to_apply=before
  ROOT both = (s32[], f32[64]) tuple(next, sorted)
}
small_turn {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  half = f32[64] cosine(v)
  ROOT both = (s32[], f32[64]) tuple(next, half)
}
ENTRY main {
  x = f32[64,1024] parameter(0)
  zero = f32[] constant(0)
  sums = f32[64] reduce(x, zero), dimensions={1}, to_apply=add
  none = s32[] constant(0)
  before = (s32[], f32[64]) tuple(none, sums)
  ended = (s32[], f32[64]) while(before), condition=goes_on, body=turn
  v = f32[64] get-tuple-element(ended), index=1
  again = (s32[], f32[64]) tuple(none, v)
  small = (s32[], f32[64]) while(again), condition=goes_on, body=small_turn
  ROOT w = f32[64] get-tuple-element(small), index=1
}
";

#[test]
fn every_step_has_its_time_its_bytes_and_its_emitter() {
    let place = Workplace::with_module(MODULE);
    let out = place.run(&["bench", "m.hlo", "--json", "--profile", "trace.json"]).succeeded();
    let profile: Value = serde_json::from_str(&out).unwrap();
    let row = |name: &str| {
        let rows = profile["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"].as_str().unwrap().contains(name)).unwrap_or_else(|| panic!("{out}")).clone()
    };
    let sums = row("fused_sums");
    assert_eq!([&sums["times"], &sums["bytes"]], [1, 64 * 1024 * 4 + 64 * 4]);
    assert!(sums["by"].as_str().unwrap().contains("reduce"), "{sums}");
    assert_eq!(row("fused_wave")["times"], 30);
    let small = row("loop_small");
    assert_eq!(small["times"], 1);
    assert!(small["by"].as_str().unwrap().starts_with("loop of "), "{small}");
    for figure in ["us", "predicted_us", "of_roof"] {
        assert!(sums[figure].as_f64().unwrap() > 0.0, "{figure} of {sums}");
    }

    let trace: Value = serde_json::from_slice(&std::fs::read(place.path("trace.json")).unwrap()).unwrap();
    let events: Vec<&Value> = trace["traceEvents"].as_array().unwrap().iter().filter(|it| it["ph"] == "X").collect();
    assert_eq!(events.iter().filter(|it| it["name"] == row("fused_wave")["name"]).count(), 30);
    let ends = events.windows(2).map(|two| two[0]["ts"].as_f64().unwrap() + two[0]["dur"].as_f64().unwrap());
    ends.zip(&events[1..]).for_each(|(end, next)| assert!((next["ts"].as_f64().unwrap() - end).abs() < 1e-6));
}

/// Checks a loop of small products. On several cores, emitters split such a product into several
/// blocks. But a single core computes these products faster than it can distribute blocks to other
/// cores.
#[test]
fn a_loop_of_blocks_that_are_better_alone_is_one_step() {
    let place = Workplace::with_module(
        "HloModule m
goes_on { s = (s32[], f32[8,32], f32[8,32,32]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)
  ROOT p = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[8,32], f32[8,32,32]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8,32] get-tuple-element(s), index=1
  w = f32[8,32,32] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  outer = f32[8,32,32] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}
  more = f32[8,32,32] add(w, outer)
  y = f32[8,32] dot(x, more), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  z = f32[8,32] tanh(y)
  ROOT t = (s32[], f32[8,32], f32[8,32,32]) tuple(next, z, more) }
ENTRY main {
  x = f32[8,32] parameter(0)
  w = f32[8,32,32] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], f32[8,32], f32[8,32,32]) tuple(zero, x, w)
  ROOT l = (s32[], f32[8,32], f32[8,32,32]) while(s), condition=goes_on, body=turn
}
",
    );
    place.run(&["run", "m.hlo", "--check"]).succeeded();
    let profile = place.run(&["bench", "m.hlo", "--json", "--profile", "trace.json"]).succeeded();
    let profile: Value = serde_json::from_str(&profile).unwrap();
    let names = profile["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned());
    let kernels: Vec<String> = names.filter(|name| !name.starts_with("copy")).collect();
    assert_eq!(kernels.len(), 1, "{kernels:?}");
    assert!(kernels[0].starts_with("loop_"), "{kernels:?}");
}

#[test]
fn a_table_for_people_needs_no_file() {
    let place = Workplace::with_module(MODULE);
    let out = place.run(&["bench", "m.hlo", "--profile"]).succeeded();
    assert!(out.contains("of roof") && out.contains("bound by") && out.contains("fused_sums"), "{out}");
    place.run(&["bench", "m.hlo", "--profile", "m.hlo"]).failed(2, &["m.hlo"]);
}
