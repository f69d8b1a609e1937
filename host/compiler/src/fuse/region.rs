//! Instructions that one kernel computes, and their fused computation.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, FusionKind, InstrId, Op};
use fusebox_edit::{Part, Rewrite, outlined};

use super::decide::Decisions;

/// The instructions of one kernel.
#[derive(Clone, Debug)]
pub struct Region {
    /// Instructions whose values the kernel writes to buffers, in order.
    pub roots: Vec<InstrId>,
    /// Roots of all kernels that were merged into this one. The merged roots are the roots of this
    /// kernel, and values that only this kernel reads after the merge.
    pub merged_roots: Vec<InstrId>,
    /// All instructions of the kernel, in program order.
    pub members: Vec<InstrId>,
    /// Initial values of the root's results. The initial values are the first parameters of the
    /// fused computation, and only the root reads these parameters.
    initial: Vec<InstrId>,
    /// Values read from buffers, in order of first use.
    inputs: Vec<InstrId>,
}

impl Region {
    /// Creates the region that computes these roots according to the decisions. Only a single root
    /// can have initial values.
    pub fn of(computation: &Computation, roots: &[InstrId], decisions: &Decisions) -> Region {
        let is_member = |id: InstrId| roots.iter().any(|root| decisions.kernels[id.index()].contains(root));
        let initial = match roots {
            [root] => decisions.heroes.initial_values(computation, *root).to_vec(),
            _ => Vec::new(),
        };
        let read = |id: InstrId| {
            let skipped = if roots.contains(&id) { initial.len() } else { 0 };
            &computation.instruction(id).operands[skipped..]
        };
        let mut members = Vec::new();
        let mut pending = roots.to_vec();
        let mut seen = HashSet::new();
        while let Some(id) = pending.pop() {
            if seen.insert(id) {
                members.push(id);
                pending.extend(read(id).iter().filter(|&&o| is_member(o)));
            }
        }
        members.sort();
        let mut inputs: Vec<InstrId> = Vec::new();
        for operand in members.iter().flat_map(|&id| read(id)) {
            if !is_member(*operand) && !inputs.contains(operand) {
                inputs.push(*operand);
            }
        }
        Region { roots: roots.to_vec(), merged_roots: roots.to_vec(), members, initial, inputs }
    }

    /// Merges several kernels into one kernel that computes the results of all.
    pub fn together(computation: &Computation, regions: &[&Region], decisions: &Decisions) -> Region {
        let merged_roots: Vec<InstrId> =
            regions.iter().flat_map(|region| region.merged_roots.iter().copied()).collect();
        let mut together = Region::of(computation, &merged_roots, decisions);
        together.roots.retain(|value| regions.iter().any(|region| region.roots.contains(value)));
        together
    }

    /// Creates a region of these instructions, which are in program order. No result has an initial
    /// value.
    pub fn of_members(computation: &Computation, roots: Vec<InstrId>, members: Vec<InstrId>) -> Region {
        let inside: HashSet<InstrId> = members.iter().copied().collect();
        let mut inputs: Vec<InstrId> = Vec::new();
        for &operand in members.iter().flat_map(|&id| &computation.instruction(id).operands) {
            if !inside.contains(&operand) && !inputs.contains(&operand) {
                inputs.push(operand);
            }
        }
        Region { merged_roots: roots.clone(), roots, members, initial: Vec::new(), inputs }
    }

    /// Returns all values that the kernel reads.
    pub fn operands(&self) -> impl Iterator<Item = InstrId> {
        self.initial.iter().chain(&self.inputs).copied()
    }

    /// Whether the region is a single reshape. The result of a reshape has the same buffer as the
    /// operand.
    pub fn is_alias(&self, computation: &Computation) -> bool {
        self.members.len() == 1 && matches!(computation.instruction(self.members[0]).op, Op::Reshape)
    }

    /// Adds the fusion instruction and its computation. The fusion's result is the root, or a tuple
    /// if there are several roots.
    pub fn call(&self, edit: &mut Rewrite) -> InstrId {
        let old = edit.old();
        let operands: Vec<InstrId> = self.operands().map(|input| edit.mapped(input)).collect();
        let calls = edit.append(self.computation(old));
        edit.set_origin(old.instruction(self.roots[0]));
        let call = edit.add(Op::Fusion { kind: FusionKind::Loop, calls }, operands);
        edit.rename(call, &self.name(old));
        call
    }

    fn name(&self, old: &Computation) -> String {
        let first = &old.instruction(self.roots[0]).name;
        match self.roots.len() {
            1 => first.clone(),
            count => format!("{first}_and_{}", count - 1),
        }
    }

    /// Builds the fused computation.
    pub fn computation(&self, old: &Computation) -> Computation {
        // If an input is also an initial value, members read it from the parameter of the input.
        let inputs: Vec<InstrId> = self.operands().collect();
        let part = Part { members: &self.members, inputs: &inputs, roots: &self.roots, initial: self.initial.len() };
        outlined(old, format!("fused_{}", self.name(old)), &part)
    }
}
