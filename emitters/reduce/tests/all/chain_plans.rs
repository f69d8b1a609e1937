//! Checks plans of chains of row reductions, for devices with many threads. Checks which emitters
//! accept them, that every element is written exactly once, and how much shared memory a block
//! needs.

use fusebox_conformance::{assertions, named};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Plan};
use fusebox_emitter_reduce::emitters;
use fusebox_prediction::predict;

use crate::planned_by;

const WARP: &str = "warp-normalise";
const BLOCK: &str = "block-normalise";

/// Returns a fusion with three results: the elements minus the maximum of their row, the sum of
/// these differences, and the maximum.
fn shifted(element: &str, rows: i64, length: i64) -> Fusion {
    let (wide, narrow) = (format!("{element}[{rows},{length}]"), format!("{element}[{rows}]"));
    let text = format!(
        "add {{ a = {element}[] parameter(0)\n b = {element}[] parameter(1)\n ROOT s = {element}[] add(a, b) }}
max {{ a = {element}[] parameter(0)\n b = {element}[] parameter(1)\n ROOT s = {element}[] maximum(a, b) }}
fusion {{
  x = {wide} parameter(0)
  zero = {element}[] constant(0)
  m = {narrow} reduce(x, zero), dimensions={{1}}, to_apply=max
  mb = {wide} broadcast(m), dimensions={{0}}
  d = {wide} subtract(x, mb)
  s = {narrow} reduce(d, zero), dimensions={{1}}, to_apply=add
  sb = {wide} broadcast(s), dimensions={{0}}
  e = {wide} divide(d, sb)
  ROOT t = ({wide}, {narrow}, {narrow}) tuple(e, s, m)
}}"
    );
    assertions::fusion(&text)
}

fn accepts(name: &str, fusion: &Fusion, device: &DeviceDescription) -> bool {
    named(emitters(), name).unwrap().consider(fusion, device).accepts()
}

/// Returns the predicted seconds of the emitter's plan, or infinity if the emitter declines.
fn predicted(name: &str, fusion: &Fusion, device: &DeviceDescription) -> f64 {
    if accepts(name, fusion, device) { predict(&plan(name, fusion), fusion, device).seconds } else { f64::INFINITY }
}

fn plan(name: &str, fusion: &Fusion) -> Plan {
    named(emitters(), name).unwrap().plan(fusion, &DeviceDescription::sm(90), &Configuration::default()).unwrap()
}

/// Checks that plans and all their alternatives cover the output and respect the device's limits.
#[test]
fn plans_cover() {
    let device = DeviceDescription::sm(90);
    let sizes = [(1, 2), (1000, 7), (5000, 8), (33, 33), (70, 64), (2050, 100), (7, 1027), (4096, 1024), (3, 100_000)];
    for (rows, length) in sizes {
        for element in ["f32", "bf16", "f64"] {
            let fusion = shifted(element, rows, length);
            let takers = [WARP, BLOCK].into_iter().filter(|name| accepts(name, &fusion, &device));
            let plans: Vec<Plan> = takers.map(|name| planned_by(name, &fusion, &device)).collect();
            assert!(plans.iter().any(|plan| !plan.alternatives.is_empty()), "{rows}x{length}");
            assert!(plans.iter().all(|plan| plan.launch.threads_per_block.is_multiple_of(device.warp_size)));
        }
    }
}

/// Returns `(threads per row, rows per block, elements per read, storage of elements)`.
fn numbers(plan: &Plan) -> [i64; 4] {
    ["threads", "rows", "vector", "keep"].map(|name| plan.configuration.0[name])
}

#[test]
fn forms_follow_the_rows() {
    let device = DeviceDescription::sm(90);
    let cases = [
        ("f32", 100_000, 16, WARP, [4, 32, 4, 2]),
        ("f32", 65_536, 512, WARP, [32, 4, 4, 2]),
        ("f32", 8, 512, BLOCK, [128, 1, 4, 2]),
        ("f32", 4096, 1000, BLOCK, [64, 2, 4, 2]),
        ("f32", 4096, 4096, BLOCK, [256, 1, 4, 2]),
        ("bf16", 4096, 4096, BLOCK, [256, 1, 8, 2]),
        ("f32", 4096, 32_768, BLOCK, [1024, 1, 4, 2]),
        ("f32", 4096, 50_257, BLOCK, [1024, 1, 1, 0]),
        ("f64", 200, 6000, BLOCK, [768, 1, 2, 2]),
    ];
    for (element, rows, length, emitter, wanted) in cases {
        let fusion = shifted(element, rows, length);
        let other = if emitter == WARP { BLOCK } else { WARP };
        let times = [emitter, other].map(|name| predicted(name, &fusion, &device));
        assert!(times[0] <= times[1] * 1.05, "{element} {rows}x{length}: {times:?}");
        assert_eq!(numbers(&plan(emitter, &fusion)), wanted, "{element} {rows}x{length}");
        assert!(!accepts(emitter, &fusion, &DeviceDescription::cpu(2)));
    }
}

/// Checks the size of shared memory. It holds one value per warp for each of the two reductions. It
/// holds elements only if a knob requests this.
#[test]
fn shared_memory_is_what_is_written_to_it() {
    let fusion = shifted("f32", 4096, 4096);
    let device = DeviceDescription::sm(90);
    let own = plan(BLOCK, &fusion);
    assert_eq!(own.shared_bytes, 2 * 8 * 4);
    let mut knobs = own.configuration;
    knobs.0.insert("keep".into(), 1);
    // `x` until the maximum is known, then `x - largest`.
    let shared = named(emitters(), BLOCK).unwrap().plan(&fusion, &device, &knobs).unwrap();
    assert_eq!(shared.shared_bytes, 2 * 8 * 4 + 2 * 4096 * 4);
    let wide = shifted("f32", 4096, 8192);
    knobs.0.insert("threads".into(), 512);
    let refused = named(emitters(), BLOCK).unwrap().plan(&wide, &device, &knobs).unwrap_err();
    assert!(refused.message.contains("knob keep is 1"), "{refused}");
    let wide = plan(BLOCK, &shifted("f32", 4096, 32_768));
    // With many warps: their partial results, then the result once per warp.
    assert_eq!(wide.shared_bytes, 2 * 2 * 32 * 4);
}
