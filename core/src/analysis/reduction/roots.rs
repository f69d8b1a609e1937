//! Finds the reduce heroes of a root.

use super::super::epilogue::{hero_to_root, users_stay_elementwise};
use super::super::hero::nearest;
use super::hero::{ReductionHero, hero};
use crate::hlo::{Computation, InstrId, Module, Op};

/// The heroes of one root in instruction order, and the reason for this choice in words. If the
/// root is not computed element by element from reductions, there are no heroes.
pub(super) struct Found {
    pub heroes: Vec<ReductionHero>,
    pub reason: String,
}

/// Finds the reductions from which a root is computed element by element. All heroes of a root have
/// the same canonical problem. If the epilogue reads reductions with different problems, the
/// reductions with the most elements are the heroes. The epilogue computes, element by element, the
/// reductions that are not heroes.
pub(super) fn reduce_heroes(module: &Module, computation: &Computation, root: InstrId) -> Found {
    let mut heroes: Vec<ReductionHero> = Vec::new();
    let mut refused: Vec<String> = Vec::new();
    let mut nearest = nearest(computation, root, |id| matches!(computation.instruction(id).op, Op::Reduce { .. }));
    nearest.sort_unstable();
    for id in nearest {
        match usable(module, computation, id, root) {
            Ok(hero) => heroes.push(hero),
            Err(reason) => refused.push(reason),
        }
    }
    let largest = heroes.iter().map(|hero| (hero.problem.element_count(), hero.problem)).max();
    if let Some((_, problem)) = largest {
        for other in heroes.extract_if(.., |hero| hero.problem != problem) {
            let name = &computation.instruction(other.instruction).name;
            refused.push(format!("{name} is a smaller reduction, {}", other.problem));
        }
    }
    let names: Vec<&str> = heroes.iter().map(|hero| computation.instruction(hero.instruction).name.as_str()).collect();
    let mut reason = match heroes.first() {
        Some(hero) => format!("{}: {}", names.join(", "), hero.problem),
        None => "no reduce leads to it through elementwise operations alone".to_owned(),
    };
    if !refused.is_empty() {
        reason = format!("{reason} ({})", refused.join("; "));
    }
    Found { heroes, reason }
}

fn usable(module: &Module, computation: &Computation, id: InstrId, root: InstrId) -> Result<ReductionHero, String> {
    let instruction = computation.instruction(id);
    if hero_to_root(instruction, computation.instruction(root)).is_none() {
        return Err(format!("{} has another number of elements", instruction.name));
    }
    if id != root && !users_stay_elementwise(computation, id, root) {
        return Err(format!("operations that are not elementwise also read {}", instruction.name));
    }
    hero(module, computation, id)
}
