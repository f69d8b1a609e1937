//! Checks that plans write every element of every slice exactly once, and visit overlapping
//! elements only once.

use fusebox_conformance::assertions;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Verdict};
use fusebox_emitter_input_slices::emitters;

use crate::planned;

/// Returns a fusion of slices of `-p`. Each slice is a pair `(shape, ranges)`.
fn fusion(shape: &str, slices: &[(&str, &str)]) -> Fusion {
    let lines: Vec<String> = slices
        .iter()
        .enumerate()
        .map(|(i, (shape, ranges))| format!("s{i} = f32[{shape}] slice(n), slice={{{ranges}}}"))
        .collect();
    let names: Vec<String> = (0..slices.len()).map(|i| format!("s{i}")).collect();
    let shapes: Vec<String> = slices.iter().map(|(shape, _)| format!("f32[{shape}]")).collect();
    assertions::fusion(&format!(
        "HloModule m\nENTRY fused {{\np = f32[{shape}] parameter(0)\nn = f32[{shape}] negate(p)\n{}\nROOT t = ({}) tuple({})\n}}\n",
        lines.join("\n"),
        shapes.join(", "),
        names.join(", ")
    ))
}

#[test]
fn every_element_of_every_slice_is_written_once() {
    let fusions = [
        fusion("1000", &[("500", "[0:500]"), ("500", "[500:1000]")]),
        fusion("40,60", &[("30,60", "[0:30], [0:60]"), ("10,11", "[20:30], [7:18]"), ("40,1", "[0:40], [59:60]")]),
        fusion("40,60", &[("20,12", "[0:40:2], [0:60:5]"), ("20,60", "[1:40:2], [0:60]"), ("0,60", "[3:3], [0:60]")]),
        fusion("2048,4096", &[("2048,4000", "[0:2048], [96:4096]"), ("1,4096", "[100:101], [0:4096]")]),
    ];
    for device in [DeviceDescription::cpu(2), DeviceDescription { core_count: 1, ..DeviceDescription::sm(90) }] {
        fusions.iter().for_each(|fusion| _ = planned(fusion, &device));
    }
}

#[test]
fn what_overlaps_is_visited_together_and_nothing_else() {
    let notes = |slices: &[(&str, &str)]| planned(&fusion("1000", slices), &DeviceDescription::cpu(1)).notes.join("");
    assert_eq!(notes(&[("500", "[0:500]"), ("500", "[500:1000]")]), "2 slices in 2 loop nests");
    assert_eq!(notes(&[("500", "[0:500]"), ("500", "[499:999]")]), "2 slices in 1 loop nests");
    // The last slice overlaps both others.
    assert_eq!(notes(&[("10", "[0:10]"), ("10", "[90:100]"), ("90", "[5:95]")]), "3 slices in 1 loop nests");
}

#[test]
fn reasons_are_given() {
    let declined =
        |slices: &[(&str, &str)]| match emitters()[0].consider(&fusion("9", slices), &DeviceDescription::cpu(1)) {
            Verdict::Decline(decline) => decline.reason,
            _ => panic!("accepted"),
        };
    assert_eq!(declined(&[("3", "[0:3]")]), "only one result is a slice");
    assert_eq!(declined(&[]), "no result is a slice");
}
