//! What made a wrong kernel: LLVM's passes, the emitter, or what all emitters share.

use fusebox_compiler::{Options, Selected};
use fusebox_core::hlo::Literal;
use fusebox_plugins::Outcome;

use super::{Found, Settings, Suspect, Way, Wrong, for_part};
use crate::WorkshopError;
use crate::case::Case;
use crate::pinned::{pinned, pinned_to};

/// Looks at the kernel of a fusion that is wrong on these operands.
///
/// # Errors
/// If the interpreter fails.
pub fn examine(
    kernel: &Selected,
    operands: &[Literal],
    difference: String,
    settings: &Settings,
) -> Result<Found, WorkshopError> {
    let case = Case::of_fusion(kernel, operands.to_vec());
    let options = pinned(kernel, &for_part(&settings.compile));
    let fusion = kernel.unit.fusion.name.clone();
    let emitter = format!("{} {}", kernel.emitter.name, kernel.emitter.version);
    let is_right = |options: &Options| -> Result<bool, WorkshopError> {
        let found = case.compiled(options, &settings.run)?;
        Ok(case.difference(&found)?.is_none())
    };
    if is_right(&options)? {
        let suspect = Suspect::Buffers { fusion };
        return Ok(Found { suspect, difference, wrong: None });
    }
    let mut unoptimised = options.clone();
    unoptimised.departures.unoptimised = true;
    let suspect = match is_right(&unoptimised) {
        Ok(true) => Suspect::Optimisation { fusion, emitter },
        _ => {
            let judged = others(kernel, &settings.compile).into_iter();
            let judged = judged.filter_map(|(name, options)| Some((name, is_right(&options).ok()?)));
            let (right, wrong): (Vec<_>, Vec<_>) = judged.partition(|(_, is_right)| *is_right);
            let names = |judged: Vec<(String, bool)>| judged.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
            let (right, wrong) = (names(right), names(wrong));
            match right.is_empty() {
                false => Suspect::Emitter { fusion, emitter, right, wrong },
                true => Suspect::Kernel { fusion, emitter, wrong },
            }
        }
    };
    let by = Way::Compiled(Box::new(options));
    Ok(Found { suspect, difference, wrong: Some(Wrong { case, by }) })
}

/// The other emitters that take the fusion, each with the options that put it in charge.
fn others(kernel: &Selected, options: &Options) -> Vec<(String, Options)> {
    let all = options.emitters.registry.emitters();
    let own = kernel.selection.order[kernel.place].emitter;
    let taking =
        kernel.selection.records.iter().filter(|record| {
            record.emitter != own && matches!(record.outcome, Outcome::Passed(_) | Outcome::Chosen(_))
        });
    let taking = taking.map(|record| (all[record.emitter].identity(), pinned_to(record.emitter, &for_part(options))));
    taking.collect()
}
