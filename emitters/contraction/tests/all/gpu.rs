//! Checks products in blocks of many threads. Compares results on the simulated GPU with the
//! interpreter, and passes PTX to NVIDIA's assembler.

use fusebox_conformance::literals::{self, Closeness};
use fusebox_conformance::{Compiler, Machine, Made, Target, assemble, assertions, inputs, named, plans};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Plan;
use fusebox_core::indexing::{Coverage, Proof, check_joint_coverage};
use fusebox_emitter_contraction::emitters;

use crate::products::{Product, plain};
use crate::random::{product, setting};

/// Returns a compiler that prefers the named emitter.
fn compiler(name: &str) -> Compiler {
    let made = Compiler::new(emitters()).and_then(|compiler| compiler.preferring(&[name]));
    made.unwrap_or_else(|failure| panic!("{failure}"))
}

/// Compiles a fusion with an emitter. The bits of the result must equal those of the interpreter's
/// result.
fn made(name: &str, text: &str) -> Made {
    let inputs = inputs(text, literals::small_integers).unwrap();
    let made = compiler(name).compared(text, [Machine::simt()], &inputs, Closeness::Bits);
    let [made] = made.unwrap_or_else(|failure| panic!("{failure}"));
    made
}

/// Asserts that the emitter compiles the only kernel and that its results are right.
fn contracts(name: &str, text: &str) {
    assert_eq!(made(name, text).emitters, [name], "{text}");
}

/// Returns an emitter's plan for a product. Also checks all alternatives of the plan.
fn planned(name: &str, element: &str, sizes: [i64; 3], device: &DeviceDescription) -> Plan {
    let fusion = assertions::fusion(&plain(element, sizes));
    let plan = named(emitters(), name).and_then(|emitter| plans::check(emitter, &fusion, device));
    plan.unwrap_or_else(|failure| panic!("{failure}"))
}

/// Returns a product of `[m, k]` and `[k, n]`. `steps` are the contracted dimensions of the
/// operands.
fn product_of((left, right, result): (&str, &str, &str), [m, k, n]: [i64; 3], steps: [i64; 2]) -> String {
    let dims = |step: i64, lines: i64| if step == 0 { [k, lines] } else { [lines, k] };
    let (lhs, rhs) = (dims(steps[0], m), dims(steps[1], n));
    let steps: [&[i64]; 2] = [&[steps[0]], &[steps[1]]];
    Product { left: (left, &lhs), right: (right, &rhs), result, batch: [&[], &[]], steps }.text()
}

const TILED: &str = "block-contraction";
const THIN: &str = "thin-contraction";
const GROUPS: &str = "wgmma-contraction";
const MMA: &str = "mma-contraction";
const TYPES: [(&str, &str, &str); 18] = [
    ("f64", "f64", "f64"),
    ("bf16", "bf16", "bf16"),
    ("bf16", "bf16", "f32"),
    ("f16", "f16", "f16"),
    ("f16", "bf16", "f32"),
    ("f8e4m3fn", "f8e5m2", "f32"),
    ("f8e4m3fn", "f8e4m3fn", "f8e4m3fn"),
    ("f32", "f64", "f64"),
    ("f32", "f64", "f32"),
    ("s8", "s8", "s32"),
    ("u8", "s8", "s32"),
    ("s8", "s8", "s8"),
    ("s16", "u8", "s16"),
    ("u32", "u32", "u32"),
    ("s64", "s64", "s64"),
    ("s8", "s8", "f32"),
    ("pred", "s8", "s32"),
    ("s4", "s4", "s32"),
];
const AROUND: [&str; 3] = [
    "fusion {
  x = bf16[70,50] parameter(0)
  w = s8[60,70] parameter(1)
  scale = f32[60] parameter(2)
  xt = bf16[50,70] transpose(x), dimensions={1,0}
  xf = f32[50,70] convert(xt)
  wf = f32[60,70] convert(w)
  s = f32[60,70] broadcast(scale), dimensions={0}
  ws = f32[60,70] multiply(wf, s)
  ROOT d = f32[50,60] dot(xf, ws), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}
",
    "fusion {
  table = f32[100,40] parameter(0)
  rows = s32[30,1] parameter(1)
  x = f32[30,40] gather(table, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,40}
  y = f32[38,50] parameter(2)
  zero = f32[] constant(0)
  yp = f32[40,50] pad(y, zero), padding=1_1x0_0
  ROOT d = f32[30,50] dot(x, yp), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
",
    "fusion {
  x = f32[3,30,20] parameter(0)
  y = f32[3,20,70] parameter(1)
  bias = f32[70] parameter(2)
  d = f32[3,30,70] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  b = f32[3,30,70] broadcast(bias), dimensions={2}
  s = f32[3,30,70] add(d, b)
  n = f32[3,30,70] negate(s)
  t = f32[30,3,70] transpose(n), dimensions={1,0,2}
  u = bf16[30,3,70] convert(t)
  ROOT c = (bf16[30,3,70], f32[3,30,70]) tuple(u, d)
}
",
];

