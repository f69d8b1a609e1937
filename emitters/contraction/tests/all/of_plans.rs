//! Checks that plans write every element exactly once, for all sizes and values of knobs. Also
//! checks that plans suit the cores and registers.

use fusebox_conformance::{assertions, named, plans};
use fusebox_core::device::{DeviceDescription, NarrowProducts};
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan, Verdict};
use fusebox_core::indexing::{Coverage, Proof, check_joint_coverage};
use fusebox_emitter_contraction::emitters;

use crate::products::plain;

fn wide() -> DeviceDescription {
    DeviceDescription { register_bytes: 64, registers: 32, ..DeviceDescription::cpu(2) }
}

fn fusion(sizes: [i64; 3]) -> Fusion {
    assertions::fusion(&plain("f32", sizes))
}

fn emitter() -> &'static dyn Emitter {
    named(emitters(), "contraction").unwrap_or_else(|failure| panic!("{failure}"))
}

/// Returns the plan of a product. Also checks all alternatives of the plan.
fn planned(sizes: [i64; 3], device: &DeviceDescription) -> Plan {
    plans::check(emitter(), &fusion(sizes), device).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn every_element_is_written_once() {
    for sizes in [[1024, 1024, 1024], [77, 300, 501], [1, 4096, 4096], [4096, 512, 16], [3000, 7, 2], [14, 300, 32]] {
        for device in [DeviceDescription::cpu(1), DeviceDescription::cpu(8), wide()] {
            planned(sizes, &device);
        }
    }
}

#[test]
fn large_plans_are_proven_without_trying_points() {
    for sizes in [[8192, 512, 8192], [10000, 512, 7777]] {
        let plan = planned(sizes, &wide());
        let proof = check_joint_coverage(&plan.outputs[0].maps, &[sizes[0], sizes[2]], Coverage::ExactlyOnce);
        assert_eq!(proof, Ok(Proof::Structural));
    }
}

#[test]
fn blocks_suit_the_cores() {
    let blocks = |sizes, cores| planned(sizes, &DeviceDescription { core_count: cores, ..wide() }).launch.blocks;
    assert_eq!(blocks([1024, 1024, 1024], 2), 16);
    assert_eq!(blocks([2048, 2048, 2048], 8), 64);
    // Too little work for several cores.
    assert_eq!(blocks([40, 40, 40], 8), 1);
}

#[test]
fn registers_hold_the_sums() {
    let sums = |sizes, device: &DeviceDescription| planned(sizes, device).notes.join("");
    let usual = [1024, 1024, 1024];
    assert!(sums(usual, &wide()).ends_with("14 by 32 sums in registers"));
    assert!(sums(usual, &DeviceDescription::cpu(2)).ends_with("6 by 16 sums in registers"));
    assert!(sums([4096, 4096, 16], &wide()).ends_with("8 by 16 sums in registers"));
    assert!(sums([1, 4096, 4096], &wide()).ends_with("1 by 128 sums in registers"));
    // The width of register tiles divides the columns, so that the kernel can read them without
    // packing.
    let few = [[1, 64, 64], [2, 64, 64], [3, 64, 64], [1, 64, 96]];
    let narrow = DeviceDescription::cpu(2);
    let found =
        few.map(|sizes| sums(sizes, &narrow).rsplit_once(", ").map(|(_, sums)| sums.to_owned()).unwrap_or_default());
    assert_eq!(found, ["1 by 64", "2 by 32", "3 by 16", "1 by 48"].map(|sums| format!("{sums} sums in registers")));
    // Five tiles of 13 rows instead of four of 14 and one of 8.
    assert!(sums([64, 784, 1024], &wide()).ends_with("13 by 32 sums in registers"));
}

/// Checks that the kernel does not pack rows of the right operand if only a few register tiles need
/// them.
#[test]
fn few_rows_are_multiplied_from_memory() {
    let packs = |sizes: [i64; 3]| i64::from(planned(sizes, &wide()).shared_bytes) > 4 * sizes[1] * sizes[2] / 2;
    assert_eq!([[16, 128, 512], [32, 128, 512], [128, 128, 512]].map(packs), [false, false, true]);
    assert!(planned([1, 64, 64], &DeviceDescription::cpu(2)).shared_bytes < 4 * 64 * 64 / 2);
}

/// Usually the kernel does not pack rows that it multiplies only once. But it packs them if a
/// condition on the step selects the array that holds the rows.
#[test]
fn a_concatenated_operand_is_packed_even_if_it_is_used_once() {
    let packed = |text: &str| {
        let plan =
            plans::check(emitter(), &assertions::fusion(text), &wide()).unwrap_or_else(|failure| panic!("{failure}"));
        plan.shared_bytes
    };
    let in_parts = "f { x = f32[4096,40] parameter(0)\n y = f32[4096,60] parameter(1)\n w = f32[100,16] parameter(2)
  c = f32[4096,100] concatenate(x, y), dimensions={1}
  ROOT d = f32[4096,16] dot(c, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    assert!(packed(in_parts) > packed(&plain("f32", [4096, 100, 16])));
}

#[test]
fn knobs_are_what_the_plan_says() {
    let knobs = Configuration::from([("tile_m", 36), ("tile_n", 64), ("tile_k", 100)]);
    let plan = emitter().plan(&fusion([200, 300, 200]), &wide(), &knobs).unwrap();
    assert_eq!((plan.configuration, plan.launch.blocks), (knobs, 6 * 4));
    let knobs = Configuration::from([("tile_n", 1 << 20)]);
    let error = emitter().plan(&fusion([200, 300, 200]), &wide(), &knobs).unwrap_err();
    assert_eq!(error.message, "knob tile_n is 1048576, it must be 1 to 224");
    // Another value would change the result's bits.
    let knobs = Configuration::from([("tile_k", 500)]);
    let error = emitter().plan(&fusion([200, 1000, 200]), &wide(), &knobs).unwrap_err();
    assert_eq!(error.message, "knob tile_k is 500, it must be 250 to 250");
    let knobs = Configuration::from([("tile_m", 2000), ("tile_n", 2000)]);
    let error = emitter().plan(&fusion([2000, 3000, 2000]), &wide(), &knobs).unwrap_err();
    assert!(error.message.ends_with("bytes, a block has 589824"), "{error}");
}

#[test]
fn reasons_are_given() {
    let declined = |text: &str| match emitter().consider(&assertions::fusion(text), &wide()) {
        Verdict::Decline(decline) => decline.reason,
        accepted => panic!("{accepted:?}"),
    };
    assert_eq!(
        declined("f { x = f32[8] parameter(0)\nROOT n = f32[8] negate(x) }"),
        "there is no dot and no convolution"
    );
    assert_eq!(
        declined(&plain("f32", [4, 8, 4])),
        "128 products are too few to be packed: below 2048, a loop is as fast"
    );
    assert_eq!(declined(&plain("f32", [40, 3, 40])), "an element is a sum of 3 products: packing pays from 4 on");
    let other = "f { x = f32[40,40] parameter(0)
  s = f32[40,40] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT d = f32[40,40] dot(s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    assert_eq!(declined(other), "there is more than one dot or convolution");
    // Half of this result is padding, for which there is no sum.
    let padded = "f { x = f32[40,40] parameter(0)
  s = f32[40,40] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[] constant(0)
  ROOT p = f32[80,40] pad(s, z), padding=0_1_1x0_0 }";
    assert_eq!(declined(padded), "its elements are not a permutation of the dot's elements");
    let simt = emitter().consider(&fusion([40, 40, 40]), &DeviceDescription::simt());
    assert!(
        matches!(simt, Verdict::Decline(decline) if decline.reason == "it requires blocks of one thread, as on the cpu")
    );
}

/// Returns the plan of a product of `bf16` with result `f32`, on a machine with tile registers.
fn in_tiles(sizes: [i64; 3], tile_products: NarrowProducts) -> Plan {
    let device = DeviceDescription { tile_products, word_products: NarrowProducts::default(), ..wide() };
    let fusion = assertions::fusion(&plain("bf16", sizes).replace("d = bf16", "d = f32"));
    let plan = plans::check(emitter(), &fusion, &device).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(plan.shared_bytes <= device.shared_bytes_per_block);
    plan
}

#[test]
fn tile_registers_are_used_where_there_are_such() {
    let bf16 = NarrowProducts { bf16: true, int8: false };
    let plan = in_tiles([1024, 1024, 1024], bf16);
    assert!(plan.notes[0].ends_with("32 by 32 sums in tile registers"), "{:?}", plan.notes);
    assert_eq!(plan.launch.blocks, 8);
    // Too few rows to fill the tile registers; other instructions; no instructions.
    for (sizes, has) in [
        ([4, 1024, 1024], bf16),
        ([1024; 3], NarrowProducts { bf16: false, int8: true }),
        ([1024; 3], NarrowProducts::default()),
    ] {
        let notes = in_tiles(sizes, has).notes;
        assert!(notes[0].ends_with("sums in registers"), "{notes:?}");
    }
}

/// Checks that word products multiply adjacent steps, if there are no tile registers and a vector
/// register holds sixteen words.
#[test]
fn words_are_multiplied_where_there_are_such_products() {
    let both = NarrowProducts { bf16: true, int8: true };
    let note = |element: &[&str; 2], device: &DeviceDescription| {
        let text = plain(element[0], [1024; 3]).replace(&format!("d = {}", element[0]), &format!("d = {}", element[1]));
        let plan = plans::check(emitter(), &assertions::fusion(&text), device);
        plan.unwrap_or_else(|failure| panic!("{failure}")).notes.concat()
    };
    let words = DeviceDescription { word_products: both, tile_products: NarrowProducts::default(), ..wide() };
    let tiles = DeviceDescription { tile_products: both, ..words.clone() };
    let narrow = DeviceDescription { register_bytes: 32, registers: 16, ..words.clone() };
    for (element, is_there) in [(["bf16", "f32"], true), (["s8", "s32"], true), (["u8", "s32"], false)] {
        assert_eq!(note(&element, &words).ends_with("14 by 32 sums in registers, words at a time"), is_there);
        assert!(note(&element, &tiles).ends_with("in tile registers"));
        assert!(note(&element, &narrow).ends_with("sums in registers"));
    }
}

/// Checks a plan for very many rows. Memory could not hold the sums of these rows, but the plan
/// must not take long.
#[test]
fn as_many_rows_as_there_may_be() {
    let plan = in_tiles([1 << 30, 1 << 13, 16], NarrowProducts { bf16: true, int8: true });
    assert!(plan.notes[0].ends_with("32 by 16 sums in tile registers"), "{:?}", plan.notes);
}

/// The kernel also multiplies lines of packed memory into which it never packs elements.
/// Uninitialised memory could contain subnormal numbers, for which some processors take a hundred
/// times as long. So the kernel must set these lines to zero.
#[test]
fn lines_that_are_never_packed_hold_zeros() {
    let inserts = |columns: i64| {
        let text = plain("f32", [19, 13, columns]).replace(&format!("[13,{columns}]"), &format!("[{columns},13]"));
        let fusion = assertions::fusion(&text.replace("rhs_contracting_dims={0}", "rhs_contracting_dims={1}"));
        let plan = emitter().plan(&fusion, &wide(), &Configuration::default()).unwrap();
        emitter().emit(&fusion, &wide(), &plan).unwrap().code.to_string().matches("tensor.insert").count()
    };
    assert_eq!(inserts(19), inserts(16) + 2, "lines of the right operand, and the room in which they are turned");
}
