//! Checks that plans write every element exactly once, for all sizes of operands and all values of
//! knobs.

use fusebox_conformance::assertions;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Verdict};
use fusebox_core::indexing::{Coverage, Proof, check_joint_coverage};
use fusebox_emitter_concatenate::emitters;

use crate::planned;

fn fusion(body: &str) -> Fusion {
    assertions::fusion(&format!("HloModule m\nENTRY fused {{\n{body}\n}}\n"))
}

/// Returns a concatenate of parameters. `extents` are the sizes of the parameters along the
/// concatenated dimension.
fn joined(outer: &[i64], extents: &[i64], inner: &[i64]) -> Fusion {
    let shape = |extent: i64| {
        let dims: Vec<String> = [outer, &[extent], inner].concat().iter().map(i64::to_string).collect();
        format!("f32[{}]", dims.join(","))
    };
    let lines: Vec<String> =
        extents.iter().enumerate().map(|(i, &extent)| format!("p{i} = {} parameter({i})", shape(extent))).collect();
    let names: Vec<String> = (0..extents.len()).map(|i| format!("p{i}")).collect();
    let (result, dimension) = (shape(extents.iter().sum()), outer.len());
    let (lines, names) = (lines.join("\n"), names.join(", "));
    fusion(&format!("{lines}\nROOT c = {result} concatenate({names}), dimensions={{{dimension}}}"))
}

fn devices() -> [DeviceDescription; 3] {
    [
        DeviceDescription::cpu(2),
        DeviceDescription { core_count: 1, ..DeviceDescription::sm(90) },
        DeviceDescription::sm(80),
    ]
}

#[test]
fn every_element_is_written_once() {
    for (outer, extents, inner) in [
        (&[][..], &[5, 700, 1][..], &[][..]),
        (&[4, 3], &[64, 640], &[]),
        (&[4, 3], &[1, 1, 1], &[]),
        (&[40], &[7, 9], &[5, 11]),
        (&[], &[3, 3], &[100, 3]),
        (&[1], &[4096, 8, 4096], &[]),
        (&[3000], &[2, 0, 2], &[4]),
    ] {
        devices().iter().for_each(|device| _ = planned(&joined(outer, extents, inner), device));
    }
}

#[test]
fn large_plans_are_proven_without_trying_points() {
    for device in devices() {
        let fusion = joined(&[4096], &[5120, 10240, 500], &[]);
        let plan = planned(&fusion, &device);
        let proof = check_joint_coverage(&plan.outputs[0].maps, &[4096, 15860], Coverage::ExactlyOnce);
        assert_eq!(proof, Ok(Proof::Structural), "{}", device.name);
    }
}

#[test]
fn operands_of_any_size_fill_the_machine() {
    let device = DeviceDescription::sm(90);
    // 4 elements per thread, 512 per block: 2048 blocks for the large operand, 1 for each small
    // one.
    let plan = planned(&joined(&[], &[1 << 20, 500, 500], &[]), &device);
    assert_eq!((plan.launch.blocks, plan.vector_lanes), (2048 + 2, 4));
    // One thread writes adjacent elements of a row.
    let plan = planned(&joined(&[1 << 20], &[1, 1], &[]), &device);
    assert_eq!(plan.launch.blocks, (1 << 20) / 128);
}

#[test]
fn lanes_suit_what_is_written() {
    let lanes = |extents: &[i64]| planned(&joined(&[4096], extents, &[]), &DeviceDescription::sm(90)).vector_lanes;
    assert_eq!(lanes(&[512, 512]), 4);
    // The second operand starts in the middle of a vector, and so does every second row of the
    // result.
    assert_eq!(lanes(&[510, 512]), 2);
}

#[test]
fn many_rows_are_written_from_start_to_end() {
    let nests = |rows: i64, device: &DeviceDescription| {
        planned(&joined(&[rows], &[512, 1024, 500], &[]), device).notes.join("")
    };
    assert_eq!(nests(4096, &DeviceDescription::cpu(2)), "3 operands in 1 loop nests");
    assert_eq!(nests(4, &DeviceDescription::cpu(2)), "3 operands in 3 loop nests");
    assert_eq!(nests(4096, &DeviceDescription::sm(90)), "3 operands in 3 loop nests");
}

#[test]
fn small_operands_share_a_task() {
    let plan = planned(&joined(&[], &[10; 50], &[]), &DeviceDescription::cpu(8));
    assert_eq!(plan.launch.blocks, 1);
}

#[test]
fn reasons_are_given() {
    let declined = |body: &str| match emitters()[0].consider(&fusion(body), &DeviceDescription::cpu(1)) {
        Verdict::Decline(decline) => decline.reason,
        _ => panic!("accepted"),
    };
    assert_eq!(
        declined("p = f32[8] parameter(0)\nROOT n = f32[8] negate(p)"),
        "no result comes from a concatenate: neither n nor any of its producers can be the hero"
    );
    assert_eq!(
        declined("p = f32[0,3] parameter(0)\nROOT c = f32[0,6] concatenate(p, p), dimensions={1}"),
        "the concatenate has no elements"
    );
}

/// Checks a concatenate of two concatenates. Only a loop nest along rows knows the lower dimension
/// of every element. If each element needed a division by the length of the row, it would take ten
/// times as long.
#[test]
fn blocks_of_blocks_are_written_row_by_row() {
    let fusion = fusion(
        "a = f32[500,500] parameter(0)\n b = f32[500,300] parameter(1)\n top = f32[500,800] concatenate(a, b), dimensions={1}\n \
         c = f32[300,500] parameter(2)\n d = f32[300,300] parameter(3)\n low = f32[300,800] concatenate(c, d), dimensions={1}\n \
         ROOT j = f32[800,800] concatenate(top, low), dimensions={0}",
    );
    for map in &planned(&fusion, &DeviceDescription::cpu(2)).outputs[0].maps {
        assert!(!map.to_string().contains("800"), "{map}");
    }
    // Operands that are concatenated along the rows' dimension keep contiguous rows.
    let flat = joined(&[], &[500, 300], &[800]);
    assert!(
        planned(&flat, &DeviceDescription::cpu(2)).outputs[0].maps.iter().any(|map| map.to_string().contains("800"))
    );
}