#[test]
fn tiles_of_all_remainders() {
    for sizes in [[64, 16, 64], [65, 17, 63], [40, 8, 33], [7, 100, 17], [130, 31, 140], [33, 40, 260]] {
        contracts(TILED, &plain("f32", sizes));
    }
}

#[test]
fn operands_in_any_order() {
    for (sizes, steps) in
        [([40, 72, 90], [1, 1]), ([40, 72, 92], [0, 0]), ([70, 40, 90], [0, 1]), ([40, 37, 45], [1, 1])]
    {
        contracts(TILED, &product_of(("f32", "f32", "f32"), sizes, steps));
    }
}

/// Types for which there are matrix instructions, and the names of these instructions in PTX.
const OF_MATRICES: [(&str, &str, &str, &str); 8] = [
    ("bf16", "bf16", "bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("bf16", "bf16", "f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("f16", "f16", "f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("f16", "f8e5m2", "f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("f8e4m3fn", "f8e5m2", "f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("s4", "s8", "s32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    ("s8", "s8", "s32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    ("f64", "f64", "f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
];

#[test]
fn warps_multiply_matrices() {
    for (left, right, result, _) in OF_MATRICES {
        for (sizes, steps) in [
            ([40, 70, 37], [1, 0]),
            ([128, 64, 128], [0, 1]),
            ([33, 16, 200], [1, 1]),
            ([130, 9, 40], [0, 0]),
            ([64, 64, 64], [1, 0]),
            ([72, 48, 80], [0, 0]),
        ] {
            contracts(MMA, &product_of((left, right, result), sizes, steps));
        }
    }
}

/// Checks that kernels use matrix instructions if there are such instructions, and that the
/// assembler accepts the kernels without spills.
#[test]
fn ptx_has_products_of_matrices() {
    for (left, right, result, instruction) in OF_MATRICES {
        for (steps, capability) in [([1, 0], 80), ([0, 1], 80), ([1, 0], 90)] {
            let text = product_of((left, right, result), [2048, 1024, 4096], steps);
            let ptx = Compiler::new(emitters()).unwrap().ptx(&text, capability).unwrap();
            assert!(ptx.contains(instruction), "{left} times {right} on sm_{capability}");
            assembles(&ptx, &format!("sm_{capability}"));
        }
    }
}

/// Asserts that the assembler accepts the code and spills no register.
fn assembles(ptx: &str, architecture: &str) {
    let report = assemble(ptx, architecture).unwrap_or_else(|words| panic!("{words}"));
    let is_well = |report: &String| report.contains(" 0 bytes spill stores") && !report.contains("serialized");
    assert!(report.as_ref().is_none_or(is_well), "{report:?}");
}

/// Returns a simulated GPU with tile instructions.
fn with_tiles() -> Machine {
    let device = DeviceDescription { multiplies_tiles: true, ..DeviceDescription::simt() };
    Machine::new(Target::simt(), device)
}

#[test]
fn groups_multiply_tiles() {
    for element in ["bf16", "f16"] {
        for (sizes, steps) in [
            ([40, 70, 37], [1, 0]),
            ([128, 64, 128], [0, 1]),
            ([65, 32, 200], [1, 1]),
            ([130, 9, 40], [0, 0]),
            ([64, 96, 64], [1, 0]),
        ] {
            let text = product_of((element, element, element), sizes, steps);
            let inputs = inputs(&text, literals::small_integers).unwrap();
            let made = compiler(GROUPS).compared(&text, [with_tiles()], &inputs, Closeness::Bits);
            let [made] = made.unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(made.emitters, [GROUPS], "{text}");
        }
    }
}

/// Checks products on a target that is named exactly. On such a target, groups of warps multiply
/// tiles. The assembler must accept the code without spills.
#[test]
fn ptx_has_products_of_tiles() {
    let target = Target::named("sm_90a").unwrap();
    let machine = Machine::new(target.clone(), target.device().clone());
    for element in ["bf16", "f16"] {
        for (sizes, steps) in [([2048, 1024, 4096], [1, 0]), ([2000, 1000, 500], [0, 1])] {
            let text = product_of((element, element, "f32"), sizes, steps);
            let ptx = Compiler::new(emitters()).unwrap().ptx_for(&text, &machine).unwrap();
            let (count, name) = (ptx.matches("wgmma.mma_async").count(), format!("k16.f32.{element}.{element}"));
            assert!(count >= 2 && ptx.contains(&name), "{text}");
            // A fence makes the threads' writes visible to the tile instructions.
            let order = ["st.shared.v4", "fence.proxy.async.shared::cta", "bar.sync", "wgmma.mma_async"];
            let places: Vec<_> = order.iter().map(|words| ptx.find(words)).collect();
            assert!(places.is_sorted() && places[0].is_some(), "{places:?}");
            assembles(&ptx, "sm_90a");
        }
    }
}

#[test]
fn few_vectors() {
    for sizes in [[1, 70, 300], [1, 70, 256], [2, 33, 129], [129, 33, 2], [3, 1000, 5], [8, 1000, 3], [600, 64, 1]] {
        for steps in [[1, 0], [0, 1]] {
            for element in ["f32", "bf16", "f64", "s8"] {
                contracts(THIN, &product_of((element, element, element), sizes, steps));
            }
        }
    }
}

#[test]
fn all_types() {
    for types in TYPES {
        for steps in [[1, 0], [0, 1]] {
            contracts(TILED, &product_of(types, [37, 40, 70], steps));
        }
    }
}

#[test]
fn what_stands_around_is_computed_on_the_way() {
    for text in AROUND {
        contracts(TILED, text);
    }
}

#[test]
fn every_element_is_written_once() {
    let device = &with_tiles().device;
    for sizes in [[512, 1024, 1024], [77, 300, 501], [14, 300, 32]] {
        for (name, elements) in [(TILED, ["f32", "f64"]), (MMA, ["s8", "f64"]), (GROUPS, ["bf16", "f16"])] {
            for element in elements {
                planned(name, element, sizes, device);
            }
        }
    }
    for sizes in [[3000, 7, 2], [1, 500, 1000], [8, 64, 77]] {
        for element in ["bf16", "f64"] {
            planned(THIN, element, sizes, device);
        }
    }
}

#[test]
fn large_plans_are_proven_without_trying_points() {
    for name in [TILED, MMA, GROUPS] {
        for sizes in [[8192, 512, 8192], [10000, 512, 7777]] {
            let plan = planned(name, "bf16", sizes, &with_tiles().device);
            let proof = check_joint_coverage(&plan.outputs[0].maps, &[sizes[0], sizes[2]], Coverage::ExactlyOnce);
            assert_eq!(proof, Ok(Proof::Structural), "{}", plan.outputs[0].maps[0]);
        }
    }
}

/// Checks when this emitter comes first. If each element is used only a few times, a loop over the
/// results is as fast.
#[test]
fn it_comes_first_where_elements_are_used_often() {
    let all = Compiler::new(emitters()).unwrap();
    for capability in [80, 90] {
        for (sizes, is_tiled) in [
            ([4096, 4096, 4096], true),
            ([512, 512, 512], true),
            ([128, 4096, 128], true),
            ([4, 8, 4], false),
            ([1000, 1, 1000], false),
        ] {
            let ptx = all.ptx(&plain("f32", sizes), capability).unwrap();
            assert_eq!(ptx.contains("ld.shared"), is_tiled, "{sizes:?} on sm_{capability}");
        }
    }
}

/// Checks each random product with the specialised emitters and with the tiled emitter. If
/// `FUSEBOX_PRODUCTS` is not set, there are half as many products as on the cpu.
#[test]
fn products_that_nobody_wrote() {
    let (first, count) = (setting("FUSEBOX_PRODUCT_SEED", 1), setting("FUSEBOX_PRODUCTS", 30));
    let special = Compiler::new(emitters()).and_then(|compiler| compiler.preferring(&[GROUPS, MMA, THIN])).unwrap();
    let tiled = compiler(TILED);
    let mut makers: Vec<String> = Vec::new();
    for seed in first..first + count {
        let text = product(seed);
        let inputs = inputs(&text, literals::small_integers).unwrap();
        for compiler in [&special, &tiled] {
            let made = compiler.compared(&text, [with_tiles()], &inputs, Closeness::Bits);
            let [made] = made.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
            makers.extend(made.emitters);
        }
    }
    let of = |name: &str| makers.iter().filter(|maker| *maker == name).count();
    assert!(of(TILED) as u64 * 2 > count && of(MMA) > 0 && of(THIN) > 0, "{makers:?}");
}

#[test]
fn kernels_do_not_spill() {
    for element in ["f32", "bf16", "f64", "s8", "s64"] {
        for (name, sizes, steps, capability) in [
            (TILED, [4096, 512, 4096], [1, 0], 80),
            (TILED, [300, 500, 1000], [0, 1], 90),
            (THIN, [4096, 512, 1], [1, 0], 80),
            (THIN, [8, 512, 4096], [1, 0], 90),
        ] {
            let text = product_of((element, element, element), sizes, steps);
            let ptx = compiler(name).ptx(&text, capability).unwrap();
            assembles(&ptx, &format!("sm_{capability}"));
            // Accesses of sixteen bytes.
            let is_wide =
                |space: &str| ["v4.b32", "v2.b64"].iter().any(|wide| ptx.contains(&format!("{space}.{wide}")));
            assert!(name == THIN || is_wide("ld.shared"), "{text}");
            assert!(element != "f32" || is_wide("ld.global.nc"), "{text}");
        }
    }
}
