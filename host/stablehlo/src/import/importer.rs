//! The conversion of one program: its functions, its constants, and the instructions for the values
//! of its blocks.

use std::collections::HashMap;

use fusebox_core::hlo::{ComputationId, ElementType, Extra, InstrId, Instruction, Op, Shape};
use fusebox_edit::{Builder, detached_instruction};

use super::Imported;
use super::body::Body;
use super::constants::{constant, constant_of};
use super::known::{Known, computed};
use super::location::{metadata, unsupported};
use super::types::{is_unknown, shape};
use crate::program::{Attribute, Block, Operation, Program, Type, ValueId};

/// Maximum nesting depth of regions. The importer refuses more deeply nested regions, so that its
/// recursion needs a bounded stack.
const MAX_DEPTH: usize = 64;
/// Largest number of operations that the inlining of calls may add. Without a limit, a chain of
/// functions that each call the next function twice would add exponentially many operations.
const MOST_INLINED: usize = 1 << 20;

/// A program whose functions are being converted.
pub(super) struct Importer<'p> {
    pub program: &'p Program,
    pub functions: HashMap<&'p str, &'p Operation>,
    /// The computations of the functions that the importer has converted already, by the name of
    /// the function.
    pub converted: HashMap<&'p str, ComputationId>,
    /// The constant operations, by their results.
    pub constants: HashMap<ValueId, &'p Operation>,
    /// All operations by their results, or no operations if the program states the sizes of all
    /// values.
    pub definitions: HashMap<ValueId, &'p Operation>,
    /// Whether the program has values whose sizes it does not state, because they depend on the
    /// sizes of the arguments.
    pub is_refining: bool,
    /// Number of devices among which the program may divide arrays.
    pub devices: i64,
    convert: Convert<'p>,
    depth: usize,
    /// Number of operations that inlined functions have added so far.
    inlined: usize,
}

/// Adds the instructions of an operation. The importer calls this function for each operation of a
/// block. For an operation that contains blocks, the function calls the importer in turn, so the
/// importer receives the function as a value.
pub(super) type Convert<'p> = fn(&mut Importer<'p>, &mut Builder, &mut Body, &'p Operation) -> Imported<()>;

impl<'p> Importer<'p> {
    pub(super) fn new(
        program: &'p Program,
        functions: HashMap<&'p str, &'p Operation>,
        constants: HashMap<ValueId, &'p Operation>,
        devices: i64,
        convert: Convert<'p>,
    ) -> Self {
        let is_refining = program.values.iter().any(is_unknown);
        let definitions = if is_refining { definitions(&program.module) } else { HashMap::new() };
        let converted = HashMap::new();
        let (depth, inlined) = (0, 0);
        Importer {
            program,
            functions,
            converted,
            constants,
            definitions,
            is_refining,
            devices,
            convert,
            depth,
            inlined,
        }
    }

    /// Counts the operations of a function that is inlined.
    pub(super) fn inlining(&mut self, block: &Block, user: &Operation) -> Imported<()> {
        self.inlined = self.inlined.saturating_add(size(block));
        if self.inlined > MOST_INLINED {
            return Err(unsupported(user, format!("calls of functions would add more than {MOST_INLINED} operations")));
        }
        Ok(())
    }

    /// Returns the elements of a value if they are known at compile time.
    pub(super) fn known(&self, body: &Body, value: ValueId) -> Option<Known> {
        let constant = || self.constants.get(&value).and_then(|it| constant_of(it)).and_then(Known::of);
        body.known(value).cloned().or_else(constant)
    }

    /// Returns the result of an operation if the importer can compute the result at compile time.
    /// Sizes of arrays may depend on the result.
    pub(super) fn computed(
        &self,
        edit: &Builder,
        body: &Body,
        operation: &Operation,
        operands: &[InstrId],
    ) -> Option<Known> {
        let [result] = operation.results[..] else { return None };
        if let ("get_dimension_size", &[operand]) = (&*operation.name, operands) {
            let dims = edit.dims(operand);
            let dimension = usize::try_from(operation.integer("dimension").ok()?).ok()?;
            return Some(Known::scalar(ElementType::S32, *dims.get(dimension)?));
        }
        let known = operation.operands.iter().map(|&value| self.known(body, value)).collect::<Option<Vec<Known>>>()?;
        computed(operation, &known.iter().collect::<Vec<_>>(), self.program.value(result))
    }

