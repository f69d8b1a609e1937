//! Checks plans for blocks of one thread. In every configuration, they must cover every output
//! exactly once, and must use every core.

use fusebox_conformance::{assertions, named};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Plan};
use fusebox_emitter_reduce::emitters;

use crate::planned_by;

const ADD: &str = "add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
";

fn fusion(body: &str) -> Fusion {
    assertions::fusion(&format!("{ADD}fusion {{\n{body}\n}}\n"))
}

fn sum(dims: &str, reduced: &str, kept: &str) -> Fusion {
    fusion(&format!(
        "x = f32[{dims}] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[{kept}] reduce(x, z), dimensions={{{reduced}}}, to_apply=add"
    ))
}

fn planned(fusion: &Fusion, cores: u32) -> Plan {
    planned_by("serial-reduce", fusion, &DeviceDescription::cpu(cores))
}

fn accepts(name: &str, fusion: &Fusion, device: &DeviceDescription) -> bool {
    named(emitters(), name).unwrap().consider(fusion, device).accepts()
}

#[test]
fn blocks() {
    let cases = [
        ("4096,4096", "1", "4096", 32),
        ("70,1000", "1", "70", 1),
        ("150,1000", "1", "150", 4),
        ("262144,32", "1", "262144", 32),
        ("1000", "0", "", 1),
        ("4096,4096", "0", "4096", 8),
        ("64,512,256", "1", "64,256", 32),
        ("1000,100", "0", "100", 1),
        ("4096,5", "0", "5", 1),
        // Arrays that the caches may hold are reduced in narrower tiles than larger arrays.
        ("100,65536", "0", "65536", 32),
        ("1000,65536", "0", "65536", 8),
    ];
    for (dims, reduced, kept, blocks) in cases {
        let fusion = sum(dims, reduced, kept);
        // The emitters for many threads decline.
        assert!(!accepts("row-reduce", &fusion, &DeviceDescription::cpu(2)), "{dims} over {reduced}");
        let plan = planned(&fusion, 2);
        assert_eq!(plan.launch.blocks, blocks, "{dims} over {reduced}");
        assert_eq!(plan.launch.threads_per_block, 1);
    }
}

#[test]
fn odd_sizes_and_groups_of_different_problems() {
    for (dims, reduced, kept) in [("7,1001,3", "1", "7,3"), ("1,9,977", "0,2", "9"), ("33,40000,2", "1", "33,2")] {
        let fusion = sum(dims, reduced, kept);
        planned(&fusion, 3);
    }
    let two = fusion(
        "x = f32[600,500] parameter(0)
y = f32[90,70] parameter(1)
z = f32[] constant(0)
n = f32[600,500] negate(x)
r = f32[600] reduce(n, z), dimensions={1}, to_apply=add
c = f32[70] reduce(y, z), dimensions={0}, to_apply=add
ROOT t = (f32[600], f32[70], f32[600,500]) tuple(r, c, n)",
    );
    planned(&two, 2);
}

#[test]
fn chains_take_rows() {
    let text = |rows: i64, length: i64| {
        format!(
            "x = f32[{rows},{length}] parameter(0)
z = f32[] constant(0)
s = f32[{rows}] reduce(x, z), dimensions={{1}}, to_apply=add
b = f32[{rows},{length}] broadcast(s), dimensions={{0}}
d = f32[{rows},{length}] subtract(x, b)
q = f32[{rows},{length}] multiply(d, d)
v = f32[{rows}] reduce(q, z), dimensions={{1}}, to_apply=add
ROOT t = (f32[{rows},{length}], f32[{rows}]) tuple(d, v)"
        )
    };
    for (rows, length, blocks) in [(4096, 4096, 32), (7, 33, 1), (10, 50_000, 10)] {
        let fusion = fusion(&text(rows, length));
        let plan = planned_by("row-normalise", &fusion, &DeviceDescription::cpu(2));
        assert_eq!(plan.launch.blocks, blocks);
        // Threads of a block would have to share a row, which this kernel does not support.
        assert!(!accepts("row-normalise", &fusion, &DeviceDescription::sm(90)));
    }
    assert!(!accepts("row-normalise", &sum("64,64", "1", "64"), &DeviceDescription::cpu(2)));
}
