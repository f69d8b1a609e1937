//! Checks that the examination detects an emitter that breaks a promise. The report must name the
//! promise, the fusion and the location.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU32, Ordering};

use fusebox_conformance::examine::{
    ExaminationReport, ExaminationSettings, ModuleFusion, Promise, TestedTarget, examine,
};
use fusebox_conformance::{Progress, Registry, check_seeds, named};
use fusebox_core::builder::{KernelBuilder, Type};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict,
};

/// The loop emitter with a fault. Each variant is one fault.
enum FaultyLoop {
    /// Maps cover elements twice.
    Overlaps,
    /// Kernels write zeros.
    Zeros,
    /// Kernels of all alternatives of a plan except the first write zeros.
    LaterZeros,
    /// Threads that should have no work compute elements too.
    GoesOn,
    /// All threads also write the first element.
    Races,
    /// The emitter accepts every fusion.
    TakesAll,
    /// The emitter panics when it plans a large fusion.
    Panics,
    /// Each plan differs from the previous one.
    Wavers(AtomicU32),
    /// Plans offer an impossible alternative.
    OffersTheImpossible,
    /// The emitter declines every fusion.
    Declines,
}

fn inner() -> &'static dyn Emitter {
    named(fusebox_bundle::emitters(), "loop").unwrap()
}

impl Emitter for FaultyLoop {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("loop".into()), name: "broken".into(), version: "0.1.0".into() }
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        match self {
            FaultyLoop::Declines => Verdict::Decline(Decline::new("not today")),
            FaultyLoop::TakesAll => Verdict::Accept,
            FaultyLoop::Zeros | FaultyLoop::LaterZeros | FaultyLoop::GoesOn | FaultyLoop::Races
                if fusion.output_shapes().len() > 1 =>
            {
                Verdict::Decline(Decline::new("several results"))
            }
            _ => inner().consider(fusion, device),
        }
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        let mut plan = inner().plan(fusion, device, configuration)?;
        match self {
            FaultyLoop::Panics if plan.launch.blocks > 1 => panic!("too many blocks"),
            FaultyLoop::Overlaps => plan.outputs.iter_mut().for_each(|output| output.maps.extend(output.maps.clone())),
            FaultyLoop::OffersTheImpossible => plan.alternatives.push([("blocks", -1), ("threads", -1)].into()),
            FaultyLoop::Wavers(asked) => plan.notes.push(asked.fetch_add(1, Ordering::Relaxed).to_string()),
            _ => {}
        }
        Ok(plan)
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let is_wrong = match self {
            FaultyLoop::Zeros | FaultyLoop::GoesOn | FaultyLoop::Races => true,
            FaultyLoop::LaterZeros => {
                let first = inner().plan(fusion, device, &Configuration::default())?;
                first.alternatives.iter().skip(1).any(|later| *later == plan.configuration)
            }
            _ => false,
        };
        if !is_wrong {
            return inner().emit(fusion, device, plan);
        }
        let mut kernel = KernelBuilder::new(fusion);
        let (point, outputs) = ([kernel.thread(), kernel.block()], kernel.outputs().to_vec());
        let element = Type::of_element(fusion.output_shapes()[0].as_array().unwrap().element_type);
        let values = kernel.values(&fusion.roots);
        let mut map = plan.outputs[0].maps[0].clone();
        if matches!(self, FaultyLoop::GoesOn) {
            map.constraints.clear();
        }
        let written = kernel.indexed_loop(&map, &point, &outputs, &[], |b, _, index, outputs| {
            let value = match self {
                FaultyLoop::Zeros | FaultyLoop::LaterZeros => b.zero(&element),
                _ => b.call_subgraph(&values, index, &[])[0],
            };
            let written = b.insert(value, outputs[0], index);
            let first = vec![b.index(0); index.len()];
            vec![if matches!(self, FaultyLoop::Races) { b.insert(value, written, &first) } else { written }]
        });
        kernel.finish(&written)
    }
}

/// Returns the error message for an emitter with this fault.
fn said(broken: FaultyLoop) -> String {
    let failure = check_seeds(Box::leak(Box::new(broken)), "loop", 1..21).unwrap_err();
    failure.to_string()
}

/// Examines an emitter with this fault, and returns the report.
fn found(broken: FaultyLoop) -> ExaminationReport {
    let mut emitters = fusebox_bundle::emitters();
    emitters.push(Box::new(broken));
    let number = emitters.len() - 1;
    let settings = ExaminationSettings {
        kind: "loop".into(),
        seeds: 1..2,
        of_programs: true,
        of_modules: Vec::new(),
        driver: None,
    };
    examine(&Registry::new(emitters).unwrap(), number, &settings, &Progress::default())
}

