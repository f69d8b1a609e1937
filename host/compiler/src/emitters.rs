//! The emitters of a compilation, the choices of the user and of tuning among these emitters, and
//! the functions that call emitters.

use std::cell::Cell;
use std::collections::HashMap;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Verdict, check_plan};
use fusebox_core::hlo::Opcode;
use fusebox_plugins::{Fingerprint, LoadedEmitter, Override, PlansOfForm, Ranked, Registry, select_known};
use fusebox_prediction::Prediction;

/// The emitters to choose from, and the choices of the user and of tuning.
#[derive(Clone, Default)]
pub struct Emitters {
    /// All registered emitters.
    pub registry: Registry,
    /// The user's choices. If several choices match a fusion, the last one wins.
    pub overrides: Vec<Override>,
    /// The emitters and knobs that were measured as the fastest, for fusions without a choice of
    /// the user.
    pub tuned: HashMap<Fingerprint, Tuned>,
    /// Name of the [cut](crate::Way) that tuning has chosen by measurement, for each
    /// [region](crate::Cut). Predictions do not decide how to cut these regions into kernels.
    pub cuts: HashMap<Fingerprint, String>,
    /// Whether only a part of a program is compiled, so that a choice without effect is not an
    /// error.
    pub of_part: bool,
}

/// The emitter and knobs that tuning has chosen for a fusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuned {
    /// Index of the emitter in the registry.
    pub emitter: usize,
    /// The knobs for the emitter's plan.
    pub knobs: Configuration,
    /// The SPEC that states the choice, in the syntax of the command line.
    pub spec: String,
}

impl From<Registry> for Emitters {
    fn from(registry: Registry) -> Self {
        Emitters { registry, ..Emitters::default() }
    }
}

impl Emitters {
    /// The emitters that come with fusebox.
    #[cfg(test)]
    pub fn bundled() -> Emitters {
        Registry::new(fusebox_bundle::emitters()).unwrap().into()
    }

    /// Returns the numbers of the emitters whose anchors include an operation. Leaves out emitters
    /// that the user has replaced for their kind.
    pub fn bidders(&self, anchor: Opcode) -> Vec<usize> {
        let asking = self.numbers_of(|emitter| emitter.anchors().contains(&anchor));
        asking.into_iter().filter(|&number| self.replaced_by(number).is_none()).collect()
    }

    /// Returns the numbers of the emitters whose hero can be this operation. Emitters that the user
    /// has replaced for their kind come last.
    pub fn claimants(&self, hero: Opcode) -> Vec<usize> {
        let mut asking = self.numbers_of(|emitter| emitter.heroes().contains(&hero));
        asking.sort_by_key(|&number| self.replaced_by(number).is_some());
        asking
    }

    fn numbers_of(&self, is_meant: impl Fn(&LoadedEmitter) -> bool) -> Vec<usize> {
        let emitters = self.registry.emitters().iter().enumerate();
        emitters.filter(|(_, emitter)| is_meant(emitter)).map(|(number, _)| number).collect()
    }

    /// Returns the emitters that the user has chosen instead of emitter `number` for its kind.
    /// `None` if the user has not replaced the emitter.
    pub fn replaced_by(&self, number: usize) -> Option<&[usize]> {
        let choice = self.choice_of_kind(number)?;
        (!choice.emitters.contains(&number)).then_some(choice.emitters.as_slice())
    }

    /// Whether the user has chosen emitter `number` for its kind.
    pub fn is_in_charge(&self, number: usize) -> bool {
        self.choice_of_kind(number).is_some_and(|choice| choice.emitters.contains(&number))
    }

    fn choice_of_kind(&self, number: usize) -> Option<&Override> {
        let kind = &self.registry.emitters()[number].descriptor().kind;
        self.overrides.iter().rev().find(|choice| choice.is_of(kind))
    }

    /// Returns name and version of an emitter.
    pub fn name_of(&self, number: usize) -> String {
        let descriptor = self.registry.emitters()[number].descriptor();
        format!("{}@{}", descriptor.name, descriptor.version)
    }
}

/// Predicts the time of a fusion's kernel from the plan of emitter `number`. Without a number, uses
/// the plan of the best emitter that plans the fusion. Asks an emitter for a plan only if the plan
/// is not known yet.
///
/// # Errors
/// Returns a message if the emitter declines, or if its plan is wrong.
pub fn planned(
    fusion: &Fusion,
    device: &DeviceDescription,
    emitters: &Emitters,
    number: Option<usize>,
    known: &PlansOfForm,
) -> Result<Prediction, String> {
    let all = emitters.registry.emitters();
    let plan = |ranked: Ranked| {
        let (plan, prediction) =
            ask(|| ranked.plan(&all[ranked.emitter], fusion, device, known)).map_err(|e| e.to_string())?;
        check_plan(&plan, fusion, device).map_err(|fault| format!("the plan is wrong: {fault}"))?;
        Ok(prediction)
    };
    if let Some(number) = number {
        return match ask(|| known.verdict(number, &all[number], fusion, device)).map_err(|e| e.to_string())? {
            Verdict::Decline(decline) => Err(format!("it declines its own bid: {}", decline.reason)),
            verdict => plan(Ranked::new(number, &verdict)),
        };
    }
    let selection = ask(|| select_known(&emitters.registry, fusion, device, &[], known));
    let order = selection.map_err(|e| e.to_string())?.order;
    let first = order.into_iter().map(plan).find_map(|planned: Result<Prediction, String>| planned.ok());
    first.ok_or_else(|| format!("no emitter plans fusion {}", fusion.name))
}

thread_local! {
    static IN_EMITTER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is calling an emitter. A panic of an emitter is caught and is not a bug of
/// the host.
pub fn is_in_emitter() -> bool {
    IN_EMITTER.get()
}

/// Calls an emitter. During the call, [`is_in_emitter`] is true.
pub fn ask<T>(question: impl FnOnce() -> T) -> T {
    IN_EMITTER.set(true);
    let answer = question();
    IN_EMITTER.set(false);
    answer
}
