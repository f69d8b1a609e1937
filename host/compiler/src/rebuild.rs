//! Copies a computation with changes. Passes edit computations this way.
//!
//! A pass visits the old instructions in order and states the new instruction that replaces each.
//! Operands are always mapped before their users, so the result is in topological order by
//! construction.

use std::collections::HashSet;

use fusebox_core::hlo::{Computation, InstrId, Instruction, Op, Shape};

/// A computation under construction.
pub struct Rebuild<'a> {
    old: &'a Computation,
    map: Vec<Option<InstrId>>,
    new: Vec<Instruction>,
    names: HashSet<String>,
}

impl<'a> Rebuild<'a> {
    /// Creates an empty copy of `old`.
    pub fn new(old: &'a Computation) -> Self {
        let names = HashSet::with_capacity(old.instructions.len());
        Rebuild { old, map: vec![None; old.instructions.len()], new: Vec::new(), names }
    }

    /// Replaces each instruction by the result of `replace`. Copies the instruction if the result
    /// is `None`.
    pub fn each<E>(
        old: &'a Computation,
        mut replace: impl FnMut(&mut Rebuild<'a>, InstrId, &'a Instruction) -> Result<Option<InstrId>, E>,
    ) -> Result<Computation, E> {
        let mut rebuild = Rebuild::new(old);
        for (id, instruction) in old.ids().zip(&old.instructions) {
            let new = replace(&mut rebuild, id, instruction)?;
            let new = new.unwrap_or_else(|| rebuild.copy(instruction));
            rebuild.set(id, new);
        }
        Ok(rebuild.finish())
    }

    /// Returns the new instruction that replaces a visited old one.
    pub fn mapped(&self, old: InstrId) -> InstrId {
        self.map[old.index()].unwrap_or(InstrId(0))
    }

    /// Returns the new instructions that replace the operands of an old instruction.
    pub fn operands(&self, instruction: &Instruction) -> Vec<InstrId> {
        instruction.operands.iter().map(|&o| self.mapped(o)).collect()
    }

    /// Returns a new instruction.
    pub fn instruction(&self, new: InstrId) -> &Instruction {
        &self.new[new.index()]
    }

    /// Returns the number of new instructions.
    pub fn size(&self) -> usize {
        self.new.len()
    }

    /// Sets the new instruction that replaces an old one.
    pub fn set(&mut self, old: InstrId, new: InstrId) {
        self.map[old.index()] = Some(new);
    }

    /// Adds a copy of an old instruction with mapped operands.
    pub fn copy(&mut self, instruction: &Instruction) -> InstrId {
        let mut copy = instruction.clone();
        copy.operands = self.operands(instruction);
        self.push(copy)
    }

    /// Adds an instruction with the name, source location and metadata of `origin`. Operands are
    /// ids of new instructions.
    pub fn add(&mut self, origin: &Instruction, op: Op, shape: Shape, operands: Vec<InstrId>) -> InstrId {
        let instruction = Instruction {
            name: origin.name.clone(),
            shape,
            op,
            operands,
            extra: origin.extra.clone(),
            span: origin.span,
        };
        self.push(instruction)
    }

    /// Adds an instruction and makes its name unique. Its operands are ids of new instructions.
    pub fn push(&mut self, mut instruction: Instruction) -> InstrId {
        if !self.names.insert(instruction.name.clone()) {
            instruction.name = self.unique(&instruction.name);
            self.names.insert(instruction.name.clone());
        }
        if let Some(extra) = &mut instruction.extra {
            extra.control_predecessors.clear();
        }
        self.new.push(instruction);
        InstrId(self.new.len() as u32 - 1)
    }

    fn unique(&self, name: &str) -> String {
        let mut number = self.new.len();
        loop {
            let candidate = format!("{name}.{number}");
            if !self.names.contains(&candidate) {
                return candidate;
            }
            number += 1;
        }
    }

    /// Returns the new computation. Its root is the replacement of the old root.
    pub fn finish(self) -> Computation {
        let root = self.mapped(self.old.root);
        self.finish_at(root)
    }

    /// Returns the new computation with that root.
    pub fn finish_at(self, root: InstrId) -> Computation {
        Computation {
            name: self.old.name.clone(),
            instructions: self.new,
            root,
            execution_thread: self.old.execution_thread.clone(),
            span: self.old.span,
        }
    }
}