    /// Returns the element type of an operation's only result.
    pub(super) fn element_type(&self, operation: &Operation) -> Option<ElementType> {
        match operation.results[..] {
            [result] => match self.program.value(result) {
                Type::Array { element, .. } => Some(*element),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the instruction that computes a value. If the value is a constant from outside of
    /// the computation, adds a copy of the constant to the computation.
    pub(super) fn value(
        &self,
        edit: &mut Builder,
        body: &mut Body,
        value: ValueId,
        user: &Operation,
    ) -> Imported<InstrId> {
        if let Some(known) = body.get(value) {
            return Ok(known);
        }
        let Some(&definition) = self.constants.get(&value) else {
            return Err(unsupported(user, "a value from outside of this region is not supported here"));
        };
        let added = edit.with_origin(self.origin(definition)?, |edit| constant(edit, definition))?;
        body.set(value, added);
        Ok(added)
    }

    pub(super) fn operands(&self, edit: &mut Builder, body: &mut Body, user: &Operation) -> Imported<Vec<InstrId>> {
        user.operands.iter().map(|&value| self.value(edit, body, value, user)).collect()
    }

    /// Returns the shape of the instruction for an operation: the shape of its only result, or the
    /// tuple of the shapes of all its results.
    pub(super) fn shape(&self, operation: &Operation) -> Imported<Shape> {
        let shapes = operation.results.iter().map(|&result| shape(self.program.value(result)));
        let mut shapes = shapes.collect::<Result<Vec<_>, _>>().map_err(|message| unsupported(operation, message))?;
        match (shapes.pop(), shapes.is_empty()) {
            (Some(single), true) => Ok(single),
            (last, _) => Ok(Shape::Tuple(shapes.into_iter().chain(last).collect())),
        }
    }

    /// Returns an instruction with the attributes that all instructions of an operation inherit.
    pub(super) fn origin(&self, operation: &Operation) -> Imported<Instruction> {
        let shape = match self.shape(operation) {
            Err(error) if !self.is_refining => return Err(error),
            known => known.unwrap_or_else(|_| Shape::Tuple(Vec::new())),
        };
        let mut origin = detached_instruction(Op::Tuple, shape);
        let metadata = metadata(&operation.location);
        let name = metadata.as_ref().map_or("", |it| &it.op_type);
        origin.name = if is_name(name) { name.to_owned() } else { operation.name.replace(['_', '.'], "-") };
        let frontend_attributes =
            operation.attribute("mhlo.frontend_attributes").map(Attribute::strings).unwrap_or_default();
        let sharding = operation.text("mhlo.sharding").ok().map(str::to_owned);
        let extra = Extra { metadata, frontend_attributes, sharding, ..Extra::default() };
        origin.extra = (extra != Extra::default()).then(|| Box::new(extra));
        Ok(origin)
    }

    /// Records the instructions that compute the results of an operation: `added` itself for a
    /// single result, or else the elements of the tuple that `added` returns.
    pub(super) fn set_results(&self, edit: &mut Builder, body: &mut Body, operation: &Operation, added: InstrId) {
        match operation.results[..] {
            [result] => body.set(result, added),
            _ => {
                for (index, &result) in operation.results.iter().enumerate() {
                    let element = edit.element(added, index);
                    body.set(result, element);
                }
            }
        }
    }

    /// Returns the computation to which a function was converted.
    pub(super) fn function(&self, name: &str, user: &Operation) -> Imported<ComputationId> {
        match (self.converted.get(name), self.functions.contains_key(name)) {
            (Some(known), _) => Ok(*known),
            (None, true) => Err(unsupported(user, format!("the function {name} calls itself"))),
            (None, false) => Err(unsupported(user, format!("the program has no function {name}"))),
        }
    }

    /// Adds a parameter for each argument of a function.
    pub(super) fn parameters(&self, edit: &mut Builder, function: &Operation, block: &Block) -> Imported<Body> {
        let mut scope = Body::default();
        for &argument in &block.arguments {
            let shape = shape(self.program.value(argument)).map_err(|message| unsupported(function, message))?;
            scope.set(argument, edit.parameter(shape));
        }
        Ok(scope)
    }

    /// Adds the operations of a block. Returns the operands of the block's last operation, which
    /// are the block's results.
    pub(super) fn block(&mut self, edit: &mut Builder, scope: &mut Body, block: &'p Block) -> Imported<Vec<InstrId>> {
        let Some((last, operations)) = block.operations.split_last().filter(|(last, _)| is_return(last)) else {
            let inside = block.operations.last().unwrap_or(&self.program.module);
            return Err(unsupported(inside, "a block must end with a return"));
        };
        if self.depth == MAX_DEPTH {
            return Err(unsupported(last, format!("regions are nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let added = operations.iter().try_for_each(|it| (self.convert)(self, edit, scope, it));
        self.depth -= 1;
        added?;
        last.operands.iter().map(|&value| self.value(edit, scope, value, last)).collect()
    }
}

/// Returns the number of operations in a block, including the operations in nested regions.
fn size(block: &Block) -> usize {
    let regions = block.operations.iter().flat_map(|operation| &operation.regions);
    block.operations.len() + regions.flat_map(|region| &region.blocks).map(size).sum::<usize>()
}

/// Returns a map from each result to the operation that computes the result.
fn definitions(outermost: &Operation) -> HashMap<ValueId, &Operation> {
    let mut definitions = HashMap::new();
    let mut open = vec![outermost];
    while let Some(next) = open.pop() {
        definitions.extend(next.results.iter().map(|&result| (result, next)));
        open.extend(next.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.operations));
    }
    definitions
}

/// Whether HLO text can contain a name without quotes.
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit() || b".-".contains(&byte))
}

/// Returns the value itself if it is the only one, or else a tuple.
pub(super) fn one_or_tuple(edit: &mut Builder, values: Vec<InstrId>) -> InstrId {
    match values[..] {
        [single] => single,
        _ => edit.tuple(values),
    }
}

/// Returns the only block of an operation's only region.
pub(super) fn body(operation: &Operation) -> Imported<&Block> {
    match &operation.regions[..] {
        [region] => region.block().ok_or_else(|| unsupported(operation, "a region must have one block")),
        _ => Err(unsupported(operation, "the operation must have one region")),
    }
}

fn is_return(operation: &Operation) -> bool {
    matches!(&*operation.name, "return" | "sdy.return")
}
