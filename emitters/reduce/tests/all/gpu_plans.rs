//! Checks plans for devices with many threads: launches, the choice of the emitter, and whether
//! every element is written exactly once.

use fusebox_conformance::{assertions, takers};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Fusion;
use fusebox_emitter_reduce::emitters;

use crate::planned;

const COMPUTATIONS: &str = "
add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
add_s8 { a = s8[] parameter(0)\n b = s8[] parameter(1)\n ROOT s = s8[] add(a, b) }
add_f64 { a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT s = f64[] add(a, b) }
";

fn fusion(body: &str) -> Fusion {
    assertions::fusion(&format!("{COMPUTATIONS}\nfusion {{ {body} }}"))
}

/// Returns a fusion that sums over some dimensions.
fn sum(ty: &str, dims: &[i64], reduced: &[i64]) -> Fusion {
    let list = |dims: &[i64]| dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let kept: Vec<i64> = (0..dims.len()).filter(|d| !reduced.contains(&(*d as i64))).map(|d| dims[d]).collect();
    let add = if ty == "f32" { "add".to_owned() } else { format!("add_{ty}") };
    fusion(&format!(
        "x = {ty}[{}] parameter(0)\n z = {ty}[] constant(0)
         ROOT r = {ty}[{}] reduce(x, z), dimensions={{{}}}, to_apply={add}",
        list(dims),
        list(&kept),
        list(reduced)
    ))
}

/// Returns the name of the emitter that comes first.
fn chosen(fusion: &Fusion, device: &DeviceDescription) -> String {
    takers(&emitters(), fusion, device)[0].descriptor().name
}

#[test]
fn forms_follow_the_shape() {
    let device = DeviceDescription::sm(90);
    let cases: [(&[i64], &[i64], &str); 13] = [
        (&[4096, 4096], &[1], "row-reduce"),
        (&[8, 16, 4096], &[0, 2], "row-reduce"),
        (&[262_144, 32], &[1], "multi-row-reduce"),
        (&[1 << 20, 3], &[1], "multi-row-reduce"),
        (&[64, 1 << 16, 2], &[0, 2], "multi-row-reduce"),
        (&[1 << 24], &[0], "scalar-reduce"),
        (&[7, 9], &[0, 1], "scalar-reduce"),
        (&[4096, 4096], &[0], "column-reduce"),
        (&[64, 512, 256], &[1], "column-reduce"),
        (&[8, 100], &[0], "column-reduce"),
        (&[100, 256, 2], &[1], "small-column-reduce"),
        (&[100_000, 3], &[0], "small-column-reduce"),
        (&[100_000, 4, 4], &[1], "column-reduce"),
    ];
    for (dims, reduced, form) in cases {
        assert_eq!(chosen(&sum("f32", dims, reduced), &device), form, "{dims:?} {reduced:?}");
    }
}

#[test]
fn odd_sizes_are_covered() {
    let sizes = [1, 3, 32, 33, 100];
    let device = DeviceDescription::simt();
    for a in sizes {
        for b in sizes {
            planned(&sum("f32", &[a, b], &[1]), &device);
            planned(&sum("s8", &[a, b], &[0]), &device);
        }
        planned(&sum("f64", &[a, 3, 5, a], &[1, 3]), &device);
        planned(&sum("f32", &[a, 3, a, 4], &[0, 2]), &device);
        planned(&sum("f32", &[a, 40, 6], &[1]), &device);
    }
}

#[test]
fn plans_of_large_problems_are_proven() {
    let device = DeviceDescription::sm(90);
    let cases: [(&[i64], &[i64]); 7] = [
        (&[4096, 4096], &[1]),
        (&[262_144, 32], &[1]),
        (&[1 << 20, 3], &[1]),
        (&[1 << 24], &[0]),
        (&[4096, 4096], &[0]),
        (&[64, 512, 256], &[1]),
        (&[262_144, 32], &[0]),
    ];
    for (dims, reduced) in cases {
        let fusion = sum("f32", dims, reduced);
        planned(&fusion, &device);
    }
}
