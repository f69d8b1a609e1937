//! Emitters that break a promise are caught, and the report says which, on what, and where.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU32, Ordering};

use fusebox_conformance::{check_seeds, named};
use fusebox_core::builder::{KernelBuilder, Type};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan, Verdict,
};

/// The loop emitter with a fault.
enum Broken {
    /// Elements are computed twice.
    Overlaps,
    /// The first fusion gets zeros.
    Zeros,
    /// Each answer is another one.
    Wavers(AtomicU32),
    /// An alternative is none.
    OffersTheImpossible,
    /// Nothing is good enough.
    Declines,
}

fn inner() -> &'static dyn Emitter {
    named(fusebox_bundle::emitters(), "loop").unwrap()
}

impl Emitter for Broken {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("loop".into()), name: "broken".into(), version: "0.1.0".into() }
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        match self {
            Broken::Declines => Verdict::Decline(Decline::new("not today")),
            Broken::Zeros if fusion.output_shapes().len() > 1 => Verdict::Decline(Decline::new("several results")),
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
            Broken::Overlaps => plan.outputs.iter_mut().for_each(|output| output.maps.extend(output.maps.clone())),
            Broken::OffersTheImpossible => plan.alternatives.push([("blocks", -1), ("threads", -1)].into()),
            Broken::Wavers(asked) => plan.notes.push(asked.fetch_add(1, Ordering::Relaxed).to_string()),
            _ => {}
        }
        Ok(plan)
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        if !matches!(self, Broken::Zeros) {
            return inner().emit(fusion, device, plan);
        }
        let mut kernel = KernelBuilder::new(fusion);
        let (point, outputs) = ([kernel.thread(), kernel.block()], kernel.outputs().to_vec());
        let element = Type::of_element(fusion.output_shapes()[0].as_array().unwrap().element_type);
        let written = kernel.indexed_loop(&plan.outputs[0].maps[0], &point, &outputs, &[], |b, _, index, outputs| {
            let zero = b.zero(&element);
            vec![b.insert(zero, outputs[0], index)]
        });
        kernel.finish(&written)
    }
}

/// What is said of an emitter with this fault.
fn said(broken: Broken) -> String {
    let failure = check_seeds(Box::leak(Box::new(broken)), "loop", 1..21).unwrap_err();
    failure.to_string()
}

#[test]
fn what_is_right_passes() {
    let report = check_seeds(inner(), "loop", 1..21).unwrap();
    assert!(report.fusions == 20 && report.plans > 40 && report.kernels > 20, "{report:?}");
}

#[test]
fn a_plan_that_overlaps() {
    let said = said(Broken::Overlaps);
    assert!(said.starts_with("broken on cpu with {") && said.contains("the fusion of seed "), "{said}");
    assert!(said.contains("is reached twice"), "{said}");
}

#[test]
fn a_kernel_that_writes_something_else() {
    let said = said(Broken::Zeros);
    assert!(said.contains(" on cpu: result 0: element [") && said.contains("] is 0"), "{said}");
    assert!(said.contains("instead of") && said.contains("the fusion of seed "), "{said}");
}

#[test]
fn answers_that_differ() {
    assert!(said(Broken::Wavers(AtomicU32::new(0))).contains("asked twice it answers differently"));
}

#[test]
fn an_alternative_that_is_none() {
    let said = said(Broken::OffersTheImpossible);
    assert!(said.starts_with("broken on cpu with {\"blocks\": -1"), "{said}");
}

#[test]
fn nothing_taken_is_nothing_tested() {
    assert!(said(Broken::Declines).contains("it takes none of 20 fusions of kind loop"));
}
