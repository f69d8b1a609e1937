//! Plans stay within the output, cover what they own, and kernels come out of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan, Verdict, WriteMode};
use fusebox_core::hlo::parse_module;
use fusebox_core::indexing::{Coverage, check_coverage};
use fusebox_emitter_scatter::{Scatter, ScatterInOrder};

fn fusion(text: &str) -> Fusion {
    Fusion::new("kernel", parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}\n{text}", faults[0])))
        .unwrap()
}

fn combiner(element: &str, op: &str) -> String {
    format!(
        "combine {{\n  p = {element}[] parameter(0)\n  q = {element}[] parameter(1)\n  ROOT r = {element}[] {op}(p, q)\n}}"
    )
}

/// Rows of an `[rows, columns]` operand.
fn rows(element: &str, op: &str, [rows, columns, slices]: [i64; 3], attributes: &str) -> Fusion {
    fusion(&format!(
        "{}\nfused {{\n  x = {element}[{rows},{columns}] parameter(0)\n  i = s32[{slices}] parameter(1)\n  \
         u = {element}[{slices},{columns}] parameter(2)\n  ROOT s = {element}[{rows},{columns}] scatter(x, i, u), \
         update_window_dims={{1}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1{attributes}, \
         to_apply=combine\n}}\n",
        combiner(element, op)
    ))
}

/// Single elements of a vector.
fn elements(element: &str, op: &str, [size, slices]: [i64; 2], attributes: &str) -> Fusion {
    fusion(&format!(
        "{}\nfused {{\n  x = {element}[{size}] parameter(0)\n  i = s32[{slices}] parameter(1)\n  \
         u = {element}[{slices}] parameter(2)\n  ROOT s = {element}[{size}] scatter(x, i, u), update_window_dims={{}}, \
         inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1{attributes}, to_apply=combine\n}}\n",
        combiner(element, op)
    ))
}

fn small_gpu() -> DeviceDescription {
    DeviceDescription { core_count: 1, max_threads_per_core: 128, ..DeviceDescription::sm(90) }
}

/// The plan for a fusion and all its alternatives keep to the output; each gives a kernel.
fn check(fusion: &Fusion, device: &DeviceDescription) -> Plan {
    let first = Scatter.plan(fusion, device, &Configuration::default()).unwrap();
    let shapes = fusion.computation().instruction(fusion.roots[0]).shape.leaves();
    for configuration in std::iter::once(&first.configuration).chain(&first.alternatives) {
        let plan = Scatter.plan(fusion, device, configuration).unwrap();
        assert!(
            configuration.0.iter().all(|knob| plan.configuration.0.iter().any(|own| own == knob)),
            "{configuration:?}"
        );
        assert_eq!(shapes.len(), plan.outputs.len());
        for (number, (output, shape)) in plan.outputs.iter().zip(&shapes).enumerate() {
            let dims = &shape.as_array().unwrap().dims;
            let coverage = if output.mode == WriteMode::InPlace { Coverage::ExactlyOnce } else { Coverage::InBounds };
            check_coverage(&output.maps[0], dims, coverage)
                .unwrap_or_else(|e| panic!("{configuration:?}: {e}: {}", output.maps[0]));
            assert_eq!(output.initial, Some(number as u32));
            assert_eq!(output.maps[0].dims[1].bounds.upper + 1, plan.launch.blocks as i64);
            assert_eq!(output.maps[0].dims[0].bounds.upper + 1, i64::from(plan.launch.threads_per_block));
        }
        Scatter.emit(fusion, device, &plan).unwrap();
    }
    first
}

fn knob(plan: &Plan, name: &str) -> Option<i64> {
    plan.configuration.0.get(name).copied()
}

#[test]
fn every_device_and_configuration_gives_a_kernel() {
    let fusions = [
        rows("f32", "add", [50, 60, 70], ""),
        rows("bf16", "add", [50, 64, 70], ", indices_are_sorted=true"),
        rows("s8", "maximum", [50, 1, 700], ", unique_indices=true"),
        elements("f64", "multiply", [50, 5000], ""),
        elements("c128", "multiply", [50, 5000], ""),
        elements("u16", "subtract", [7, 10_000], ", indices_are_sorted=true"),
    ];
    for fusion in &fusions {
        for device in [small_gpu(), DeviceDescription::sm(80), DeviceDescription::cpu(1), DeviceDescription::cpu(5)] {
            check(fusion, &device);
        }
    }
}

/// Every update is some thread's: the points of the map are as many as the updates.
#[test]
fn every_update_is_applied_by_one_thread() {
    for (fusion, updates) in [
        (rows("s32", "add", [50, 60, 71], ""), 60 * 71),
        (rows("s32", "add", [50, 60, 71], ", indices_are_sorted=true"), 60 * 71),
        (elements("s32", "add", [50, 4099], ", indices_are_sorted=true"), 4099),
    ] {
        for device in [small_gpu(), DeviceDescription::sm(90)] {
            let first = check(&fusion, &device);
            for configuration in std::iter::once(&first.configuration).chain(&first.alternatives) {
                let plan = Scatter.plan(&fusion, &device, configuration).unwrap();
                let mut map = plan.outputs[0].maps[0].clone();
                // Where updates land is the program's business.
                map.runtime.clear();
                map.results.clear();
                assert_eq!(map.point_count(1 << 20), Some(updates), "{configuration:?}: {}", plan.outputs[0].maps[0]);
            }
        }
    }
}

