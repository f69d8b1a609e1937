//! Checks that the host asks an emitter once for the verdict and the plan of a fusion, and that
//! fusions share these answers only if all parts of the answers are right for both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Analysis, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, LaunchDimensions,
    OutputPlan, Plan, Verdict,
};
use fusebox_core::hlo::parse_module;
use fusebox_core::indexing::{Expr, IndexingMap, Variable};
use fusebox_plugins::{KnownPlans, Registry, SelectError, Selection, select_known};

/// Numbers of questions to an emitter.
#[derive(Default)]
struct Questions {
    verdicts: AtomicUsize,
    plans: AtomicUsize,
}

impl Questions {
    fn asked(&self) -> [usize; 2] {
        [&self.verdicts, &self.plans].map(|count| count.load(Ordering::Relaxed))
    }
}

/// An emitter that counts questions. It accepts fusions of `f32[64]`, and fails to plan fusions
/// whose result has the name `hopeless`.
struct Counted(&'static str, Arc<Questions>);

impl Emitter for Counted {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("loop".into()), name: self.0.into(), version: "1.0.0".into() }
    }

    fn consider(&self, fusion: &Fusion, _: &DeviceDescription) -> Verdict {
        self.1.verdicts.fetch_add(1, Ordering::Relaxed);
        match fusion.output_shapes()[0].as_array() {
            Some(array) if array.dims == [64] => Verdict::Accept,
            _ => Verdict::Decline(Decline::new("too large")),
        }
    }

    fn plan(&self, fusion: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        self.1.plans.fetch_add(1, Ordering::Relaxed);
        let root = &fusion.computation().instruction(fusion.roots[0]).name;
        if root == "hopeless" {
            return Err(EmitError::new("no plan"));
        }
        let output = OutputPlan::unique(IndexingMap {
            dims: vec![Variable::named("th", 1), Variable::named("bl", 1)],
            ranges: vec![Variable::named("i", 64)],
            results: vec![Expr::range(0)],
            ..IndexingMap::default()
        });
        let mut plan = Plan::new(LaunchDimensions { blocks: 1, threads_per_block: 1 }, vec![output]);
        plan.notes.push(format!("computes {root}"));
        Ok(plan)
    }

    fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        Err(EmitError::new("not here"))
    }
}

/// Returns the fusion `root = negate(parameter)` of arrays with `size` numbers.
fn negation(name: &str, parameter: &str, root: &str, size: usize) -> Fusion {
    let text = format!(
        "HloModule m\n\nENTRY fused {{\n  {parameter} = f32[{size}] parameter(0)\n  \
         ROOT {root} = f32[{size}] negate({parameter})\n}}\n"
    );
    Fusion::new(name, parse_module(&text, "test").unwrap()).unwrap()
}

/// A registry with the counting emitter, the plans known so far, and the numbers of questions.
struct Host {
    registry: Registry,
    known: KnownPlans,
    questions: Arc<Questions>,
}

impl Host {
    fn new() -> Host {
        let questions = Arc::new(Questions::default());
        // The host asks for plans only if several emitters accept. Emitters with equal times are
        // ordered by name.
        let counted = Counted("counted", Arc::clone(&questions));
        let registry = Registry::new(vec![Box::new(counted), Box::new(Counted("rival", Arc::default()))]).unwrap();
        Host { registry, known: KnownPlans::default(), questions }
    }

    fn select(&self, mut fusion: Fusion) -> Result<Selection, SelectError> {
        let plans = self.known.of(&mut fusion);
        select_known(&self.registry, &fusion, &DeviceDescription::cpu(1), &[], &plans)
    }

    /// Selects the emitter, and returns the notes of its plan.
    fn notes(&self, fusion: Fusion) -> Vec<String> {
        let selection = self.select(fusion).unwrap();
        selection.order[0].planned.clone().unwrap().unwrap().0.notes
    }
}

#[test]
fn an_emitter_answers_once_for_fusions_that_differ_in_names_of_parameters() {
    let host = Host::new();
    assert_eq!(host.notes(negation("f", "p", "root", 64)), ["computes root"]);
    assert_eq!(host.questions.asked(), [1, 1]);
    assert_eq!(host.notes(negation("g", "q", "root", 64)), ["computes root"]);
    assert_eq!(host.questions.asked(), [1, 1], "the answers are known");
}

#[test]
fn fusions_with_other_names_have_their_own_plans() {
    let host = Host::new();
    assert_eq!(host.notes(negation("f", "p", "root", 64)), ["computes root"]);
    assert_eq!(host.notes(negation("f", "p", "other", 64)), ["computes other"]);
    assert_eq!(host.questions.asked(), [2, 2]);
    assert_eq!(host.notes(negation("f", "p", "root", 64)), ["computes root"]);
    assert_eq!(host.questions.asked(), [2, 2], "both plans are kept");
}

#[test]
fn declines_and_failures_are_not_kept() {
    let host = Host::new();
    for times in 1..=2 {
        let declined = host.select(negation("f", "p", "root", 65));
        assert!(matches!(declined, Err(SelectError::Nobody { .. })));
        assert_eq!(host.questions.asked(), [times, 0]);
    }
    for times in 1..=2 {
        let selection = host.select(negation("f", "p", "hopeless", 64)).unwrap();
        assert!(selection.order[0].failure().is_some());
        assert_eq!(host.questions.asked(), [3, times], "the verdict is kept, the failure is not");
    }
}

/// The number of instructions of a fusion, unless its result has the name `hopeless`.
struct Size(usize);

impl Analysis for Size {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        match computation.instruction(fusion.roots[0]).name.as_str() {
            "hopeless" => Err(Decline::new("no size")),
            _ => Ok(Size(computation.instructions.len())),
        }
    }
}

#[test]
fn fusions_with_equal_text_share_analyses() {
    let known = KnownPlans::default();
    let analysed = |mut fusion: Fusion| {
        known.of(&mut fusion);
        fusion.analysis::<Size>()
    };
    let first = analysed(negation("f", "p", "root", 64));
    assert!((*first).as_ref().is_ok_and(|size| size.0 == 2));
    assert!(Arc::ptr_eq(&first, &analysed(negation("g", "q", "other", 64))));
    assert!(!Arc::ptr_eq(&first, &analysed(negation("h", "p", "root", 65))), "the text differs");
}

#[test]
fn fusions_do_not_share_reasons_against_an_analysis() {
    let known = KnownPlans::default();
    let [mut hopeless, mut fine] = ["hopeless", "root"].map(|root| negation("f", "p", root, 64));
    known.of(&mut hopeless);
    known.of(&mut fine);
    assert!(hopeless.analysis::<Size>().is_err());
    assert!(fine.analysis::<Size>().is_ok());
}
