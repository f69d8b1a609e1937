//! Chooses which fusions of a program to compare in isolation.

use std::collections::HashMap;

use fusebox_compiler::{Selected, Source};
use fusebox_plugins::Fingerprint;

use crate::WorkshopError;
use crate::case;

/// A fusion to compare in isolation.
pub struct ComparedFusion {
    pub name: String,
    /// Text of a module that consists of the fusion.
    pub source: Source,
}

/// The fusions to compare, and the fusions that only one side has.
#[derive(Default)]
pub struct FusionSelection {
    pub compared: Vec<ComparedFusion>,
    /// Names of fusions that only one side has.
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
}

/// Returns the fusions to compare. With a pattern, returns the fusions that both sides have and
/// whose names match the pattern. Without a pattern, returns the fusions for which the sides build
/// different kernels, or all common fusions if the sides lower kernels differently. If a side is
/// another fusebox program, its kernels are unknown (`None`), and all matching fusions of the other
/// side are returned.
///
/// # Errors
/// If no fusion matches the pattern.
pub fn choose(
    a: Option<&[Selected]>,
    b: Option<&[Selected]>,
    pattern: Option<&glob::Pattern>,
    is_lowering_alike: bool,
) -> Result<FusionSelection, WorkshopError> {
    let is_meant = |kernel: &&Selected| pattern.is_none_or(|pattern| pattern.matches(&kernel.unit.fusion.name));
    let mut choice = FusionSelection::default();
    match (a, b) {
        (None, None) => {}
        (Some(known), None) | (None, Some(known)) => {
            choice.compared = known.iter().filter(is_meant).map(isolated_fusion).collect();
        }
        (Some(a), Some(b)) => {
            let (of_a, of_b) = (by_fingerprint(a), by_fingerprint(b));
            let without = |kernels: &[Selected], others: &HashMap<Fingerprint, &Selected>| {
                let lone = kernels.iter().filter(is_meant).filter(|kernel| !others.contains_key(&key(kernel)));
                lone.map(|kernel| kernel.unit.fusion.name.clone()).collect()
            };
            choice.only_in_a = without(a, &of_b);
            choice.only_in_b = without(b, &of_a);
            let in_both = a.iter().filter(is_meant).filter_map(|kernel| Some((kernel, *of_b.get(&key(kernel))?)));
            let compared = in_both.filter(|(a, b)| pattern.is_some() || !is_lowering_alike || is_different(a, b));
            choice.compared = compared.map(|(kernel, _)| isolated_fusion(kernel)).collect();
        }
    }
    let is_nothing = choice.compared.is_empty() && choice.only_in_a.is_empty() && choice.only_in_b.is_empty();
    match pattern.filter(|_| is_nothing) {
        None => Ok(choice),
        Some(pattern) => Err(WorkshopError::NoSuchFusion { pattern: pattern.to_string(), known: names(a.or(b)) }),
    }
}

fn names(kernels: Option<&[Selected]>) -> String {
    let names = kernels.unwrap_or_default().iter().map(|kernel| kernel.unit.fusion.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

fn by_fingerprint(kernels: &[Selected]) -> HashMap<Fingerprint, &Selected> {
    kernels.iter().map(|kernel| (key(kernel), kernel)).collect()
}

fn key(kernel: &Selected) -> Fingerprint {
    Fingerprint::of(&kernel.unit.fusion)
}

/// Whether two kernels of one fusion have different emitters, plans or code.
fn is_different(a: &Selected, b: &Selected) -> bool {
    a.emitter != b.emitter || a.plan != b.plan || a.functions != b.functions
}

fn isolated_fusion(kernel: &Selected) -> ComparedFusion {
    let fusion = &kernel.unit.fusion;
    ComparedFusion { name: fusion.name.clone(), source: case::isolated_source(kernel) }
}
