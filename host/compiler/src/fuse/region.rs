//! Instructions that one kernel computes, and their fused computation.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::{Computation, ComputationId, Extra, FusionKind, InstrId, Instruction, Op, Shape};

use super::decide::Decisions;
use crate::rebuild::Rebuild;

/// The instructions of one kernel.
#[derive(Clone, Debug)]
pub struct Region {
    /// Instructions whose values the kernel writes to buffers, in order.
    pub roots: Vec<InstrId>,
    /// Roots of all kernels that were merged into this one. They are the roots of this kernel, and
    /// values that no other kernel reads any more.
    pub merged_roots: Vec<InstrId>,
    /// All instructions of the kernel, in program order.
    pub members: Vec<InstrId>,
    /// Initial values of the root's results. They are the first parameters of the fused
    /// computation, and only the root reads these parameters.
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

    /// Merges several kernels into one kernel with the results of all.
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

    /// Whether the region is a single reshape. Its result then has the same buffer as its operand.
    pub fn is_alias(&self, computation: &Computation) -> bool {
        self.members.len() == 1 && matches!(computation.instruction(self.members[0]).op, Op::Reshape)
    }

    /// Adds the fusion instruction. Its result is the root, or the tuple of several roots.
    pub fn call(&self, rebuild: &mut Rebuild, old: &Computation, calls: ComputationId) -> InstrId {
        let first = old.instruction(self.roots[0]);
        let operands = self.operands().map(|input| rebuild.mapped(input)).collect();
        let op = Op::Fusion { kind: FusionKind::Loop, calls };
        let metadata = first.extra.as_ref().and_then(|extra| extra.metadata.clone());
        let extra = metadata.map(|metadata| Box::new(Extra { metadata: Some(metadata), ..Extra::default() }));
        rebuild.push(Instruction {
            name: self.name(old),
            shape: self.shape(old),
            op,
            operands,
            extra,
            span: first.span,
        })
    }

    fn name(&self, old: &Computation) -> String {
        let first = &old.instruction(self.roots[0]).name;
        match self.roots.len() {
            1 => first.clone(),
            count => format!("{first}_and_{}", count - 1),
        }
    }

    fn shape(&self, old: &Computation) -> Shape {
        let of = |root: &InstrId| old.instruction(*root).shape.clone();
        match self.roots.as_slice() {
            [root] => of(root),
            several => Shape::Tuple(several.iter().map(of).collect()),
        }
    }

    /// Builds the fused computation.
    pub fn computation(&self, old: &Computation) -> Computation {
        let mut map: HashMap<InstrId, InstrId> = HashMap::new();
        let mut instructions = Vec::with_capacity(self.members.len() + self.inputs.len() + 1);
        for (number, input) in self.operands().enumerate() {
            // Inputs follow initial values. A value that is both is read from its input parameter.
            map.insert(input, InstrId(instructions.len() as u32));
            let source = old.instruction(input);
            let op = Op::Parameter { number: number as i64 };
            instructions.push(Instruction::new(
                format!("param_{number}.{}", source.name),
                source.shape.clone(),
                op,
                Vec::new(),
            ));
        }
        for &member in &self.members {
            map.insert(member, InstrId(instructions.len() as u32));
            let mut copy = old.instruction(member).clone();
            let initial = if self.roots.contains(&member) { self.initial.len() } else { 0 };
            let own = (0..initial).map(|number| InstrId(number as u32));
            copy.operands = own.chain(copy.operands[initial..].iter().map(|o| map[o])).collect();
            instructions.push(copy);
        }
        let mut root = map[&self.roots[0]];
        if self.roots.len() > 1 {
            let operands = self.roots.iter().map(|root| map[root]).collect();
            root = InstrId(instructions.len() as u32);
            instructions.push(Instruction::new("results", self.shape(old), Op::Tuple, operands));
        }
        let span = old.instruction(self.roots[0]).span;
        Computation { name: format!("fused_{}", self.name(old)), instructions, root, execution_thread: None, span }
    }
}
