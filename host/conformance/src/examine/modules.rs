//! Collects fusions from modules that the author of an emitter supplies. Collects only fusions that
//! the emitter accepts.

use std::collections::BTreeMap;

use fusebox_compiler::{Compilation, Phase, Source};
use fusebox_core::hlo::print_module;
use fusebox_plugins::{Outcome, Registry};
use fusebox_workshop::case::isolated_module;
use fusebox_workshop::reference::is_short;

use super::case::ModuleFusion;
use super::most_frequent;
use super::trial::{TestedEmitter, TestedTarget};
use crate::Failure;

/// Largest work of a fusion, as a number of additions. The interpreter needs some seconds for this
/// work, and the simulator needs tens of seconds.
const MOST_ADDITIONS: f64 = 2e7;
/// If an emitter accepts no fusion, the error message states at most this many reasons.
const MOST_REASONS: usize = 3;

/// Returns the fusions of a module that an emitter accepts on at least one target. `number` is the
/// number of the emitter in the registry. If several fusions are equal, returns only one of them.
///
/// # Errors
/// If the module cannot be compiled with the emitter, if the emitter accepts no fusion, or if a
/// fusion is too large for the interpreter and the simulator.
pub fn fusions_of(registry: &Registry, number: usize, source: &Source) -> Result<Vec<ModuleFusion>, Failure> {
    let subject = TestedEmitter::new(registry, number, None);
    let emitter = subject.emitter().identity();
    let failed = |place: TestedTarget, fault: String| Failure::of(&emitter, place.name(), fault, &source.name);
    let mut found: Vec<ModuleFusion> = Vec::new();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for place in TestedTarget::ALL {
        let made = subject.compiled(source, place, Phase::Emit).map_err(|failure| failed(place, failure.fault))?;
        for reason in declined(&made, number, &emitter) {
            *reasons.entry(reason).or_default() += 1;
        }
        for kernel in made.kernels.iter().filter(|kernel| subject.is_own(kernel)) {
            let (name, module) = (&kernel.unit.fusion.name, isolated_module(kernel));
            if !is_short(&module, MOST_ADDITIONS) {
                let advice = "is too large to be interpreted and simulated; give a module with smaller shapes";
                return Err(failed(place, format!("its fusion {name} of {} {advice}", source.name)));
            }
            let of_module = ModuleFusion { name: format!("{name} of {}", source.name), text: print_module(&module) };
            if found.iter().all(|known| known.text != of_module.text) {
                found.push(of_module);
            }
        }
    }
    if found.is_empty() {
        let reasons: Vec<String> =
            most_frequent(reasons).into_iter().map(|(reason, _)| reason).take(MOST_REASONS).collect();
        let reasons =
            if reasons.is_empty() { "nothing in it is for emitters of its kind".into() } else { reasons.join("; ") };
        return Err(failed(TestedTarget::Cpu, format!("it takes nothing of {}: {reasons}", source.name)));
    }
    Ok(found)
}

/// Returns the reasons for which the emitter declined fusions, and the outcomes of the emitter's
/// bids.
fn declined(made: &Compilation, number: usize, emitter: &str) -> Vec<String> {
    let records = made.kernels.iter().flat_map(|kernel| &kernel.selection.records);
    let of_fusions = records.filter(|record| record.emitter == number).filter_map(|record| match &record.outcome {
        Outcome::Declined(reason) => Some(reason.clone()),
        _ => None,
    });
    let of_bids = made.bids.iter().filter(|bid| bid.emitter == emitter).map(|bid| bid.outcome.clone());
    of_fusions.chain(of_bids).collect()
}
