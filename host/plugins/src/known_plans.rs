//! Keeps the plans of emitters, so that an emitter plans each kernel only once. The host asks for
//! the plan of a kernel several times: when it predicts a bid, when it predicts its own kernels,
//! and when it selects emitters.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Plan, SharedAnalyses, Verdict};
use fusebox_core::hlo::{Op, canonical_text};
use fusebox_prediction::Prediction;

use crate::failure::Failure;
use crate::loaded_emitter::LoadedEmitter;

/// A plan without knobs, and the prediction for this plan.
pub type PlanWithPrediction = (Plan, Prediction);

/// The verdicts and plans of the emitters of one registry, for one device. Declines and failures
/// are not kept, because their reasons contain the names of instructions and parameters.
#[derive(Debug, Default)]
pub struct KnownPlans {
    /// The key is the canonical text of the fusion.
    forms: RefCell<HashMap<String, Rc<PlansOfForm>>>,
}

/// The verdicts and plans for all fusions with the same canonical text.
#[derive(Debug)]
pub struct PlansOfForm {
    analyses: SharedAnalyses,
    accepted: RefCell<Vec<Accepted>>,
}

/// The answers of an emitter that accepts a fusion.
#[derive(Debug)]
struct Accepted {
    /// Index of the emitter in the registry.
    emitter: usize,
    /// Names of the fusion's instructions other than parameters. The notes of a plan contain names,
    /// so fusions with other names do not share the plan.
    names: Vec<String>,
    verdict: Verdict,
    /// The plan without knobs, once it is known.
    planned: Option<PlanWithPrediction>,
}

impl KnownPlans {
    /// Returns the plans for a fusion. After this call, the fusion shares the results of analyses
    /// with all fusions that have the same canonical text.
    pub fn of(&self, fusion: &mut Fusion) -> Rc<PlansOfForm> {
        self.of_form(canonical_text(&fusion.module), fusion)
    }

    /// Does the same as [`KnownPlans::of`] for a caller that knows the fusion's canonical text,
    /// `form`.
    pub fn of_form(&self, form: String, fusion: &mut Fusion) -> Rc<PlansOfForm> {
        let mut forms = self.forms.borrow_mut();
        let plans = forms.entry(form).or_insert_with(|| Rc::new(PlansOfForm::of(fusion)));
        fusion.share_analyses(&plans.analyses);
        Rc::clone(plans)
    }
}

impl PlansOfForm {
    /// Creates an empty list of plans, for fusions that share the analyses of this fusion.
    pub(crate) fn of(fusion: &Fusion) -> PlansOfForm {
        PlansOfForm { analyses: fusion.analyses(), accepted: RefCell::default() }
    }

    /// Asks emitter number `number` whether it accepts the fusion, unless the answer is known.
    ///
    /// # Errors
    /// If the emitter gives no usable answer.
    pub fn verdict(
        &self,
        number: usize,
        emitter: &LoadedEmitter,
        fusion: &Fusion,
        device: &DeviceDescription,
    ) -> Result<Verdict, Failure> {
        if let Some(known) = self.accepted.borrow().iter().find(|known| known.is_of(number, fusion)) {
            return Ok(known.verdict.clone());
        }
        let verdict = emitter.consider(fusion, device)?;
        if verdict.accepts() {
            let names = names(fusion).map(str::to_owned).collect();
            let accepted = Accepted { emitter: number, names, verdict: verdict.clone(), planned: None };
            self.accepted.borrow_mut().push(accepted);
        }
        Ok(verdict)
    }

    /// Returns the plan of emitter number `number`, which accepts the fusion. If the plan is not
    /// known, calls `ask`, which asks the emitter for the plan.
    ///
    /// # Errors
    /// The error of `ask`.
    pub(crate) fn plan(
        &self,
        number: usize,
        fusion: &Fusion,
        ask: impl FnOnce() -> Result<PlanWithPrediction, Failure>,
    ) -> Result<PlanWithPrediction, Failure> {
        let accepted = self.accepted.borrow();
        let known = accepted.iter().find(|known| known.is_of(number, fusion)).and_then(|known| known.planned.clone());
        drop(accepted);
        if let Some(known) = known {
            return Ok(known);
        }
        let planned = ask()?;
        if let Some(known) = self.accepted.borrow_mut().iter_mut().find(|known| known.is_of(number, fusion)) {
            known.planned = Some(planned.clone());
        }
        Ok(planned)
    }
}

impl Accepted {
    fn is_of(&self, emitter: usize, fusion: &Fusion) -> bool {
        self.emitter == emitter && names(fusion).eq(self.names.iter().map(String::as_str))
    }
}

/// Returns the names of a fusion's instructions other than parameters.
fn names(fusion: &Fusion) -> impl Iterator<Item = &str> {
    let instructions = fusion.computation().instructions.iter();
    let computed = instructions.filter(|instruction| !matches!(instruction.op, Op::Parameter { .. }));
    computed.map(|instruction| instruction.name.as_str())
}
