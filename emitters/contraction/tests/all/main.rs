//! The emitters' plans, and their kernels against the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bids;
mod convolutions;
mod fusions;
mod gpu;
mod library;
mod of_convolutions;
mod of_plans;
mod products;
mod random;

use fusebox_conformance::literals::Closeness;
use fusebox_conformance::{Compiler, Machine, Made, Registry, Target, inputs, literals};
use fusebox_core::device::DeviceDescription;

/// Registers of 64 bytes, and products of narrow numbers where this machine has them.
fn wide() -> DeviceDescription {
    let (tile_products, word_products) = (Target::cpu().tile_products(), Target::cpu().word_products());
    DeviceDescription { register_bytes: 64, registers: 32, tile_products, word_products, ..DeviceDescription::cpu(2) }
}

/// Processors whose registers and instructions differ.
fn machines() -> [Machine; 2] {
    let narrow = Target::named("cpu,-avx512").unwrap();
    [Machine::new(narrow, DeviceDescription::cpu(2)), Machine::new(Target::cpu(), wide())]
}

/// Without the library, which would take some of the products.
fn compiler() -> Compiler {
    let all = fusebox_bundle::emitters().into_iter();
    let others = all.filter(|emitter| emitter.descriptor().name != "library-product").collect();
    Compiler::of(Registry::new(others).unwrap(), Vec::new())
}

/// Small integers give the interpreter's bits on all processors; what was made.
fn exact(text: &str) -> [Made; 2] {
    let inputs = inputs(text, literals::small_integers).unwrap();
    let made = compiler().compared(text, machines(), &inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{failure}"))
}

/// The names of the kernels' emitters.
fn makers(made: &[Made; 2]) -> [String; 2] {
    [0, 1].map(|machine| made[machine].emitters.join(" "))
}

/// The contraction emitter makes the only kernel, and its results are right.
fn contracts(text: &str) {
    assert_eq!(makers(&exact(text)), ["contraction", "contraction"], "{text}");
}
