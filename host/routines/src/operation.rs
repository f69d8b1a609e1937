//! The operation that a routine executes.

use fusebox_core::hlo::{ArrayShape, Instruction, Module, Op, Shape};

use crate::error::Unsupported;

/// An HLO operation whose operands are the parameters of its computation.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// A module whose entry computation consists of parameters and the operation. The operands of
    /// the operation are exactly these parameters, in order.
    pub module: &'a Module,
    /// The operation.
    pub instruction: &'a Instruction,
}

impl<'a> Operation<'a> {
    /// Returns the operation that is the root of a module's entry computation.
    ///
    /// # Errors
    /// If the entry computation is not a single operation on all its parameters, in order.
    pub fn of(module: &'a Module) -> Result<Operation<'a>, Unsupported> {
        let entry = module.entry_computation().ok_or_else(|| Unsupported::new("a module without an entry"))?;
        let instruction = entry.root_instruction();
        let number = |id| match entry.instruction(id).op {
            Op::Parameter { number } => Some(number),
            _ => None,
        };
        let in_order =
            instruction.operands.iter().copied().map(number).eq((0..).map(Some).take(entry.parameters().len()));
        if in_order && entry.instructions.len() == instruction.operands.len() + 1 {
            Ok(Operation { module, instruction })
        } else {
            Err(Unsupported::new("a module of more than one operation on its parameters"))
        }
    }

    /// Returns the shapes of the operands.
    pub fn operands(&self) -> Vec<&'a Shape> {
        let entry = self.module.entry_computation();
        let shape = |&id| entry.map(|entry| &entry.instruction(id).shape);
        self.instruction.operands.iter().filter_map(shape).collect()
    }

    /// Returns the shapes of the array leaves of all operands, in the order of a routine's
    /// arguments.
    pub fn arguments(&self) -> Vec<&'a ArrayShape> {
        self.operands().into_iter().flat_map(Shape::leaves).filter_map(Shape::as_array).collect()
    }

    /// Returns the shapes of the array leaves of the result, in the order of a routine's results.
    pub fn results(&self) -> Vec<&'a ArrayShape> {
        self.instruction.shape.leaves().into_iter().filter_map(Shape::as_array).collect()
    }

    /// Checks that the operands are exactly `count` arrays.
    ///
    /// # Errors
    /// If the number of operands differs, or an operand is not an array.
    pub fn takes_arrays(&self, count: usize) -> Result<(), Unsupported> {
        let operands = self.operands();
        if operands.len() == count && operands.iter().all(|shape| shape.as_array().is_some()) {
            Ok(())
        } else {
            Err(Unsupported::new(format!("these operands: expected {count} arrays")))
        }
    }

    /// Returns the shape of argument `number`.
    ///
    /// # Errors
    /// If the operation has no argument of this number.
    pub fn argument(&self, number: usize) -> Result<&'a ArrayShape, Unsupported> {
        let missing = || Unsupported::new(format!("an operation without operand {number}"));
        self.arguments().get(number).copied().ok_or_else(missing)
    }

    /// Returns the shape of result `number`.
    ///
    /// # Errors
    /// If the operation has no result of this number.
    pub fn result(&self, number: usize) -> Result<&'a ArrayShape, Unsupported> {
        let missing = || Unsupported::new(format!("an operation without result {number}"));
        self.results().get(number).copied().ok_or_else(missing)
    }

    /// Returns the text of `backend_config`, or an empty text if there is none.
    pub fn backend_config(&self) -> &'a str {
        backend_config(self.instruction)
    }
}

/// Returns the text of an instruction's `backend_config`, or an empty text if there is none.
pub fn backend_config(instruction: &Instruction) -> &str {
    instruction.extra.as_ref().and_then(|extra| extra.backend_config.as_deref()).unwrap_or("")
}
