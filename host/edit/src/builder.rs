//! Adds instructions to a computation under construction.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use fusebox_core::hlo::{
    ArrayShape, BinaryOp, Combiner, Computation, ComputationId, ElementType, Extra, InstrId, Instruction, Module, Op,
    Shape, infer_shape_with,
};

use crate::computations::unused_name;
use crate::inherit::{inherited, with_layout_of};
use crate::{EditError, Rewritten};

/// Adds instructions to a computation under construction, and computations to its module.
///
/// A method that adds an instruction returns the instruction's id. If an instruction is invalid,
/// the edit fails as a whole. The builder remembers the first fault.
pub struct Builder<'m> {
    module: &'m Module,
    /// Computations to append to the module, in order.
    added: Vec<Computation>,
    /// Replacements of computations of the module. The key is the id of the replaced computation.
    replaced: HashMap<ComputationId, Computation>,
    /// Names of all computations. The set is empty until the first computation is added.
    names: HashSet<String>,
    body: Body,
    origin: Option<Cow<'m, Instruction>>,
    fault: Option<EditError>,
}

/// The instructions of the computation under construction.
#[derive(Default)]
struct Body {
    instructions: Vec<Instruction>,
    names: HashSet<String>,
    /// Whether instructions are named after their operation, not after their origin.
    is_new: bool,
}

impl<'m> Builder<'m> {
    pub(crate) fn new(module: &'m Module, size: usize) -> Builder<'m> {
        let (instructions, names) = (Vec::with_capacity(size), HashSet::with_capacity(size));
        Builder {
            module,
            added: Vec::new(),
            replaced: HashMap::new(),
            names: HashSet::new(),
            body: Body { instructions, names, is_new: false },
            origin: None,
            fault: None,
        }
    }

    /// Returns the module before the edit.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Returns an instruction of the computation under construction.
    pub fn instruction(&self, id: InstrId) -> &Instruction {
        &self.body.instructions[id.index()]
    }

    /// Returns the shape of an instruction of the computation under construction.
    pub fn shape(&self, id: InstrId) -> &Shape {
        &self.instruction(id).shape
    }

    /// Returns the shape of an instruction whose result is an array.
    pub fn array(&self, id: InstrId) -> Option<&ArrayShape> {
        self.shape(id).as_array()
    }

    /// Returns the sizes of an array's dimensions, or no sizes if the value is not an array.
    pub fn dims(&self, id: InstrId) -> Vec<i64> {
        self.array(id).map(|array| array.dims.clone()).unwrap_or_default()
    }

    /// Returns the number of instructions so far.
    pub fn size(&self) -> usize {
        self.body.instructions.len()
    }

    /// Sets the origin of the instructions added from now on: the instruction that they help to
    /// replace.
    pub fn set_origin(&mut self, origin: &'m Instruction) {
        self.origin = Some(Cow::Borrowed(origin));
    }

    /// Runs `add` with `origin` as the origin of new instructions. `origin` may be an instruction
    /// of the computation under construction.
    pub fn with_origin<T>(&mut self, origin: Instruction, add: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.origin.replace(Cow::Owned(origin));
        let result = add(self);
        self.origin = before;
        result
    }

    /// Adds an instruction whose operands determine its shape.
    pub fn add(&mut self, op: Op, operands: impl Into<Vec<InstrId>>) -> InstrId {
        self.add_inferred(op, None, operands.into())
    }

    /// Adds an instruction with a declared shape, for operations whose operands do not determine
    /// the shape. Compares the declared shape with the shape that inference computes.
    pub fn add_shaped(&mut self, op: Op, shape: Shape, operands: impl Into<Vec<InstrId>>) -> InstrId {
        self.add_inferred(op, Some(shape), operands.into())
    }

    /// Adds an instruction with a declared element type. The operands determine only the dimensions
    /// of the result, for example in a `dot`.
    pub fn add_typed(&mut self, op: Op, element_type: ElementType, operands: impl Into<Vec<InstrId>>) -> InstrId {
        let (operands, typed) = (operands.into(), Shape::array(element_type, []));
        let shape = self.inferred(&op, Some(&typed), &operands).unwrap_or(typed);
        self.add_shaped(op, shape, operands)
    }

    /// Adds an instruction whose operands are ids of the computation under construction. Makes the
    /// instruction's name unique, and removes its control predecessors. Keeps everything else.
    pub fn push(&mut self, mut instruction: Instruction) -> InstrId {
        let body = &mut self.body;
        if !body.names.insert(instruction.name.clone()) {
            instruction.name = body.unique(&instruction.name);
            body.names.insert(instruction.name.clone());
        }
        if let Some(extra) = &mut instruction.extra {
            extra.control_predecessors.clear();
        }
        body.instructions.push(instruction);
        InstrId(body.instructions.len() as u32 - 1)
    }

    /// Renames an instruction. If another instruction has the name already, appends a number to the
    /// new name.
    pub fn rename(&mut self, id: InstrId, name: &str) {
        let body = &mut self.body;
        body.names.remove(&body.instructions[id.index()].name);
        let name = if body.names.contains(name) { body.unique(name) } else { name.to_owned() };
        body.names.insert(name.clone());
        body.instructions[id.index()].name = name;
    }

    /// Sets the backend config of an instruction.
    pub fn set_backend_config(&mut self, id: InstrId, config: String) {
        self.extra(id).backend_config = Some(config);
    }

    /// Sets an attribute that HLO text contains and fusebox does not interpret.
    pub fn set_other(&mut self, id: InstrId, name: &str, value: String) {
        let other = &mut self.extra(id).other;
        other.retain(|(own, _)| own != name);
        other.push((name.to_owned(), value));
    }

    /// Sets the attributes of an instruction that describe its sharding: the attribute `sharding`,
    /// and frontend attributes. Keeps other frontend attributes.
    pub fn set_sharding(&mut self, id: InstrId, from: Extra) {
        let extra = self.extra(id);
        extra.sharding = from.sharding;
        extra.frontend_attributes.extend(from.frontend_attributes);
    }

    fn extra(&mut self, id: InstrId) -> &mut Extra {
        self.body.instructions[id.index()].extra.get_or_insert_default()
    }

    /// Copies the instructions of a computation. In the copy, `arguments` replace the parameters of
    /// the computation. Returns the copy of the computation's root.
    pub fn splice(&mut self, computation: &Computation, arguments: &[InstrId]) -> InstrId {
        let mut map: Vec<InstrId> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            let new = match instruction.op {
                Op::Parameter { number } => arguments[number as usize],
                _ => {
                    let mut copy = instruction.clone();
                    copy.operands = instruction.operands.iter().map(|o| map[o.index()]).collect();
                    self.push(copy)
                }
            };
            map.push(new);
        }
        map[computation.root.index()]
    }

