//! Checks the plans of the emitters, and compares their kernels with the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod chain_plans;
mod chains;
mod cpu;
mod cpu_plans;
mod equal_numbers;
mod forms;
mod fusions;
mod gpu_plans;
mod parts;
mod ptx;

use fusebox_conformance::{Compiler, named, plans, takers};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Emitter, Fusion, Plan};
use fusebox_emitter_reduce::emitters;

/// Checks results on the cpu and on the simulated GPU. Returns the names of the emitters.
fn check(text: &str) -> [String; 2] {
    compiler().check(text).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Checks results like `check`, but prefers the named emitter if it accepts the fusion.
fn check_by(text: &str, name: &str) -> [String; 2] {
    let made = Compiler::new(emitters())
        .and_then(|compiler| compiler.preferring(&[name]))
        .and_then(|compiler| compiler.check(text));
    made.unwrap_or_else(|failure| panic!("{failure}"))
}

fn compiler() -> Compiler {
    Compiler::new(emitters()).unwrap()
}

/// Checks the plans of all emitters that accept a fusion. Returns the plan of the first emitter.
fn planned(fusion: &Fusion, device: &DeviceDescription) -> Plan {
    let plan = |emitter: &&dyn Emitter| planned_by(&emitter.descriptor().name, fusion, device);
    let mut plans = takers(&emitters(), fusion, device).iter().map(plan).collect::<Vec<_>>();
    plans.swap_remove(0)
}

/// Checks the plan of the named emitter, and returns the plan.
fn planned_by(name: &str, fusion: &Fusion, device: &DeviceDescription) -> Plan {
    let plan = named(emitters(), name).and_then(|emitter| plans::check(emitter, fusion, device));
    plan.unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn every_emitter_conforms() {
    for emitter in emitters() {
        let report = fusebox_conformance::check_seeds(Box::leak(emitter), "reduce", 1..31);
        println!("{:?}", report.unwrap_or_else(|failure| panic!("{failure}")));
    }
}
