//! Reads intermediate values of a compiled program. To read the values, compiles a second program,
//! which has the same kernels and returns the values as results.

use fusebox_compiler::{Compilation, Emitters, Options, Phase, compile_fused};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Literal, Module, Op, Shape};
use fusebox_edit::{with_callees, with_results};
use fusebox_run::inputs::arrays;
use fusebox_runtime::LoadedExecutable;

use crate::WorkshopError;
use crate::case::loaded;

/// A sequence of instructions, compiled as a program that returns the values of these instructions.
/// A sequence is the entry of a program, or a computation that a loop or branch calls.
pub struct Probe {
    /// The compiled program. The entry of the program is the sequence, and the program's result is
    /// the tuple of values.
    pub compilation: Compilation,
    program: LoadedExecutable,
    sequence: Computation,
    shown: Vec<InstrId>,
}

impl Probe {
    /// Compiles a sequence of a module after fusion. The compiled program returns the values of the
    /// instructions in `wanted`.
    ///
    /// # Errors
    /// If the sequence cannot be compiled or loaded.
    pub fn new(
        fused: &Module,
        sequence: ComputationId,
        wanted: impl IntoIterator<Item = InstrId>,
        options: &Options,
        run: &fusebox_runtime::Options,
    ) -> Result<Probe, WorkshopError> {
        let sequence = fused.computation(sequence).clone();
        let shown: Vec<InstrId> = wanted.into_iter().filter(|&id| is_computed(&sequence, id)).collect();
        let emitters = Emitters { of_part: true, ..options.emitters.clone() };
        let options = Options { emitters, until: Phase::Run, stages: Vec::new(), ..options.clone() };
        let mut compilation = compile_fused(showing(fused, &sequence, &shown), &options)?;
        let program = loaded(compilation.executable.take(), run)?;
        Ok(Probe { compilation, program, sequence, shown })
    }

    /// Runs the sequence. Returns one value per instruction of the sequence. If an instruction was
    /// not requested, its value is a token.
    ///
    /// # Errors
    /// If the execution fails.
    pub fn values(&self, inputs: &[Literal]) -> Result<Vec<Literal>, WorkshopError> {
        let mut values: Vec<Literal> = vec![Literal::Token; self.sequence.instructions.len()];
        for (parameter, input) in self.sequence.parameters().iter().zip(inputs) {
            values[parameter.index()] = input.clone();
        }
        for (value, instruction) in values.iter_mut().zip(&self.sequence.instructions) {
            if let Op::Constant(literal) = &instruction.op {
                *value = literal.clone();
            }
        }
        if let Literal::Tuple(found) = self.program.run(&arrays(inputs))? {
            self.shown.iter().zip(found).for_each(|(id, value)| values[id.index()] = value);
        }
        Ok(values)
    }
}

/// Whether a probe can return the value of an instruction. Returns false for parameters, constants,
/// and values that contain a token.
pub fn is_computed(sequence: &Computation, id: InstrId) -> bool {
    let instruction = sequence.instruction(id);
    let is_given = matches!(instruction.op, Op::Parameter { .. } | Op::Constant(_));
    !is_given && instruction.shape.leaves().into_iter().all(|leaf| matches!(leaf, Shape::Array(_)))
}

fn showing(fused: &Module, sequence: &Computation, shown: &[InstrId]) -> Module {
    with_callees(fused, with_results(sequence, shown), &fused.name)
}
