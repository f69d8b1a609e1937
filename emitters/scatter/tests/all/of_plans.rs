//! Checks that plans stay within the output and cover the output as their schedule requires. Also
//! checks that the emitters build kernels for the plans.

use fusebox_conformance::assertions::fusion;
use fusebox_conformance::{named, takers};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Verdict};
use fusebox_core::indexing::{Coverage, check_coverage};
use fusebox_emitter_scatter::emitters;

use crate::{planned, planned_by};

fn combiner(element: &str, op: &str) -> String {
    format!(
        "combine {{\n  p = {element}[] parameter(0)\n  q = {element}[] parameter(1)\n  ROOT r = {element}[] {op}(p, q)\n}}"
    )
}

/// Returns a fusion that updates rows of a `[rows, columns]` operand.
fn rows(element: &str, op: &str, [rows, columns, slices]: [i64; 3], attributes: &str) -> Fusion {
    fusion(&format!(
        "{}\nfused {{\n  x = {element}[{rows},{columns}] parameter(0)\n  i = s32[{slices}] parameter(1)\n  \
         u = {element}[{slices},{columns}] parameter(2)\n  ROOT s = {element}[{rows},{columns}] scatter(x, i, u), \
         update_window_dims={{1}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1{attributes}, \
         to_apply=combine\n}}\n",
        combiner(element, op)
    ))
}

/// Returns a fusion that updates single elements of a vector.
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
            planned(fusion, &device);
        }
    }
}

/// Checks that one thread applies each update. The map must have as many points as there are
/// updates.
#[test]
fn every_update_is_applied_by_one_thread() {
    for (fusion, updates) in [
        (rows("s32", "add", [50, 60, 71], ""), 60 * 71),
        (rows("s32", "add", [50, 60, 71], ", indices_are_sorted=true"), 60 * 71),
        (elements("s32", "add", [50, 4099], ", indices_are_sorted=true"), 4099),
    ] {
        for device in [small_gpu(), DeviceDescription::sm(90)] {
            let first = planned(&fusion, &device);
            let emitters = emitters();
            let emitter = takers(&emitters, &fusion, &device)[0];
            for configuration in std::iter::once(&first.configuration).chain(&first.alternatives) {
                let plan = emitter.plan(&fusion, &device, configuration).unwrap();
                let mut map = plan.outputs[0].maps[0].clone();
                // The operands determine the updated elements, so the test ignores them.
                map.runtime.clear();
                map.results.clear();
                assert_eq!(map.point_count(1 << 20), Some(updates), "{configuration:?}: {}", plan.outputs[0].maps[0]);
            }
        }
    }
}

/// Returns the name of the emitter that comes first. Also checks its plan.
fn chosen(fusion: &Fusion, device: &DeviceDescription) -> String {
    let name = takers(&emitters(), fusion, device)[0].descriptor().name;
    planned_by(&name, fusion, device);
    name
}

#[test]
fn the_order_of_updates_decides_the_schedule() {
    let gpu = DeviceDescription::sm(90);
    let large = |element, op| chosen(&rows(element, op, [10_000, 64, 10_000], ""), &gpu);
    assert_eq!(large("f32", "add"), "atomic-scatter");
    assert_eq!(large("s32", "add"), "atomic-scatter", "which is deterministic all the same");
    assert_eq!(large("c128", "multiply"), "gathered-scatter", "no atomic operation is that wide");
    assert_eq!(
        chosen(&rows("f32", "add", [100, 64, 100], ""), &gpu),
        "gathered-scatter",
        "keeping the order costs little"
    );
    assert_eq!(chosen(&rows("f32", "add", [100, 64, 100], ""), &DeviceDescription::cpu(2)), "slab-scatter");
    // One thread owns each element.
    let walks = elements("f32", "add", [10, 100], "");
    let plan = planned_by("owned-scatter", &walks, &gpu);
    let dims = &walks.output_shapes()[0].as_array().unwrap().dims;
    assert!(check_coverage(&plan.outputs[0].maps[0], dims, Coverage::ExactlyOnce).is_ok(), "{plan:?}");
}

#[test]
fn asked_to_keep_the_order_it_does() {
    let gpu = DeviceDescription::sm(90);
    let sums = rows("f32", "add", [10_000, 64, 10_000], "");
    let plan = planned_by("scatter-in-order", &sums, &gpu);
    assert_eq!(plan, planned_by("gathered-scatter", &sums, &gpu));
    assert_eq!((plan.shared_bytes, plan.launch.blocks), (10_240, 264), "two blocks for each core");
    let few = rows("f32", "add", [10, 6, 10], "");
    assert_eq!(planned_by("scatter-in-order", &few, &gpu), planned_by("owned-scatter", &few, &gpu));
}

#[test]
fn sorted_slices_are_combined_in_a_row_where_threads_are_plenty() {
    let slices = |count, attributes| {
        let fusion = rows("s32", "add", [1000, 64, count], attributes);
        let name = chosen(&fusion, &small_gpu());
        (name == "run-scatter").then(|| planned_by(&name, &fusion, &small_gpu()).configuration.0["slices"])
    };
    assert_eq!(slices(10_000, ", indices_are_sorted=true"), Some(32));
    assert_eq!(slices(8, ", indices_are_sorted=true"), None, "every thread is needed");
    assert_eq!(slices(10_000, ""), None);
    assert_eq!(slices(10_000, ", indices_are_sorted=true, unique_indices=true"), None);
}

