//! Checks that plans cover every output element exactly once, for all knobs, and respect the
//! device's limits. Also checks that the emitters build kernels for the plans.

use fusebox_conformance::{assertions, named, takers};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Kernel, Plan, Verdict};
use fusebox_emitter_transpose::emitters;

use crate::{planned, planned_by, planned_only};

fn fusion(body: &str) -> Fusion {
    assertions::fusion(&format!("fusion {{ {body} }}"))
}

fn plain(element: &str, dims: &[i64], permutation: &[usize]) -> Fusion {
    let list = |items: Vec<i64>| items.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let result = list(permutation.iter().map(|&dim| dims[dim]).collect());
    let (dims, permutation) = (list(dims.to_vec()), list(permutation.iter().map(|&dim| dim as i64).collect()));
    fusion(&format!(
        "x = {element}[{dims}] parameter(0)\n ROOT t = {element}[{result}] transpose(x), dimensions={{{permutation}}}"
    ))
}

fn emitted(fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Kernel {
    takers(&emitters(), fusion, device)[0].emit(fusion, device, plan).unwrap()
}

#[test]
fn plans_cover_on_every_device() {
    let cases: [(&str, &[i64], &[usize]); 15] = [
        ("f32", &[20, 8, 9, 20], &[1, 3, 0, 2]),
        ("u8", &[2, 30, 40, 3], &[0, 3, 1, 2]),
        ("c64", &[2, 4, 30, 40], &[0, 2, 3, 1]),
        ("f32", &[96, 64], &[1, 0]),
        ("f32", &[33, 70], &[1, 0]),
        ("f32", &[3, 500], &[1, 0]),
        ("f32", &[500, 3], &[1, 0]),
        ("s8", &[130, 44], &[1, 0]),
        ("f64", &[5, 40, 9], &[0, 2, 1]),
        ("c64", &[17, 6, 10], &[2, 1, 0]),
        ("bf16", &[40, 3, 5, 7], &[1, 3, 0, 2]),
        ("f32", &[10, 12, 64], &[1, 0, 2]),
        ("u8", &[20, 30, 3], &[1, 0, 2]),
        ("c128", &[4, 12, 5], &[1, 0, 2]),
        ("f32", &[2, 3, 1200], &[1, 0, 2]),
    ];
    for (element, dims, permutation) in cases {
        let fusion = plain(element, dims, permutation);
        for device in [DeviceDescription::cpu(2), DeviceDescription::sm(90), DeviceDescription::simt()] {
            planned(&fusion, &device);
        }
    }
}

#[test]
fn standard_tiles_have_known_launches() {
    let device = DeviceDescription::sm(90);
    let plan = planned_by("tiled-transpose", &plain("f32", &[128, 96], &[1, 0]), &device);
    assert_eq!((plan.launch.blocks, plan.launch.threads_per_block, plan.shared_bytes), (12, 128, 32 * 33 * 4));
    let plan = planned_by("packed-transpose", &plain("bf16", &[128, 192], &[1, 0]), &device);
    assert_eq!((plan.launch.blocks, plan.launch.threads_per_block, plan.vector_lanes), (6, 128, 2));
    assert_eq!(plan.shared_bytes, 64 * 65 * 2);
    let plan = planned_by("packed-transpose", &plain("s4", &[256, 128], &[1, 0]), &device);
    assert_eq!((plan.launch.blocks, plan.vector_lanes, plan.shared_bytes), (2, 4, 128 * 129));
    let plan = planned_by("tiled-transpose", &plain("f32", &[64, 64, 2], &[1, 0, 2]), &device);
    assert_eq!((plan.launch.blocks, plan.launch.threads_per_block), (4, 128));
}

/// Checks long epilogues. The kernel of a panel unrolls a short epilogue for each column, but not a
/// long epilogue.
#[test]
fn long_epilogues_are_turned_first() {
    let device = DeviceDescription::cpu(2);
    let turned = |operations: usize| {
        let steps: String = (0..operations).map(|i| format!("e{} = f32[50,40] negate(e{i})\n ", i + 1)).collect();
        let fusion = fusion(&format!(
            "x = f32[40,50] parameter(0)\n e0 = f32[50,40] transpose(x), dimensions={{1,0}}
             {steps} ROOT r = f32[50,40] abs(e{operations})"
        ));
        planned(&fusion, &device).configuration.0["turned"]
    };
    assert_eq!([turned(0), turned(2), turned(3), turned(9)], [0, 0, 1, 1]);
}

/// Checks that panels on the cpu have long contiguous runs in both directions, and fit into the
/// cache.
#[test]
fn large_panels_fit() {
    let device = DeviceDescription::cpu(2);
    for (element, columns, rows) in [("f32", 256, 512), ("bf16", 512, 512), ("f64", 128, 256)] {
        let fusion = plain(element, &[4095, 4096], &[1, 0]);
        let plan = planned_only(&fusion, &device);
        let expected = [("columns".to_owned(), columns), ("rows".to_owned(), rows), ("turned".to_owned(), 0)];
        assert_eq!(plan.configuration, Configuration(expected.into()), "{element}");
        assert!(plan.shared_bytes <= device.shared_bytes_per_block);
    }
}

/// If the rows of the result are whole cache lines, a tile must be two lines high and two lines
/// wide. If the caches cannot hold the kernel's data, stores of lines must be non-temporal.
#[test]
fn results_of_whole_lines_are_written_by_lines() {
    let device = DeviceDescription::cpu(2);
    for (element, line) in [("u8", 64), ("f8e5m2", 64), ("bf16", 32), ("f32", 16), ("f64", 8)] {
        for (dims, past) in [([4096, 4096], true), ([4096, 4095], true), ([4096, 4], false), ([256, 128], false)] {
            let fusion = plain(element, &dims, &[1, 0]);
            if dims[1] == 4 {
                let plan = planned_only(&fusion, &device);
                assert!(!plan.configuration.0.contains_key("rows"), "{plan:?}");
                continue;
            }
            let by_lines = named(emitters(), "line-transpose").unwrap();
            let plan = by_lines.plan(&fusion, &device, &Configuration::default()).unwrap();
            let expected = [("columns".to_owned(), 2 * line), ("rows".to_owned(), 2 * line)];
            assert_eq!(plan.configuration, Configuration(expected.into()), "{element}");
            assert_eq!(plan.notes[0].ends_with(", past the caches"), past, "{:?}", plan.notes);
            let kernel = emitted(&fusion, &device, &plan);
            assert_eq!(kernel.code.to_string().contains("past_caches"), past);
        }
    }
}

/// If the transpose keeps rows of whole cache lines and the caches cannot hold these rows, stores
/// must be non-temporal. For other rows and for computed elements, stores must be normal.
#[test]
fn rows_of_whole_lines_go_past_the_caches() {
    let device = DeviceDescription { core_cache_bytes: 8 << 10, ..DeviceDescription::cpu(2) };
    let past = |fusion: &Fusion| {
        let plan = planned(fusion, &device);
        let kernel = emitted(fusion, &device, &plan);
        assert_eq!(kernel.code.to_string().contains("past_caches"), plan.notes[0].ends_with("past the caches"));
        kernel.code.to_string().contains("past_caches")
    };
    assert!(past(&plain("bf16", &[10, 12, 64], &[1, 0, 2])));
    assert!(past(&plain("f64", &[3, 2, 1032], &[1, 0, 2])));
    assert!(!past(&plain("f32", &[10, 12, 65], &[1, 0, 2])));
    assert!(!past(&plain("f32", &[5, 6, 64], &[1, 0, 2])));
    assert!(!past(&fusion(
        "x = f32[10,12,64] parameter(0)\n t = f32[12,10,64] transpose(x), dimensions={1,0,2}
         ROOT n = f32[12,10,64] negate(t)"
    )));
}

/// Checks that plans by lines cover all remainders. A remainder consists of rows or columns that do
/// not fill a tile, a unit or a vector.
#[test]
fn plans_by_lines_cover() {
    let cases: [(&str, &[i64], &[usize]); 13] = [
        ("f32", &[48, 37], &[1, 0]),
        ("f32", &[16, 9], &[1, 0]),
        ("f32", &[80, 70], &[1, 0]),
        ("bf16", &[96, 200], &[1, 0]),
        ("bf16", &[32, 129], &[1, 0]),
        ("u8", &[64, 45], &[1, 0]),
        ("s8", &[192, 260], &[1, 0]),
        ("f64", &[24, 33], &[1, 0]),
        ("s64", &[8, 10], &[1, 0]),
        ("f32", &[3, 32, 50], &[0, 2, 1]),
        ("f32", &[48, 5, 20], &[2, 1, 0]),
        ("bf16", &[2, 32, 3, 24], &[3, 0, 2, 1]),
        ("u16", &[4, 2, 64, 3, 11], &[4, 3, 0, 1, 2]),
    ];
    let device = DeviceDescription::cpu(2);
    for (element, dims, permutation) in cases {
        let plan = planned_by("line-transpose", &plain(element, dims, permutation), &device);
        assert!(plan.notes[0].contains("written as lines"), "{element} {dims:?}: {:?}", plan.notes);
    }
}

#[test]
fn side_outputs_are_planned_at_the_operand() {
    let fusion = fusion(
        "x = f32[40,50] parameter(0)\n n = f32[40,50] negate(x)\n t = f32[50,40] transpose(n), dimensions={1,0}
         r = f32[25,2,40] reshape(t)\n ROOT o = (f32[50,40], f32[40,50], f32[25,2,40]) tuple(t, n, r)",
    );
    for device in [DeviceDescription::cpu(2), DeviceDescription::sm(80)] {
        planned(&fusion, &device);
    }
}

#[test]
fn what_cannot_be_packed_is_declined_with_the_reason() {
    let reason = |fusion: &Fusion, device: &DeviceDescription| match named(emitters(), "packed-transpose")
        .unwrap()
        .consider(fusion, device)
    {
        Verdict::Decline(decline) => decline.reason,
        _ => panic!("accepted"),
    };
    let (gpu, cpu) = (DeviceDescription::sm(90), DeviceDescription::cpu(2));
    assert_eq!(
        reason(&plain("f32", &[64, 64], &[1, 0]), &gpu),
        "elements of 4 bytes already fill the word of a memory bank"
    );
    assert_eq!(reason(&plain("s8", &[64, 63], &[1, 0]), &gpu), "rows of 63 elements are not whole words of 4 elements");
    assert_eq!(
        reason(&plain("s8", &[64, 36], &[1, 0]), &gpu),
        "rows of 36 elements are too short: they need at least 10 words"
    );
    assert_eq!(
        reason(&plain("s8", &[64, 6, 64], &[1, 0, 2]), &gpu),
        "the minor dimension does not move: no rows become columns"
    );
    assert_eq!(reason(&plain("s8", &[64, 64], &[1, 0]), &cpu), "it requires blocks of many threads, as on a GPU");
}

#[test]
fn impossible_knobs_are_refused() {
    let fusion = plain("f32", &[256, 256], &[1, 0]);
    let refused = |device: &DeviceDescription, name: &str, value: i64| {
        let configuration = Configuration([(name.to_owned(), value)].into());
        let emitters = emitters();
        takers(&emitters, &fusion, device)[0].plan(&fusion, device, &configuration).unwrap_err().message
    };
    let (gpu, cpu) = (DeviceDescription::sm(90), DeviceDescription::cpu(2));
    assert_eq!(refused(&gpu, "threads", 2048), "knob threads is 2048, it must be 1 to 1024");
    assert_eq!(refused(&gpu, "edge", 1), "knob edge is 1, it must be 4 to 128");
    assert_eq!(refused(&gpu, "edge", 128), "the tiles take 66048 bytes, a block has 49152; choose smaller knobs");
    assert!(refused(&cpu, "rows", 0).starts_with("knob rows is 0, it must be 1 to "));
}
