//! Plans of chains of row reductions for devices with many threads: who takes them, every element written exactly once, what a
//! block takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan, Verdict};
use fusebox_core::hlo::parse_module;
use fusebox_core::indexing::{Coverage, check_joint_coverage};
use fusebox_emitter_reduce::ThreadNormalise;

/// Elements less the largest of their row, their sum, and the largest.
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
    Fusion::new("k", parse_module(&text, "test.hlo").unwrap()).unwrap()
}

fn score(emitter: ThreadNormalise, fusion: &Fusion, device: &DeviceDescription) -> u32 {
    match emitter.consider(fusion, device) {
        Verdict::Accept { score } => score,
        Verdict::Decline(_) => 0,
    }
}

fn plan(emitter: ThreadNormalise, fusion: &Fusion) -> Plan {
    emitter.plan(fusion, &DeviceDescription::sm(90), &Configuration::default()).unwrap()
}

/// Whoever accepts covers, with all of its alternatives, and stays within the device.
#[test]
fn plans_cover() {
    let device = DeviceDescription::sm(90);
    let sizes = [(1, 2), (1000, 7), (5000, 8), (33, 33), (70, 64), (2050, 100), (7, 1027), (4096, 1024), (3, 100_000)];
    for (rows, length) in sizes {
        for element in ["f32", "bf16", "f64"] {
            let fusion = shifted(element, rows, length);
            let both = [ThreadNormalise::Warp, ThreadNormalise::Block];
            let takers = both.into_iter().filter(|emitter| score(*emitter, &fusion, &device) > 0);
            let mut plans = 0;
            for emitter in takers {
                let own = plan(emitter, &fusion);
                for knobs in std::iter::once(&own.configuration).chain(&own.alternatives) {
                    let plan = emitter.plan(&fusion, &device, knobs).unwrap();
                    assert_eq!(plan.configuration, *knobs);
                    for (output, shape) in plan.outputs.iter().zip(fusion.output_shapes()) {
                        let dims = &shape.as_array().unwrap().dims;
                        check_joint_coverage(&output.maps, dims, Coverage::ExactlyOnce)
                            .unwrap_or_else(|fault| panic!("{fault}: {rows}x{length} {knobs:?}"));
                    }
                    assert!(plan.launch.threads_per_block.is_multiple_of(device.warp_size));
                    assert!(plan.launch.threads_per_block <= device.max_threads_per_block);
                    assert!(plan.shared_bytes <= device.shared_bytes_per_block);
                    emitter.emit(&fusion, &device, &plan).unwrap();
                    plans += 1;
                }
            }
            assert!(plans > 1, "{rows}x{length}");
        }
    }
}

/// `(threads for a row, rows in a block, elements a read, where elements are kept)`
fn numbers(plan: &Plan) -> [i64; 4] {
    ["threads", "rows", "vector", "keep"].map(|name| plan.configuration.0[name])
}

#[test]
fn forms_follow_the_rows() {
    let device = DeviceDescription::sm(90);
    let cases = [
        ("f32", 100_000, 16, ThreadNormalise::Warp, [4, 32, 4, 2]),
        ("f32", 65_536, 512, ThreadNormalise::Warp, [32, 4, 4, 2]),
        ("f32", 8, 512, ThreadNormalise::Block, [128, 1, 4, 2]),
        ("f32", 4096, 1000, ThreadNormalise::Block, [64, 2, 4, 2]),
        ("f32", 4096, 4096, ThreadNormalise::Block, [256, 1, 4, 2]),
        ("bf16", 4096, 4096, ThreadNormalise::Block, [256, 1, 8, 2]),
        ("f32", 4096, 32_768, ThreadNormalise::Block, [1024, 1, 4, 2]),
        ("f32", 4096, 50_257, ThreadNormalise::Block, [1024, 1, 1, 0]),
        ("f64", 200, 6000, ThreadNormalise::Block, [768, 1, 2, 2]),
    ];
    for (element, rows, length, emitter, wanted) in cases {
        let fusion = shifted(element, rows, length);
        let other = if emitter == ThreadNormalise::Warp { ThreadNormalise::Block } else { ThreadNormalise::Warp };
        assert!(score(emitter, &fusion, &device) > score(other, &fusion, &device), "{element} {rows}x{length}");
        assert_eq!(numbers(&plan(emitter, &fusion)), wanted, "{element} {rows}x{length}");
        assert_eq!(score(emitter, &fusion, &DeviceDescription::cpu(2)), 0);
    }
}

/// A value per warp and reduction for the largest and for the sum; elements in shared memory only where asked for.
#[test]
fn shared_memory_is_what_is_written_to_it() {
    let fusion = shifted("f32", 4096, 4096);
    let device = DeviceDescription::sm(90);
    let own = plan(ThreadNormalise::Block, &fusion);
    assert_eq!(own.shared_bytes, 2 * 8 * 4);
    let mut knobs = own.configuration;
    knobs.0.insert("keep".into(), 1);
    // `x` until the largest is known, `x - largest` after it.
    let shared = ThreadNormalise::Block.plan(&fusion, &device, &knobs).unwrap();
    assert_eq!(shared.shared_bytes, 2 * 8 * 4 + 2 * 4096 * 4);
    let wide = shifted("f32", 4096, 8192);
    knobs.0.insert("threads".into(), 512);
    let refused = ThreadNormalise::Block.plan(&wide, &device, &knobs).unwrap_err();
    assert!(refused.message.contains("knob keep is 1"), "{refused}");
    let wide = plan(ThreadNormalise::Block, &shifted("f32", 4096, 32_768));
    // More than a few warps: their parts, then the result for each of them.
    assert_eq!(wide.shared_bytes, 2 * 2 * 32 * 4);
}
