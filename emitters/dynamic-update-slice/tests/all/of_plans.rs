//! Checks that plans stay in bounds, write no element twice, and start from the right parameter.
//! Also checks the reasons for declining.

use fusebox_conformance::assertions;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Verdict};
use fusebox_core::indexing::{Coverage, Proof, check_joint_coverage};
use fusebox_emitter_dynamic_update_slice::emitters;

use crate::planned;

fn fusion(body: &str) -> Fusion {
    assertions::fusion(&format!("HloModule m\nENTRY fused {{\n{body}\n}}\n"))
}

const CACHES: &str = "
values = bf16[4,100,48] parameter(0)
keys = f32[4,100,32] parameter(1)
k = f32[4,1,32] parameter(2)
v = bf16[4,2,48] parameter(3)
at = s32[] parameter(4)
zero = s32[] constant(0)
one = s32[] constant(1)
next = s32[] add(at, one)
a = f32[4,100,32] dynamic-update-slice(keys, k, zero, at, zero)
b = bf16[4,100,48] dynamic-update-slice(values, v, one, at, zero)
ROOT t = (f32[4,100,32], s32[], bf16[4,100,48]) tuple(a, next, b)";

#[test]
fn only_the_updated_parts_are_visited() {
    for device in [DeviceDescription::cpu(2), DeviceDescription::sm(90)] {
        let plan = planned(&fusion(CACHES), &device);
        let initial: Vec<_> = plan.outputs.iter().map(|output| output.initial).collect();
        assert_eq!(initial, [Some(1), None, Some(0)]);
        for (output, shape) in plan.outputs.iter().zip(fusion(CACHES).output_shapes()) {
            let proof = check_joint_coverage(&output.maps, &shape.as_array().unwrap().dims, Coverage::AtMostOnce);
            assert_eq!(proof, Ok(Proof::Structural), "{}: {:?}", device.name, output.maps);
        }
        // Counts all possible starts: 100 for the keys, 99 for the values.
        let visited: Vec<u64> = plan.outputs.iter().map(|o| o.maps[0].point_count(1 << 20).unwrap()).collect();
        assert_eq!(visited, [4 * 32 * 100, 1, 4 * 2 * 48 * 99], "{}", device.name);
    }
}

/// Checks the number of blocks. The cache lines of a large array's column are in the caches of both
/// cores. The cache lines of a row are in the cache of one core, and so are all lines of a small
/// array.
#[test]
fn columns_are_written_by_the_cores_that_have_them() {
    let blocks = |array: &str, slice: &str, starts: &str| {
        let fusion = fusion(&format!(
            "c = f32[{array}] parameter(0)
s = f32[{slice}] parameter(1)
at = s32[] parameter(2)
zero = s32[] constant(0)
ROOT u = f32[{array}] dynamic-update-slice(c, s, {starts})"
        ));
        planned(&fusion, &DeviceDescription::cpu(2)).launch.blocks
    };
    assert_eq!(blocks("512,512", "512,1", "zero, at"), 2);
    assert_eq!(blocks("512,512", "1,512", "at, zero"), 1);
    assert_eq!(blocks("512,64", "512,1", "zero, at"), 1);
    assert_eq!(blocks("64,4096", "64,1", "zero, at"), 1);
}

#[test]
fn starts_are_part_of_the_plan() {
    let plan = planned(&fusion(CACHES), &DeviceDescription::cpu(1));
    assert_eq!(
        plan.outputs[2].maps[0].to_string(),
        "(th, bl)[row, inner, point]{start0} -> (row, inner + start0, point), \
         domain: th in [0, 0], bl in [0, 0], row in [0, 3], inner in [0, 1], point in [0, 47], start0 in [0, 98]"
    );
}

#[test]
fn reasons_are_given() {
    let declined = |body: &str| match emitters()[0].consider(&fusion(body), &DeviceDescription::cpu(1)) {
        Verdict::Decline(decline) => decline.reason,
        _ => panic!("accepted"),
    };
    let updated = |before: &str, update: &str, after: &str| {
        declined(&format!(
            "x = f32[50] parameter(0)\nu = f32[5] parameter(1)\ni = s32[] parameter(2)\n{before}\n\
             d = f32[50] dynamic-update-slice({update})\n{after}"
        ))
    };
    assert_eq!(declined("x = f32[5] parameter(0)\nROOT n = f32[5] negate(x)"), "no result is a dynamic-update-slice");
    assert_eq!(
        updated("n = f32[50] negate(x)", "n, u, i", "ROOT r = f32[5,10] reshape(d)"),
        "d updates n, which is no parameter: the rest of the result has to be computed too"
    );
    assert_eq!(
        updated("", "x, u, i", "n = f32[50] negate(x)\nROOT t = (f32[50], f32[50]) tuple(d, n)"),
        "x is read by n while parts of it are replaced"
    );
    assert_eq!(updated("", "x, u, i", "ROOT t = (f32[50], f32[50]) tuple(d, x)"), "x is updated and also a result");
    assert_eq!(
        updated("", "x, u, i", "n = f32[50] negate(d)\nROOT t = (f32[50], f32[50]) tuple(d, n)"),
        "n reads the updated array, most of which the kernel does not compute"
    );
    assert_eq!(
        updated(
            "o = f32[5] dynamic-slice(x, i), dynamic_slice_sizes={5}\ns = f32[5] add(o, u)",
            "x, s, i",
            "j = s32[] negate(i)\ne = f32[50] dynamic-update-slice(x, u, j)\nROOT t = (f32[50], f32[50]) tuple(d, e)"
        ),
        "x is read by o and updated for 2 results"
    );
}
