//! Copies a computation with changes.

use std::ops::{Deref, DerefMut};

use fusebox_core::hlo::{Computation, ComputationId, ElementType, InstrId, Instruction, Module, Op, Shape};

use crate::{Builder, EditError, Rewritten};

/// The copy of a computation while it is under construction. A pass visits the old instructions in
/// order and states which new instruction replaces each old one. In the copy, operands therefore
/// come before their users.
///
/// Dereferences to the [`Builder`] of the copy.
pub struct Rewrite<'m> {
    builder: Builder<'m>,
    old: &'m Computation,
    map: Vec<Option<InstrId>>,
}

/// Rewrites a computation. `replace` returns the new instruction that replaces an old one, or
/// `None` to copy the old one. The computations that `replace` adds are appended to the module.
/// While `replace` runs, the old instruction is the origin of new instructions.
///
/// # Errors
/// Returns the error of `replace`, or the fault of the first invalid instruction as an error of the
/// same type.
pub fn rewrite<E: From<EditError>>(
    module: &mut Module,
    id: ComputationId,
    replace: impl for<'m> FnMut(&mut Rewrite<'m>, InstrId, &'m Instruction) -> Result<Option<InstrId>, E>,
) -> Result<(), E> {
    let rewritten = Rewrite::each(module, module.computation(id), replace)?;
    rewritten.put_into(module, id);
    Ok(())
}

impl<'m> Rewrite<'m> {
    /// Creates an empty copy of `old`. The copy may call computations of `module`.
    pub fn new(module: &'m Module, old: &'m Computation) -> Self {
        let size = old.instructions.len();
        Rewrite { builder: Builder::new(module, size), old, map: vec![None; size] }
    }

    /// Copies `old`, and replaces each instruction by the result of `replace`. If `replace` returns
    /// `None` for an instruction, copies the instruction.
    ///
    /// # Errors
    /// Returns the error of `replace`, or the fault of the first invalid instruction.
    pub fn each<E: From<EditError>>(
        module: &'m Module,
        old: &'m Computation,
        mut replace: impl FnMut(&mut Rewrite<'m>, InstrId, &'m Instruction) -> Result<Option<InstrId>, E>,
    ) -> Result<Rewritten, E> {
        let mut edit = Rewrite::new(module, old);
        for (id, instruction) in old.ids().zip(&old.instructions) {
            edit.set_origin(instruction);
            let new = replace(&mut edit, id, instruction)?;
            let new = new.unwrap_or_else(|| edit.copy(instruction));
            edit.set(id, new);
        }
        Ok(edit.finish()?)
    }

    /// Returns the computation before the edit.
    pub fn old(&self) -> &'m Computation {
        self.old
    }

    /// Returns the new instruction that replaces the instruction `old`. The rewrite has already
    /// visited `old`.
    pub fn mapped(&self, old: InstrId) -> InstrId {
        self.map[old.index()].unwrap_or(InstrId(0))
    }

    /// Returns the new instructions that replace the operands of an old instruction.
    pub fn operands(&self, instruction: &Instruction) -> Vec<InstrId> {
        instruction.operands.iter().map(|&o| self.mapped(o)).collect()
    }

    /// Records that the instruction `new` replaces the instruction `old`.
    pub fn set(&mut self, old: InstrId, new: InstrId) {
        self.map[old.index()] = Some(new);
    }

    /// Adds a copy of an old instruction. The operands of the copy are the new instructions that
    /// replace the old operands.
    pub fn copy(&mut self, instruction: &Instruction) -> InstrId {
        let operands = self.operands(instruction);
        self.copy_with(instruction, operands)
    }

    /// Adds a copy of an instruction with other operands. The new operands have the shapes of the
    /// old operands.
    pub fn copy_with(&mut self, instruction: &Instruction, operands: Vec<InstrId>) -> InstrId {
        self.push(Instruction { operands, ..instruction.clone() })
    }

    /// Replaces an old instruction by a new instruction without operands: `op` is a constant or a
    /// parameter.
    pub(crate) fn replace_shaped(&mut self, old: InstrId, op: Op, shape: Shape) -> InstrId {
        let new = self.add_shaped(op, shape, []);
        self.set(old, new);
        new
    }

    /// Adds a parameter that is an array. The number of the new parameter is greater than the
    /// numbers of all parameters of the old computation and of the copy.
    pub fn extra_parameter(&mut self, element_type: ElementType, dims: &[i64]) -> InstrId {
        let after = |it: &Instruction| match it.op {
            Op::Parameter { number } => number + 1,
            _ => 0,
        };
        let ids = (0..self.size() as u32).map(InstrId);
        let new = ids.map(|id| after(self.instruction(id)));
        let number = self.old.instructions.iter().map(after).chain(new).max().unwrap_or(0);
        self.add_shaped(Op::Parameter { number }, Shape::array(element_type, dims), [])
    }

    /// Returns the copy. The root of the copy is the replacement of the old root.
    ///
    /// # Errors
    /// Returns the fault of the first invalid instruction.
    pub fn finish(self) -> Result<Rewritten, EditError> {
        let root = self.mapped(self.old.root);
        self.finish_at(root)
    }

    /// Returns the copy with this root.
    ///
    /// # Errors
    /// Returns the fault of the first invalid instruction.
    pub fn finish_at(self, root: InstrId) -> Result<Rewritten, EditError> {
        self.builder.finish(self.old, root)
    }
}

impl<'m> Deref for Rewrite<'m> {
    type Target = Builder<'m>;

    fn deref(&self) -> &Builder<'m> {
        &self.builder
    }
}

impl<'m> DerefMut for Rewrite<'m> {
    fn deref_mut(&mut self) -> &mut Builder<'m> {
        &mut self.builder
    }
}