#[test]
fn lanes_fill_an_access() {
    let lanes = |element, columns| {
        planned_by("atomic-scatter", &rows(element, "add", [9, columns, 50_000], ""), &small_gpu()).vector_lanes
    };
    assert_eq!(lanes("s32", 64), 4);
    assert_eq!(lanes("s8", 64), 16);
    assert_eq!(lanes("s64", 64), 2);
    assert_eq!(lanes("s32", 6), 2, "4 does not divide 6");
    assert_eq!(lanes("s32", 1), 1);
}

#[test]
fn blocks_of_one_thread_deal_what_is_best() {
    let notes = |fusion: &Fusion| planned(fusion, &DeviceDescription::cpu(2)).notes.concat();
    assert!(notes(&rows("f32", "add", [9, 9, 9], "")).contains("one block"));
    assert!(notes(&rows("f32", "add", [8192, 64, 65_536], "")).contains("own 32 positions of dimension 1"));
    assert!(notes(&elements("f32", "add", [65_536, 2_000_000], "")).contains("own 32768 positions of dimension 0"));
    assert!(
        notes(&elements("f32", "add", [65_536, 60_000], ", unique_indices=true"))
            .contains("each block applies its own slices")
    );
}

/// Checks a kernel that first computes each component of an index vector. If the slice of such a
/// vector belongs to another block, to skip the slice takes longer than to apply it. So one block
/// must apply all slices.
#[test]
fn slices_whose_indices_come_from_elsewhere_are_applied_by_one_block() {
    let pairs = |indices: &str, size: i64| {
        fusion(&format!(
            "{}\nfused {{\n  x = f32[{size},{size}] parameter(0)\n{indices}  ROOT s = f32[{size},{size}] scatter(x, i, u), \
             update_window_dims={{}}, inserted_window_dims={{0,1}}, scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=1, \
             to_apply=combine\n}}\n",
            combiner("f32", "add")
        ))
    };
    let in_memory = "  i = s32[900000,2] parameter(1)\n  u = f32[900000] parameter(2)\n";
    let elsewhere = "  a = s32[900000,1] parameter(1)\n  b = s32[900000,1] parameter(2)\n  \
                     i = s32[900000,2] concatenate(a, b), dimensions={1}\n  u = f32[900000] parameter(3)\n";
    let blocks = |indices, size| planned(&pairs(indices, size), &DeviceDescription::cpu(4)).launch.blocks;
    assert_eq!((blocks(in_memory, 500), blocks(elsewhere, 500)), (4, 1));
    // Combining takes longer if no cache holds the operand.
    assert_eq!(blocks(elsewhere, 8000), 4);
}

#[test]
fn impossible_knobs_are_errors() {
    let fusion = rows("f32", "maximum", [10_000, 64, 10_000], "");
    for (emitter, name, value) in
        [("atomic-scatter", "lanes", 3), ("run-scatter", "slices", 33), ("run-scatter", "slices", 0)]
    {
        let emitter = named(emitters(), emitter).unwrap();
        let error = emitter.plan(&fusion, &small_gpu(), &[(name, value)].into()).unwrap_err();
        assert!(error.message.contains(name), "{error}");
    }
}

#[test]
fn schedules_say_what_they_are_not_for() {
    let reason = |name: &str, fusion: &Fusion| match named(emitters(), name).unwrap().consider(fusion, &small_gpu()) {
        Verdict::Decline(decline) => decline.reason,
        _ => panic!("{name} accepts"),
    };
    let wide = elements("c128", "multiply", [100, 100], "");
    assert_eq!(reason("atomic-scatter", &wide), "no atomic operation combines these updates");
    assert_eq!(
        reason("run-scatter", &rows("f32", "subtract", [9, 9, 9], "")),
        "these updates cannot be combined with each other"
    );
    assert_eq!(reason("slab-scatter", &wide), "it requires blocks of one thread, as on the cpu");
    let windows = fusion(&format!(
        "{}\nfused {{\n  x = f32[40] parameter(0)\n  i = s32[9] parameter(1)\n  u = f32[9,4] parameter(2)\n  \
         ROOT s = f32[40] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{}}, \
         scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=combine\n}}\n",
        combiner("f32", "add")
    ));
    assert_eq!(reason("gathered-scatter", &windows), "slices may overlap without having the same index");
}

#[test]
fn other_fusions_are_declined() {
    let numbers =
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1";
    let parameters = "  x = f32[5,4] parameter(0)\n  i = s32[5] parameter(1)\n  u = f32[5,4] parameter(2)\n";
    let scatter = |operands: &str| format!("s = f32[5,4] scatter({operands}), {numbers}, to_apply=combine");
    for (body, reason) in [
        (format!("  n = f32[5,4] negate(x)\n  ROOT {}", scatter("n, i, u")), "no parameter"),
        (format!("  ROOT {}", scatter("x, i, x")), "another operation also reads the array"),
        (format!("  {}\n  ROOT n = f32[5,4] negate(s)", scatter("x, i, u")), "no scatter"),
        (format!("  {}\n  ROOT t = (f32[5,4], f32[5,4]) tuple(s, u)", scatter("x, i, u")), "several results"),
    ] {
        let fusion = fusion(&format!("{}\nfused {{\n{parameters}{body}\n}}\n", combiner("f32", "add")));
        for emitter in emitters().iter().filter(|emitter| emitter.descriptor().name != "slab-scatter") {
            let Verdict::Decline(decline) = emitter.consider(&fusion, &small_gpu()) else { panic!("accepted: {body}") };
            assert!(decline.reason.contains(reason), "{}", decline.reason);
        }
    }
}
