//! Checks that the claim of an emitter for an operation reaches the host unchanged. The emitter is
//! linked in, or it sends bytes. The host must refuse invalid claims.

use std::path::Path;
use std::sync::Arc;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Candidate, Claim, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, HeroPlace, Kernel, KernelKind,
    Pass, Plan, Verdict,
};
use fusebox_core::hlo::Opcode;
use fusebox_core::plugin::serve;
use fusebox_plugins::{Failure, FailureKind, Registry};

use crate::fusion_named;

/// Returns the claim for an operation.
type ClaimOf = fn(&Candidate) -> Option<Claim>;

/// An emitter that claims negations.
struct Claimant(ClaimOf);

impl Emitter for Claimant {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("signs".into()), name: "claimant".into(), version: "1.0.0".into() }
    }

    fn heroes(&self) -> Vec<Opcode> {
        vec![Opcode::Negate]
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

/// Returns the claims that reach the host, from a linked emitter and from bytes.
fn carried(claim: ClaimOf) -> [Result<Option<Claim>, Failure>; 2] {
    let linked = Registry::new(vec![Box::new(Claimant(claim))]).unwrap();
    let mut bytes = Registry::default();
    let answers = move |request: &[u8]| serve(|| vec![Box::new(Claimant(claim)) as Box<dyn Emitter>], request);
    bytes.add_answers(Path::new("claimant.so"), Arc::new(answers)).unwrap();
    let region = fusion_named("negate");
    let anchor = region.computation().root;
    let candidate = Candidate { region, anchor };
    [linked, bytes].map(|registry| {
        let emitter = &registry.emitters()[0];
        assert_eq!(emitter.heroes(), [Opcode::Negate]);
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
        })
    };
    let said = whole(&Candidate { region: fusion_named("negate"), anchor: fusebox_core::hlo::InstrId(1) });
    assert_eq!(carried(whole), [Ok(said.clone()), Ok(said)]);
    assert_eq!(carried(|_| None), [Ok(None), Ok(None)]);
}

#[test]
fn nonsense_is_refused_and_named() {
    let nonsense: [(ClaimOf, &str); 11] = [
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
