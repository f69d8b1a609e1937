//! Moves what a kernel computes into a computation of its own and puts a `fusion` in its place.

use std::collections::{HashMap, HashSet};

use fusebox_core::hlo::{Computation, ComputationId, Extra, FusionKind, InstrId, Instruction, Module, Op};

use super::decide::Decisions;
use super::executor::{Executor, executor};
use super::in_place::initial_values;
use crate::passes::renumber;
use crate::rebuild::Rebuild;

/// Rewrites one computation as decided. The fused computations are put in front of all others.
pub fn outline(module: &mut Module, id: ComputationId, decisions: &Decisions) {
    let old = module.computation(id).clone();
    let needs_buffer = buffers(&old, decisions);
    let first_new = module.computations.len() as u32;
    let mut fused = Vec::new();
    let mut rebuild = Rebuild::new(&old);
    for id in old.ids().filter(|id| needs_buffer[id.index()]) {
        let instruction = old.instruction(id);
        let new = match region(&old, id, decisions) {
            None => rebuild.copy(instruction),
            Some(region) => {
                let calls = ComputationId(first_new + fused.len() as u32);
                fused.push(region.computation(&old));
                region.call(&mut rebuild, instruction, calls)
            }
        };
        rebuild.set(id, new);
    }
    let new = rebuild.finish();
    insert(module, id, new, fused);
}

/// What the kernel of root `id` computes; `None` if `id` is no such root, or its kernel is there already.
fn region(old: &Computation, id: InstrId, decisions: &Decisions) -> Option<Region> {
    let is_fusion = matches!(old.instruction(id).op, Op::Fusion { .. });
    (decisions.is_root(id) && !is_fusion).then(|| Region::of(old, id, decisions)).filter(|r| !r.is_alias(old))
}

/// Which instructions of the new sequence remain: roots, what no kernel computes, and constants that
/// something other than a kernel reads, or that a result starts from.
fn buffers(computation: &Computation, decisions: &Decisions) -> Vec<bool> {
    let mut needed: Vec<bool> =
        computation.ids().map(|id| decisions.is_root(id) || decisions.kernels[id.index()].is_empty()).collect();
    for id in computation.ids() {
        let instruction = computation.instruction(id);
        if executor(instruction) != Executor::Kernel || matches!(instruction.op, Op::Fusion { .. }) {
            instruction.operands.iter().for_each(|o| needed[o.index()] = true);
        }
        initial_values(instruction).iter().for_each(|o| needed[o.index()] = true);
    }
    needed[computation.root.index()] = true;
    needed
}

/// What one kernel computes.
struct Region {
    root: InstrId,
    /// In order, the root last.
    members: Vec<InstrId>,
    /// Values that the root's results start from. They are the first parameters, which nothing else reads.
    initial: Vec<InstrId>,
    /// Values read from buffers, in order of first use.
    inputs: Vec<InstrId>,
}

impl Region {
    fn of(computation: &Computation, root: InstrId, decisions: &Decisions) -> Region {
        let is_member = |id: InstrId| decisions.kernels[id.index()].contains(&root);
        let initial = initial_values(computation.instruction(root)).to_vec();
        let read = |id: InstrId| {
            let skipped = if id == root { initial.len() } else { 0 };
            &computation.instruction(id).operands[skipped..]
        };
        let mut members = Vec::new();
        let mut pending = vec![root];
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
        Region { root, members, initial, inputs }
    }

    /// A lone reshape of a buffer is the same buffer.
    fn is_alias(&self, computation: &Computation) -> bool {
        self.members.len() == 1 && matches!(computation.instruction(self.root).op, Op::Reshape)
    }

    /// The fusion instruction that stands for the root.
    fn call(&self, rebuild: &mut Rebuild, root: &Instruction, calls: ComputationId) -> InstrId {
        let operands = self.initial.iter().chain(&self.inputs).map(|&input| rebuild.mapped(input)).collect();
        let op = Op::Fusion { kind: FusionKind::Loop, calls };
        let metadata = root.extra.as_ref().and_then(|extra| extra.metadata.clone());
        let extra = metadata.map(|metadata| Box::new(Extra { metadata: Some(metadata), ..Extra::default() }));
        let (name, shape, span) = (root.name.clone(), root.shape.clone(), root.span);
        rebuild.push(Instruction { name, shape, op, operands, extra, span })
    }

    fn computation(&self, old: &Computation) -> Computation {
        let mut map: HashMap<InstrId, InstrId> = HashMap::new();
        let parameters = self.initial.len() + self.inputs.len();
        let mut instructions = Vec::with_capacity(parameters + self.members.len());
        for (number, &input) in self.initial.iter().chain(&self.inputs).enumerate() {
            // The inputs come last: a value that is both is read from there.
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
            let initial = if member == self.root { self.initial.len() } else { 0 };
            let own = (0..initial).map(|number| InstrId(number as u32));
            copy.operands = own.chain(copy.operands[initial..].iter().map(|o| map[o])).collect();
            instructions.push(copy);
        }
        let root = InstrId(instructions.len() as u32 - 1);
        let root_instruction = old.instruction(self.root);
        Computation {
            name: format!("fused_{}", root_instruction.name),
            instructions,
            root,
            execution_thread: None,
            span: root_instruction.span,
        }
    }
}

/// Puts `fused` just before computation `id`, which becomes `new`. So far the fused ones are numbered
/// after all others.
fn insert(module: &mut Module, id: ComputationId, new: Computation, mut fused: Vec<Computation>) {
    let (at, count, first_new) = (id.0, fused.len() as u32, module.computations.len() as u32);
    let shift = |old: ComputationId| match old.0 {
        n if n >= first_new => ComputationId(n - first_new + at),
        n if n >= at => ComputationId(n + count),
        n => ComputationId(n),
    };
    unique_names(module, &mut fused);
    module.computations[at as usize] = new;
    for instruction in module.computations.iter_mut().flat_map(|c| &mut c.instructions) {
        renumber(&mut instruction.op, &shift);
    }
    module.entry = module.entry.map(shift);
    module.computations.splice(at as usize..at as usize, fused);
}

fn unique_names(module: &Module, fused: &mut [Computation]) {
    let taken: HashSet<&str> = module.computations.iter().map(|c| c.name.as_str()).collect();
    let mut own = HashSet::new();
    for computation in fused {
        let base = computation.name.clone();
        let mut number = 1;
        while taken.contains(computation.name.as_str()) || !own.insert(computation.name.clone()) {
            computation.name = format!("{base}.clone{number}");
            number += 1;
        }
    }
}
