//! Checks the plans of the emitters, and compares their kernels with the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bids;
mod claims;
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

/// Returns a cpu with registers of 64 bytes, and with the instructions for narrow products that
/// this machine has.
fn wide() -> DeviceDescription {
    let (tile_products, word_products) = (Target::cpu().tile_products(), Target::cpu().word_products());
    DeviceDescription { register_bytes: 64, registers: 32, tile_products, word_products, ..DeviceDescription::cpu(2) }
}

/// Returns processors with different registers and instructions.
fn machines() -> [Machine; 2] {
    let narrow = Target::named("cpu,-avx512").unwrap();
    [Machine::new(narrow, DeviceDescription::cpu(2)), Machine::new(Target::cpu(), wide())]
}

/// Returns a compiler without the emitter of the library, which would accept some of the products.
fn compiler() -> Compiler {
    let all = fusebox_bundle::emitters().into_iter();
    let others = all.filter(|emitter| emitter.descriptor().name != "library-product").collect();
    Compiler::of(Registry::new(others).unwrap(), Vec::new())
}

/// Compiles a module and runs it with small integers on all processors. The bits of the results
/// must equal those of the interpreter's results.
fn exact(text: &str) -> [Made; 2] {
    let inputs = inputs(text, literals::small_integers).unwrap();
    let made = compiler().compared(text, machines(), &inputs, Closeness::Bits);
    made.unwrap_or_else(|failure| panic!("{failure}"))
}

/// Returns the names of the kernels' emitters.
fn makers(made: &[Made; 2]) -> [String; 2] {
    [0, 1].map(|machine| made[machine].emitters.join(" "))
}

/// Asserts that the contraction emitter compiles the only kernel and that its results are right.
fn contracts(text: &str) {
    assert_eq!(makers(&exact(text)), ["contraction", "contraction"], "{text}");
}