#[test]
fn the_order_of_updates_decides_the_schedule() {
    let gpu = DeviceDescription::sm(90);
    let large = |element, op, attributes| check(&rows(element, op, [10_000, 64, 10_000], attributes), &gpu);
    assert_eq!(knob(&large("f32", "add", ""), "deterministic"), Some(0));
    assert_eq!(knob(&large("s32", "add", ""), "deterministic"), Some(0), "which is deterministic all the same");
    let small = check(&rows("f32", "add", [100, 64, 100], ""), &gpu);
    assert_eq!(knob(&small, "deterministic"), Some(1), "walking all slices costs little");
    let wide = check(&elements("c128", "multiply", [10_000, 100_000], ""), &gpu);
    assert_eq!(knob(&wide, "deterministic"), Some(1), "no atomic operation is that wide");
    let walks = elements("f32", "add", [10, 100], "");
    assert_eq!(check(&walks, &gpu).outputs[0].mode, WriteMode::InPlace, "each element is one thread's");
}

#[test]
fn asked_to_keep_the_order_it_does() {
    let gpu = DeviceDescription::sm(90);
    let default = Configuration::default();
    let sums = rows("f32", "add", [10_000, 64, 10_000], "");
    let plan = ScatterInOrder.plan(&sums, &gpu, &default).unwrap();
    assert_eq!((knob(&plan, "deterministic"), plan.shared_bytes), (Some(1), 10_240));
    assert_eq!(plan.launch.blocks, 264, "two for each core");
    assert!(plan.alternatives.is_empty(), "{:?}", plan.alternatives);
    let racing = Configuration([("deterministic".to_owned(), 0)].into());
    assert!(ScatterInOrder.plan(&sums, &gpu, &racing).is_err());
    let counts = ScatterInOrder.plan(&rows("s32", "add", [10_000, 64, 10_000], ""), &gpu, &default).unwrap();
    assert!(counts.notes.concat().contains("atomic"), "integers are summed in any order");
}

#[test]
fn sorted_slices_are_combined_in_a_row_where_threads_are_plenty() {
    let slices =
        |count, attributes| knob(&check(&rows("s32", "add", [1000, 64, count], attributes), &small_gpu()), "slices");
    assert_eq!(slices(10_000, ", indices_are_sorted=true"), Some(32));
    assert_eq!(slices(8, ", indices_are_sorted=true"), Some(1), "every thread is needed");
    assert_eq!(slices(10_000, ""), Some(1));
    assert_eq!(slices(10_000, ", indices_are_sorted=true, unique_indices=true"), Some(1));
}

#[test]
fn lanes_fill_an_access() {
    let lanes = |element, columns| check(&rows(element, "add", [9, columns, 50_000], ""), &small_gpu()).vector_lanes;
    assert_eq!(lanes("s32", 64), 4);
    assert_eq!(lanes("s8", 64), 16);
    assert_eq!(lanes("s64", 64), 2);
    assert_eq!(lanes("s32", 6), 2, "4 does not divide 6");
    assert_eq!(lanes("s32", 1), 1);
}

#[test]
fn blocks_of_one_thread_deal_what_is_best() {
    let notes = |fusion: &Fusion| check(fusion, &DeviceDescription::cpu(2)).notes.concat();
    assert!(notes(&rows("f32", "add", [9, 9, 9], "")).contains("one block"));
    assert!(notes(&rows("f32", "add", [8192, 64, 65_536], "")).contains("own 32 positions of dimension 1"));
    assert!(notes(&elements("f32", "add", [65_536, 2_000_000], "")).contains("own 32768 positions of dimension 0"));
    assert!(notes(&elements("f32", "add", [65_536, 60_000], ", unique_indices=true")).contains("slices of their own"));
}

#[test]
fn impossible_knobs_are_errors() {
    let fusion = rows("f32", "subtract", [10_000, 64, 10_000], "");
    for (name, value) in [("deterministic", 2), ("lanes", 3), ("slices", 4), ("slices", 0)] {
        let configuration = Configuration([("deterministic".to_owned(), 0), (name.to_owned(), value)].into());
        let error = Scatter.plan(&fusion, &small_gpu(), &configuration).unwrap_err();
        assert!(error.message.contains(name), "{error}");
    }
    let wide = elements("c128", "multiply", [100, 100], "");
    let racing = Configuration([("deterministic".to_owned(), 0)].into());
    assert!(Scatter.plan(&wide, &small_gpu(), &racing).unwrap_err().message.contains("deterministic"));
}

#[test]
fn other_fusions_are_declined() {
    let numbers =
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1";
    let parameters = "  x = f32[5,4] parameter(0)\n  i = s32[5] parameter(1)\n  u = f32[5,4] parameter(2)\n";
    let scatter = |operands: &str| format!("s = f32[5,4] scatter({operands}), {numbers}, to_apply=combine");
    for (body, reason) in [
        (format!("  n = f32[5,4] negate(x)\n  ROOT {}", scatter("n, i, u")), "no parameter"),
        (format!("  ROOT {}", scatter("x, i, x")), "read by another operation"),
        (format!("  {}\n  ROOT n = f32[5,4] negate(s)", scatter("x, i, u")), "no scatter"),
        (format!("  {}\n  ROOT t = (f32[5,4], f32[5,4]) tuple(s, u)", scatter("x, i, u")), "several results"),
    ] {
        let fusion = fusion(&format!("{}\nfused {{\n{parameters}{body}\n}}\n", combiner("f32", "add")));
        let Verdict::Decline(decline) = Scatter.consider(&fusion, &small_gpu()) else { panic!("accepted: {body}") };
        assert!(decline.reason.contains(reason), "{}", decline.reason);
    }
}
