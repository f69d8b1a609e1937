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

/// A cpu with registers of 64 bytes, and with this machine's instructions for narrow products.
fn wide() -> DeviceDescription {
    let (tile_products, word_products) = (Target::cpu().tile_products(), Target::cpu().word_products());
    DeviceDescription { register_bytes: 64, registers: 32, tile_products, word_products, ..DeviceDescription::cpu(2) }
}

/// Processors with different registers and instructions.
fn machines() -> [Machine; 2] {
    let narrow = Target::named("cpu,-avx512").unwrap();
    [Machine::new(narrow, DeviceDescription::cpu(2)), Machine::new(Target::cpu(), wide())]
}

/// A compiler without the library's emitter, which would take some of the products.
fn compiler() -> Compiler {
    let all = fusebox_bundle::emitters().into_iter();
    let others = all.filter(|emitter| emitter.descriptor().name != "library-product").collect();
    Compiler::of(Registry::new(others).unwrap(), Vec::new())
}

/// Compiles and runs a module with small integers on all processors. The results must equal the
/// interpreter's bit by bit.
fn exact(text: &str) -> [Made; 2] {
    let inputs = inputs(text, literals::small_integers).unwrap();
    let made = compiler().compared(text, machines(), &inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{failure}"))
}

/// The names of the kernels' emitters.
fn makers(made: &[Made; 2]) -> [String; 2] {
    [0, 1].map(|machine| made[machine].emitters.join(" "))
}

/// Asserts that the contraction emitter compiles the only kernel and that its results are right.
fn contracts(text: &str) {
    assert_eq!(makers(&exact(text)), ["contraction", "contraction"], "{text}");
}
