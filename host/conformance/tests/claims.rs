//! Checks an emitter of a kind that fusebox does not know. Fusion must form the fusions that the
//! emitter claims, the emitter must build their kernels, and the results must be right.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use fusebox_conformance::{Compiler, Registry, named};
use fusebox_core::analysis::hero_of;
use fusebox_core::cost::bytes;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Candidate, Claim, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict,
};
use fusebox_core::hlo::{InstrId, Opcode};
use fusebox_core::plugin::serve;

/// An emitter that accepts reversals, and elementwise operations on the results of reversals. The
/// loop emitter builds its kernels.
struct Reversals;

fn as_loop_does() -> &'static dyn Emitter {
    named(fusebox_bundle::emitters(), "loop").unwrap_or_else(|failure| panic!("{failure}"))
}

impl Emitter for Reversals {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("reversal".into()), name: "reversals".into(), version: "1.0.0".into() }
    }

    fn heroes(&self) -> Vec<Opcode> {
        vec![Opcode::Reverse]
    }

    fn claim(&self, hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
        let lost = bytes(hero.region.computation().instruction(hero.anchor)) as f64;
        Some(Claim { lost_inside: lost, lost_beside: lost, ..Claim::default() })
    }

    fn consider(&self, fusion: &Fusion, _: &DeviceDescription) -> Verdict {
        let computation = fusion.computation();
        let form = |id: InstrId| (computation.instruction(id).opcode() == Opcode::Reverse).then_some(());
        let mut heroes = fusion.roots.iter().map(|&root| hero_of(computation, root, form));
        if heroes.all(|hero| hero.instruction.is_some()) {
            Verdict::Accept
        } else {
            Verdict::Decline(Decline::new("some result is no reversed array"))
        }
    }

    fn plan(&self, fusion: &Fusion, device: &DeviceDescription, knobs: &Configuration) -> Result<Plan, EmitError> {
        as_loop_does().plan(fusion, device, knobs)
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        as_loop_does().emit(fusion, device, plan)
    }
}

/// A program that applies elementwise operations to a reversed array. The value is a result, and a
/// reduction also reads it. Without the claim, one kernel would compute everything.
const PROGRAM: &str = "HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[160,128] parameter(0)
  zero = f32[] constant(0)
  back = f32[160,128] reverse(x), dimensions={0,1}
  small = f32[160,128] negate(back)
  sums = f32[160] reduce(small, zero), dimensions={1}, to_apply=add
  ROOT all = (f32[160,128], f32[160]) tuple(small, sums)
}";

#[test]
fn a_kernel_that_only_its_emitter_asks_for_is_made_and_right() {
    let without = Compiler::new(Vec::new()).unwrap().check(PROGRAM).unwrap();
    assert_eq!(without, ["serial-reduce", "row-reduce"]);
    let with = ["reversals serial-reduce", "reversals row-reduce"];
    let linked = Compiler::new(vec![Box::new(Reversals)]).unwrap();
    assert_eq!(linked.check(PROGRAM).unwrap(), with);
    let mut registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    let answers = |request: &[u8]| serve(|| vec![Box::new(Reversals) as Box<dyn Emitter>], request);
    registry.add_answers(Path::new("reversals.so"), Arc::new(answers)).unwrap();
    assert_eq!(Compiler::of(registry, Vec::new()).check(PROGRAM).unwrap(), with);
}
