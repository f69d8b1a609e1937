//! Merges equal operations without effects, and drops operations whose results have no use.

use fusebox_core::ir::{Effect, Function, OpKind, Operation, Region, Type, Value};
use rustc_hash::FxHashMap;

/// Merges and drops operations in a whole function.
pub(crate) fn merge(function: &mut Function) {
    let mut merging =
        Merging { types: &function.types, known: FxHashMap::default(), replaced: vec![None; function.types.len()] };
    merging.region(&mut function.body);
    let mut used = vec![false; function.types.len()];
    sweep(&mut function.body, &mut used);
}

type Key = (OpKind, Vec<Value>);

struct Merging<'f> {
    types: &'f [Type],
    /// Operations already visited in this region and in the regions around it.
    known: FxHashMap<Key, Vec<Operation>>,
    /// Replacement of each value, or `None`. The index is the number of the replaced value.
    replaced: Vec<Option<Value>>,
}

impl Merging<'_> {
    fn region(&mut self, region: &mut Region) {
        let mut added: Vec<Key> = Vec::new();
        let operations = std::mem::take(&mut region.operations);
        for mut op in operations {
            for operand in &mut op.operands {
                *operand = self.replaced[operand.number()].unwrap_or(*operand);
            }
            op.regions.iter_mut().for_each(|inner| self.region(inner));
            if op.kind.effect() != Effect::None || !op.regions.is_empty() {
                region.operations.push(op);
                continue;
            }
            let key = (op.kind, op.operands.clone());
            let candidates = self.known.entry(key.clone()).or_default();
            match candidates.iter().find(|known| is_same(known, &op, self.types)) {
                Some(known) => {
                    let pairs = op.results.iter().zip(&known.results);
                    pairs.for_each(|(mine, &theirs)| self.replaced[mine.number()] = Some(theirs));
                }
                None => {
                    candidates.push(op.clone());
                    added.push(key);
                    region.operations.push(op);
                }
            }
        }
        for key in added.iter().rev() {
            if let Some(candidates) = self.known.get_mut(key) {
                candidates.pop();
            }
        }
    }
}

fn is_same(a: &Operation, b: &Operation, types: &[Type]) -> bool {
    a.attributes == b.attributes
        && a.results.len() == b.results.len()
        && a.results.iter().zip(&b.results).all(|(a, b)| types[a.number()] == types[b.number()])
}

/// Drops operations whose results have no use. Visits operations from the end to the start.
fn sweep(region: &mut Region, used: &mut [bool]) {
    let operations = std::mem::take(&mut region.operations);
    let mut kept = Vec::with_capacity(operations.len());
    for mut op in operations.into_iter().rev() {
        if !op.results.iter().any(|result| used[result.number()]) && !has_effect(&op) {
            continue;
        }
        op.operands.iter().for_each(|operand| used[operand.number()] = true);
        op.regions.iter_mut().for_each(|inner| sweep(inner, used));
        kept.push(op);
    }
    kept.reverse();
    region.operations = kept;
}

fn has_effect(op: &Operation) -> bool {
    match op.kind.effect() {
        Effect::None | Effect::Allocates => false,
        Effect::Memory | Effect::Ends => true,
        Effect::OfRegions => op.regions.iter().flat_map(|region| &region.operations).any(|inner| {
            // A terminator of one of this operation's regions has no effect outside of the
            // operation.
            inner.kind.effect() != Effect::Ends && has_effect(inner)
        }),
    }
}