    /// Adds the next parameter of a new computation.
    pub fn parameter(&mut self, shape: Shape) -> InstrId {
        let is_parameter = |it: &&Instruction| matches!(it.op, Op::Parameter { .. });
        let number = self.body.instructions.iter().filter(is_parameter).count() as i64;
        self.push(Instruction::new(format!("param_{number}"), shape, Op::Parameter { number }, Vec::new()))
    }

    /// Adds an array as the next parameter of a new computation.
    pub fn array_parameter(&mut self, element_type: ElementType, dims: &[i64]) -> InstrId {
        self.parameter(Shape::array(element_type, dims))
    }

    /// Adds a computation to the module. `write` adds the computation's instructions and returns
    /// their root. The origin of new instructions does not change. If the module already has a
    /// computation with this name, appends a number to the new name.
    pub fn computation(&mut self, name: &str, write: impl FnOnce(&mut Self) -> InstrId) -> ComputationId {
        let Ok(id) = self.try_computation(name, |edit| Ok::<_, Infallible>(write(edit)));
        id
    }

    /// Like [`computation`](Self::computation), for a `write` that may fail.
    ///
    /// # Errors
    /// The error of `write`. If `write` fails, no computation is added.
    pub fn try_computation<E>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Self) -> Result<InstrId, E>,
    ) -> Result<ComputationId, E> {
        let outer = std::mem::replace(&mut self.body, Body { is_new: true, ..Body::default() });
        let root = write(self);
        let body = std::mem::replace(&mut self.body, outer);
        let span = self.origin.as_ref().map(|it| it.span).unwrap_or_default();
        Ok(self.append(Computation {
            name: name.to_owned(),
            instructions: body.instructions,
            root: root?,
            execution_thread: None,
            span,
        }))
    }

    /// Adds a computation to the module. If the module already has a computation with this name,
    /// appends a number to the new name.
    pub fn append(&mut self, mut computation: Computation) -> ComputationId {
        if self.names.is_empty() {
            self.names.extend(self.module.computations.iter().map(|it| it.name.clone()));
        }
        computation.name = unused_name(|name| self.names.contains(name), &computation.name);
        self.names.insert(computation.name.clone());
        self.added.push(computation);
        ComputationId((self.module.computations.len() + self.added.len() - 1) as u32)
    }

    /// Replaces a computation of the module. Instructions added from now on may call the
    /// replacement with its new parameters. The replacement may call only computations that the
    /// module already has.
    pub fn replace_computation(&mut self, id: ComputationId, new: Rewritten) {
        if !new.added.is_empty() || !new.replaced.is_empty() {
            self.fail(format!("the replacement of {} adds or replaces computations", new.computation.name));
        }
        self.replaced.insert(id, new.computation);
    }

    /// Returns a computation that applies an operation to two scalars. Adds this computation if the
    /// module lacks it.
    pub fn combiner(&mut self, op: BinaryOp, element_type: ElementType) -> ComputationId {
        let all = self.module.computations.iter().chain(&self.added);
        let applies_it = |it: &Computation| {
            Combiner::of(it).is_some_and(|it| it.in_order() == Some(op) && it.element_type == element_type)
        };
        if let Some(index) = all.into_iter().position(applies_it) {
            return ComputationId(index as u32);
        }
        self.computation(&format!("{}_{element_type}", op.opcode().name()), |it| {
            let [a, b] = [(); 2].map(|()| it.parameter(Shape::array(element_type, [])));
            it.binary(op, a, b)
        })
    }

    /// Returns a computation in the form that it has after the edit.
    pub fn callee(&self, id: ComputationId) -> Option<&Computation> {
        let before = &self.module.computations;
        let replaced = self.replaced.get(&id).or_else(|| before.get(id.index()));
        replaced.or_else(|| self.added.get(id.index().checked_sub(before.len())?))
    }

    /// Remembers a fault, unless there is an earlier one.
    pub(crate) fn fail(&mut self, message: String) {
        let (module, origin) = (self.module, self.origin.as_deref());
        self.fault.get_or_insert_with(|| EditError::at(module, origin, message));
    }

    pub(crate) fn finish(self, like: &Computation, root: InstrId) -> Result<Rewritten, EditError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let computation = Computation {
            name: like.name.clone(),
            instructions: self.body.instructions,
            root,
            execution_thread: like.execution_thread.clone(),
            span: like.span,
        };
        Ok(Rewritten { computation, added: self.added, replaced: self.replaced })
    }

    fn add_inferred(&mut self, op: Op, declared: Option<Shape>, operands: Vec<InstrId>) -> InstrId {
        let shape = match self.inferred(&op, declared.as_ref(), &operands) {
            Ok(shape) => self.declared_or_inferred(&op, declared, shape),
            Err(fault) => {
                self.fault.get_or_insert(fault);
                declared.unwrap_or(Shape::Tuple(Vec::new()))
            }
        };
        let name = self.name(&op);
        let Some(origin) = self.origin.as_deref() else {
            return self.push(Instruction::new(name, shape, op, operands));
        };
        let shape = with_layout_of(&origin.shape, shape);
        let extra = inherited(origin, &op, &shape);
        let span = origin.span;
        self.push(Instruction { name, shape, op, operands, extra, span })
    }

    fn inferred(&self, op: &Op, declared: Option<&Shape>, operands: &[InstrId]) -> Result<Shape, EditError> {
        let shapes: Vec<&Shape> = operands.iter().map(|&id| self.shape(id)).collect();
        infer_shape_with(op, &shapes, declared, &|id| self.callee(id)?.signature())
            .map_err(|message| EditError::at(self.module, self.origin.as_deref(), message))
    }

    /// Returns the declared shape, or the inferred shape if none is declared. Remembers a fault if
    /// the declared and the inferred shape differ in structure. The declared shape may have layouts
    /// and dynamic dimensions, which inference does not know.
    fn declared_or_inferred(&mut self, op: &Op, declared: Option<Shape>, inferred: Shape) -> Shape {
        match declared {
            Some(declared) if declared.same_structure(&inferred) => declared,
            Some(declared) => {
                self.fail(format!("{} is declared as {declared}, but gives {inferred}", op.opcode()));
                inferred
            }
            None => inferred,
        }
    }

    fn name(&self, op: &Op) -> String {
        match (&self.origin, self.body.is_new) {
            (Some(origin), false) => origin.name.clone(),
            _ => op.opcode().name().to_owned(),
        }
    }
}

impl Body {
    fn unique(&self, name: &str) -> String {
        let mut number = self.instructions.len();
        loop {
            let candidate = format!("{name}.{number}");
            if !self.names.contains(&candidate) {
                return candidate;
            }
            number += 1;
        }
    }
}
