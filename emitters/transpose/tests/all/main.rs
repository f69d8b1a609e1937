//! Checks the plans of the emitters, and compares their kernels with the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fusions;
mod of_plans;

use fusebox_conformance::{Compiler, assertions, named, plans, takers};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan};
use fusebox_emitter_transpose::emitters;

/// Checks results on the cpu and on the simulated GPU. Returns the names of the emitters.
fn check(text: &str) -> [String; 2] {
    // Prefers the transpose emitters: for small arrays, the kernels of others are as fast.
    let packed = named(emitters(), "packed-transpose").unwrap_or_else(|failure| panic!("{failure}"));
    let is_packed = packed.consider(&assertions::fusion(text), &DeviceDescription::simt()).accepts();
    let of_gpus: &[&str] = if is_packed { &["packed-transpose"] } else { &["row-transpose", "tiled-transpose"] };
    let of_cpus = ["serial-row-transpose", "thin-transpose", "line-transpose", "panel-transpose"];
    let names = [of_gpus, &of_cpus].concat();
    let made = Compiler::new(emitters())
        .and_then(|compiler| compiler.preferring(&names))
        .and_then(|compiler| compiler.check(text));
    made.unwrap_or_else(|failure| panic!("{failure}"))
}

/// Checks the plans of all emitters that accept a fusion. Returns the plan of the first emitter.
fn planned(fusion: &Fusion, device: &DeviceDescription) -> Plan {
    let plan = |emitter: &&dyn Emitter| planned_by(&emitter.descriptor().name, fusion, device);
    let mut plans = takers(&emitters(), fusion, device).iter().map(plan).collect::<Vec<_>>();
    plans.swap_remove(0)
}

/// Returns the first emitter's plan of a fusion that is too large to check. Only requires that the
/// alternatives have plans.
fn planned_only(fusion: &Fusion, device: &DeviceDescription) -> Plan {
    let emitters = emitters();
    let emitter = takers(&emitters, fusion, device)[0];
    let plan = emitter.plan(fusion, device, &Configuration::default()).unwrap();
    plan.alternatives.iter().for_each(|other| _ = emitter.plan(fusion, device, other).unwrap());
    plan
}

/// Checks the plan of the named emitter, and returns the plan.
fn planned_by(name: &str, fusion: &Fusion, device: &DeviceDescription) -> Plan {
    let plan = named(emitters(), name).and_then(|emitter| plans::check(emitter, fusion, device));
    plan.unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn every_emitter_conforms() {
    for emitter in emitters() {
        let report = fusebox_conformance::check_seeds(Box::leak(emitter), "transpose", 1..31);
        println!("{:?}", report.unwrap_or_else(|failure| panic!("{failure}")));
    }
}
