//! Checks products that a library computes. The results must be right. The emitter must accept only
//! products without prologue and epilogue.

use fusebox_conformance::literals::{Closeness, small_integers};
use fusebox_conformance::{Compiler, Registry, assertions, inputs, named, plans};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Emitter, Verdict};
use fusebox_emitter_contraction::emitters;

use crate::machines;
use crate::products::plain;

fn library() -> &'static dyn Emitter {
    named(emitters(), "library-product").unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn products_by_the_library_are_right() {
    let registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    let chosen = Compiler::of(registry, Vec::new()).choosing("contraction=library-product");
    let compiler = chosen.unwrap_or_else(|failure| panic!("{failure}"));
    for element in ["f32", "f64", "c64", "c128"] {
        let text = plain(element, [49, 60, 50]);
        let inputs = inputs(&text, small_integers).unwrap();
        let made = compiler.compared(&text, machines(), &inputs, Closeness::Numbers);
        let made = made.unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(made[0].emitters, ["library-product"], "{element}");
    }
}

#[test]
fn plans_hold_for_all_forms() {
    for sizes in [[64, 64, 33], [300, 300, 501], [4096, 512, 64]] {
        for threads in [1, 3, 8] {
            let device = DeviceDescription::cpu(threads);
            let made = plans::check(library(), &assertions::fusion(&plain("f64", sizes)), &device);
            made.unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

/// Checks a device with many threads. The host has a library for this device.
#[test]
fn products_on_a_gpu_are_left_to_its_library() {
    let without = DeviceDescription::sm(90);
    let device = DeviceDescription { has_product_library: true, ..without.clone() };
    for (element, sizes) in [("bf16", [64, 512, 33]), ("f32", [300, 300, 501]), ("c128", [129, 64, 64])] {
        let fusion = assertions::fusion(&plain(element, sizes));
        plans::check(library(), &fusion, &device).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(matches!(library().consider(&fusion, &without), Verdict::Decline(_)));
    }
    let in_pieces = "fusion { a = f32[64,64,32] parameter(0)\n b = f32[64,64,32] parameter(1)\n ROOT d = f32[32,64,64] dot(a, b), \
                     lhs_batch_dims={2}, lhs_contracting_dims={1}, rhs_batch_dims={2}, rhs_contracting_dims={0} }";
    assert!(matches!(library().consider(&assertions::fusion(in_pieces), &device), Verdict::Decline(_)));
}

#[test]
fn a_small_product_is_work_for_one_core() {
    let of_block = |sizes, threads| {
        let plan = plans::check(library(), &assertions::fusion(&plain("f32", sizes)), &DeviceDescription::cpu(threads));
        let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
        plan.work.additions / plan.launch.blocks as f64
    };
    assert_eq!(of_block([64; 3], 2), of_block([64; 3], 1));
    assert_eq!(of_block([1024; 3], 2) * 2.0, of_block([1024; 3], 1));
}

#[test]
fn what_it_does_not_have_is_declined_in_words() {
    let reason = |text: &str| match library().consider(&assertions::fusion(text), &DeviceDescription::cpu(2)) {
        Verdict::Decline(decline) => decline.reason,
        other => panic!("{other:?}"),
    };
    assert!(reason(&plain("bf16", [64, 64, 64])).contains("no products of bf16"));
    assert!(reason(&plain("s32", [64, 64, 64])).contains("f32, f64, c64 and c128"));
    assert!(reason(&plain("f32", [1, 64, 64])).contains("at least 32"));
    assert!(reason(&plain("f32", [47, 64, 64])).contains("at least 48 rows"));
    assert!(reason(&plain("f32", [48, 48, 48])).contains("at least 131072 products"));
    let text = "fusion { a = f32[64,64] parameter(0)\n b = f32[64,64] parameter(1)\n n = f32[64,64] negate(a)\n \
                ROOT d = f32[64,64] dot(n, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    assert_eq!(reason(text), "the fusion computes more than a dot of its parameters");
}