#[test]
fn a_fusion_without_a_right_result_is_reported() {
    let text = "fusion {\n  t = (f32[8]) parameter(0)\n  ROOT r = f32[8] get-tuple-element(t), index=0\n}\n";
    let of_modules = vec![ModuleFusion { name: "part of m.hlo".into(), text: text.into() }];
    let settings =
        ExaminationSettings { kind: "loop".into(), seeds: 1..4, of_programs: false, of_modules, driver: None };
    let emitters = fusebox_bundle::emitters();
    let number = emitters.iter().position(|emitter| emitter.descriptor().name == "loop").unwrap();
    let report = examine(&Registry::new(emitters).unwrap(), number, &settings, &Progress::default());
    let unchecked = &report.unchecked[0];
    assert_eq!((&*unchecked.fusion, &*unchecked.words), ("part of m.hlo", "a parameter is no array"));
    assert!(report.is_undecided() && !report.conforms() && report.taken > 0, "{report:?}");
    let mut text = Vec::new();
    report.write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("part of m.hlo cannot be checked\n  a parameter is no array\n"), "{text}");
    assert!(text.ends_with("undecided, because not all fusions could be checked\n"), "{text}");
}

#[test]
fn an_examination_says_which_promise_is_broken_where_and_shrinks_the_fusion() {
    for (broken, promise, place, words) in [
        (FaultyLoop::Overlaps, Promise::Plan, TestedTarget::Simt, "is reached twice"),
        (FaultyLoop::Zeros, Promise::Result, TestedTarget::Simt, "] is 0"),
        (FaultyLoop::GoesOn, Promise::Behaves, TestedTarget::Simt, "is faulty"),
        (FaultyLoop::Races, Promise::Behaves, TestedTarget::Simt, "second write to element 0"),
        (FaultyLoop::Wavers(AtomicU32::new(0)), Promise::Repeats, TestedTarget::Simt, "asked twice"),
        (FaultyLoop::Panics, Promise::Answers, TestedTarget::Simt, "too many blocks"),
    ] {
        let report = found(broken);
        let finding = report.findings.iter().find(|it| (it.promise, it.place) == (promise, place));
        let finding = finding.unwrap_or_else(|| panic!("{report:?}"));
        assert!(finding.words.contains(words) && !report.conforms(), "{finding:?}");
        let lines = finding.text.lines().filter(|line| line.contains(" = ")).count();
        assert!(lines <= 3, "{promise:?}: {lines} instructions are left:\n{}", finding.text);
        let mut text = Vec::new();
        report.write(&mut text).unwrap();
        assert!(
            String::from_utf8(text)
                .unwrap()
                .ends_with("does not conform; after so many failures the rest was not tried\n")
        );
    }
}

#[test]
fn an_emitter_that_takes_nothing_or_everything_does_not_conform() {
    let nothing = found(FaultyLoop::Declines);
    assert!(nothing.taken == 0 && nothing.findings.is_empty() && !nothing.conforms(), "{nothing:?}");
    assert_eq!(nothing.declined[0].0, "not today");
    let all = found(FaultyLoop::TakesAll);
    assert!(all.findings.iter().any(|finding| finding.promise == Promise::Declines), "{all:?}");
}

#[test]
fn what_is_right_passes() {
    let report = check_seeds(inner(), "loop", 1..21).unwrap();
    let tried = report.tried();
    assert!(report.fusions == 20 && tried.plans > 40 && tried.kernels > 20 && report.conforms(), "{report:?}");
}

#[test]
fn a_plan_that_overlaps() {
    let said = said(FaultyLoop::Overlaps);
    assert!(said.starts_with("broken on simt: with {") && said.contains("the fusion of seed "), "{said}");
    assert!(said.contains("is reached twice"), "{said}");
}

#[test]
fn a_kernel_that_writes_something_else() {
    let said = said(FaultyLoop::Zeros);
    assert!(said.contains(" on simt: result 0: element [") && said.contains("] is 0"), "{said}");
    assert!(said.contains("instead of") && said.contains("the fusion of seed "), "{said}");
}

#[test]
fn a_kernel_of_another_configuration_that_writes_something_else() {
    let said = said(FaultyLoop::LaterZeros);
    assert!(said.contains(": with {") && said.contains("] is 0"), "{said}");
}

#[test]
fn answers_that_differ() {
    assert!(said(FaultyLoop::Wavers(AtomicU32::new(0))).contains("asked twice it answers differently"));
}

#[test]
fn an_alternative_that_is_none() {
    let said = said(FaultyLoop::OffersTheImpossible);
    assert!(said.starts_with("broken on simt: with {\"blocks\": -1"), "{said}");
}

#[test]
fn nothing_taken_is_nothing_tested() {
    assert!(said(FaultyLoop::Declines).contains("it takes none of the fusions"));
}
