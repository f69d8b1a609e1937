//! Checks that the claim of an emitter for an operation reaches the host unchanged. The emitter is
//! linked in, or it sends bytes. The host must refuse invalid claims.

use std::path::Path;
use std::sync::Arc;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Candidate, Claim, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, HeroPlace, Kernel, KernelKind,
    Parts, Pass, Plan, Verdict,
};
use fusebox_core::hlo::{Opcode, parse_module};
use fusebox_core::plugin::serve;
use fusebox_plugins::{Failure, FailureKind, Registry};

use crate::fusion_named;

/// Returns the claim for an operation.
type ClaimOf = fn(&Candidate) -> Option<Claim>;

/// An emitter that claims negations and reductions.
struct Claimant(ClaimOf);

impl Emitter for Claimant {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("signs".into()), name: "claimant".into(), version: "1.0.0".into() }
    }

    fn heroes(&self) -> Vec<Opcode> {
        vec![Opcode::Negate, Opcode::Reduce]
    }

    fn claim(&self, hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
        assert_eq!(hero.region.computation().instruction(hero.anchor).name, "root");
        (self.0)(hero)
    }

    fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict {
        Verdict::Decline(Decline::new("not here"))
    }

    fn plan(&self, _: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        Err(EmitError::new("not here"))
    }

    fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        Err(EmitError::new("not here"))
    }
}

/// Returns the claims for a negation that reach the host, from a linked emitter and from bytes.
fn carried(claim: ClaimOf) -> [Result<Option<Claim>, Failure>; 2] {
    carried_for(fusion_named("negate"), claim)
}

/// Returns the reduction of an array over its dimensions 0 and 2.
fn reduction() -> Fusion {
    let text = "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n\
                ENTRY fused {\n  x = f32[4,5,6] parameter(0)\n  z = f32[] parameter(1)\n  \
                ROOT root = f32[5] reduce(x, z), dimensions={0,2}, to_apply=add\n}\n";
    Fusion::new("reduce", parse_module(text, "test").unwrap()).unwrap()
}

/// Returns the claims for a region's root that reach the host, from a linked emitter and from
/// bytes.
fn carried_for(region: Fusion, claim: ClaimOf) -> [Result<Option<Claim>, Failure>; 2] {
    let linked = Registry::new(vec![Box::new(Claimant(claim))]).unwrap();
    let mut bytes = Registry::default();
    let answers = move |request: &[u8]| serve(|| vec![Box::new(Claimant(claim)) as Box<dyn Emitter>], request);
    bytes.add_answers(Path::new("claimant.so"), Arc::new(answers)).unwrap();
    let anchor = region.computation().root;
    let candidate = Candidate { region, anchor };
    [linked, bytes].map(|registry| {
        let emitter = &registry.emitters()[0];
        assert_eq!(emitter.heroes(), [Opcode::Negate, Opcode::Reduce]);
        emitter.claim(&candidate, &DeviceDescription::simt())
    })
}

#[test]
fn a_claim_arrives_as_it_was_said() {
    let whole = |_: &Candidate| {
        Some(Claim {
            place: HeroPlace::Root,
            form: "signs of [64]".into(),
            lost_inside: f64::INFINITY,
            lost_beside: 2.5,
            pass: Some(Pass { dims: vec![64], operands: 1 }),
            starts_from: 1,
            updates: 1,
            reads: vec![0.5],
            orders: vec![vec![0]],
            parts: None,
            keeps_producers: true,
            as_sum: true,
        })
    };
    let said = whole(&Candidate { region: fusion_named("negate"), anchor: fusebox_core::hlo::InstrId(1) });
    assert_eq!(carried(whole), [Ok(said.clone()), Ok(said)]);
    assert_eq!(carried(|_| None), [Ok(None), Ok(None)]);
}

/// The default parts, for claims that differ in one field.
fn parts(change: fn(&mut Parts)) -> Option<Claim> {
    let mut parts = Parts { count: 8, together: 2, arithmetic: 16.0, second: vec![2] };
    change(&mut parts);
    Some(Claim { parts: Some(parts), ..Claim::default() })
}

#[test]
fn the_parts_of_a_reduction_arrive_as_they_were_said() {
    let said = parts(|_| {});
    assert_eq!(carried_for(reduction(), |_| parts(|_| {})), [Ok(said.clone()), Ok(said)]);
    let nonsense: [(ClaimOf, &str); 7] = [
        (|_| parts(|it| it.count = 0), "must be at least 1"),
        (|_| parts(|it| it.count = i64::MAX), "the parts of a reduction: 9223372036854775807; 1048576 is the limit"),
        (|_| parts(|it| it.together = -1), "must be at least 1"),
        (|_| parts(|it| it.arithmetic = 0.0), "must be a positive number"),
        (|_| parts(|it| it.arithmetic = f64::NAN), "must be a positive number"),
        (|_| parts(|it| it.second = vec![1]), "dimensions that it reduces"),
        (|_| parts(|it| it.second = vec![2, 0]), "in ascending order"),
    ];
    for (claim, words) in nonsense {
        for carried in carried_for(reduction(), claim) {
            let failure = carried.unwrap_err();
            assert!(failure.to_string().contains(words), "{words}: {failure}");
        }
    }
}

#[test]
fn nonsense_is_refused_and_named() {
    let nonsense: [(ClaimOf, &str); 12] = [
        (|_| parts(|_| {}), "parts of an operation that is no reduction"),
        (|_| Some(Claim { lost_inside: f64::NAN, ..Claim::default() }), "must be a number of additions"),
        (|_| Some(Claim { lost_beside: -1.0, ..Claim::default() }), "must be a number of additions"),
        (|_| Some(Claim { starts_from: 1, ..Claim::default() }), "so it must be the root"),
        (|_| Some(Claim { updates: 2, ..Claim::default() }), "operands that are updated: 2; 1 is the limit"),
        (
            |_| Some(Claim { place: HeroPlace::Root, starts_from: usize::MAX, ..Claim::default() }),
            "the operands that the results start from: 18446744073709551615; 1 is the limit",
        ),
        (
            |_| Some(Claim { pass: Some(Pass { dims: vec![64], operands: 2 }), ..Claim::default() }),
            "the operands that a pass reads: 2; 1 is the limit",
        ),
        (
            |_| Some(Claim { reads: vec![1.0, 1.0], ..Claim::default() }),
            "it states the elements read for some operands",
        ),
        (
            |_| Some(Claim { reads: vec![f64::INFINITY], ..Claim::default() }),
            "must be a finite number, and not negative",
        ),
        (|_| Some(Claim { orders: vec![vec![1]], ..Claim::default() }), "a permutation of its dimensions"),
        (|_| Some(Claim { orders: vec![vec![0]; 2], ..Claim::default() }), "one for each operand"),
        (|_| Some(Claim { form: "x".repeat(1 << 20), ..Claim::default() }), "the bytes of a claim's form: 1048576"),
    ];
    for (claim, words) in nonsense {
        for carried in carried(claim) {
            let failure = carried.unwrap_err();
            assert!(matches!(failure.kind, FailureKind::Claim(_) | FailureKind::Limit { .. }), "{failure}");
            assert!(failure.to_string().contains(words), "{words}: {failure}");
        }
    }
}

#[test]
fn a_panic_while_claiming_is_a_failure_of_the_emitter() {
    for carried in carried(|_| panic!("no claims today")) {
        let said = carried.unwrap_err().to_string();
        assert!(said.starts_with("emitter claimant 1.0.0 ("), "{said}");
        assert!(said.contains("failed while claiming fusion negate: it panicked: no claims today"), "{said}");
    }
}
