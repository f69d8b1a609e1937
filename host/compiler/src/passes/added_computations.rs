//! Computations that a pass adds to a module.

use fusebox_core::hlo::{
    BinaryOp, Computation, ComputationId, ElementType, InstrId, Instruction, Module, Op, Shape, Span,
};

use super::dead_code::renumber;
use super::inline_calls::copied;

/// Computations to be added to a module, each after a computation that it calls. Until
/// [`AddedComputations::put_into`] inserts them, their ids are larger than the ids of the module's
/// computations.
pub struct AddedComputations {
    first: usize,
    computations: Vec<(ComputationId, Computation)>,
}

impl AddedComputations {
    /// Creates an empty set of computations to add to a module.
    pub fn to(module: &Module) -> AddedComputations {
        AddedComputations { first: module.computations.len(), computations: Vec::new() }
    }

    /// Returns the id that the next added computation will get.
    pub fn next(&self) -> ComputationId {
        ComputationId((self.first + self.computations.len()) as u32)
    }

    /// Adds a computation that calls `callee`. Returns its id.
    pub fn add(&mut self, callee: ComputationId, computation: Computation) -> ComputationId {
        let id = self.next();
        self.computations.push((callee, computation));
        id
    }

    /// Inserts each computation after its callee, because callees come before callers. The callee
    /// may itself be an added computation.
    pub fn put_into(self, module: &mut Module) {
        if self.computations.is_empty() {
            return;
        }
        let mut new_ids = vec![ComputationId(0); self.first + self.computations.len()];
        let numbered = self.computations.into_iter().enumerate();
        let mut waiting: Vec<(usize, ComputationId, Computation)> =
            numbered.map(|(number, (callee, computation))| (self.first + number, callee, computation)).collect();
        let mut all = Vec::with_capacity(new_ids.len());
        for (index, computation) in std::mem::take(&mut module.computations).into_iter().enumerate() {
            let mut next = vec![(index, computation)];
            while let Some((id, computation)) = next.pop() {
                new_ids[id] = ComputationId(all.len() as u32);
                all.push(computation);
                let callers = waiting.extract_if(.., |(_, callee, _)| callee.index() == id);
                let mut callers: Vec<_> = callers.map(|(id, _, computation)| (id, computation)).collect();
                callers.reverse();
                next.extend(callers);
            }
        }
        for instruction in all.iter_mut().flat_map(|computation| &mut computation.instructions) {
            renumber(&mut instruction.op, &|id: ComputationId| new_ids[id.index()]);
        }
        module.computations = all;
        module.entry = module.entry.map(|id| new_ids[id.index()]);
    }
}

/// Inserts computations before all computations of the module. The first gets id 0, and existing
/// ids grow by the number of new ones.
pub fn put_in_front(module: &mut Module, new: Vec<Computation>) {
    let shift = |id: ComputationId| ComputationId(id.0 + new.len() as u32);
    for instruction in module.computations.iter_mut().flat_map(|computation| &mut computation.instructions) {
        renumber(&mut instruction.op, &shift);
    }
    module.entry = module.entry.map(shift);
    module.computations.splice(0..0, new);
}

/// Returns a computation that applies one operation to two scalars. Appends `_` to the name until
/// no computation of the module has this name.
pub fn combiner(module: &Module, name: &str, op: BinaryOp, ty: ElementType) -> Computation {
    let scalar = Shape::array(ty, []);
    let parameter =
        |number: i64| Instruction::new(format!("p{number}"), scalar.clone(), Op::Parameter { number }, Vec::new());
    let combined = Instruction::new("r", scalar.clone(), Op::Binary(op), vec![InstrId(0), InstrId(1)]);
    let mut name = name.to_owned();
    while module.find_computation(&name).is_some() {
        name.push('_');
    }
    let instructions = vec![parameter(0), parameter(1), combined];
    Computation { name, instructions, root: InstrId(2), execution_thread: None, span: Span::default() }
}

/// A computation under construction, whose last instruction is its root.
#[derive(Default)]
pub struct ComputationDraft {
    instructions: Vec<Instruction>,
}

impl ComputationDraft {
    /// Adds the next parameter. All parameters must be added before other instructions.
    pub fn parameter(&mut self, shape: Shape) -> InstrId {
        let number = self.instructions.len() as i64;
        self.add("p", shape, Op::Parameter { number }, Vec::new())
    }

    pub fn add(&mut self, name: &str, shape: Shape, op: Op, operands: Vec<InstrId>) -> InstrId {
        let number = self.instructions.len();
        self.instructions.push(Instruction::new(format!("{name}.{number}"), shape, op, operands));
        InstrId(number as u32)
    }

    /// Copies the instructions of a computation, and replaces its parameters by `arguments`.
    /// Returns the copy of its root.
    pub fn splice(&mut self, applied: &Computation, arguments: &[InstrId]) -> InstrId {
        copied(applied, arguments, |it| self.add(&it.name, it.shape, it.op, it.operands))
    }

    /// Returns the computation, with the source position of `origin`.
    pub fn finish(self, name: String, origin: &Computation) -> Computation {
        let root = InstrId(self.instructions.len().saturating_sub(1) as u32);
        Computation { name, instructions: self.instructions, root, execution_thread: None, span: origin.span }
    }
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::{ComputationId, Module, parse_module};

    use super::{AddedComputations, ComputationDraft};

    #[test]
    fn callees_come_before_callers() {
        let text =
            "HloModule m\n\na {\n  ROOT x = f32[] parameter(0)\n}\n\nENTRY e {\n  ROOT y = f32[] parameter(0)\n}\n";
        let mut module = parse_module(text, "m.hlo").unwrap();
        let origin = module.computations[0].clone();
        let named = |name: &str| ComputationDraft::default().finish(name.to_owned(), &origin);
        let mut added = AddedComputations::to(&module);
        let first = added.add(ComputationId(0), named("of_a"));
        let second = added.add(first, named("of_of_a"));
        added.add(second, named("of_of_of_a"));
        added.add(ComputationId(0), named("also_of_a"));
        added.put_into(&mut module);
        let names = |module: &Module| module.computations.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&module), ["a", "of_a", "of_of_a", "of_of_of_a", "also_of_a", "e"]);
        assert_eq!(module.entry, Some(ComputationId(5)));
    }
}
