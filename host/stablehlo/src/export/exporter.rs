//! Holds the state of the conversion of a module: the values, the operations of the current block,
//! and the location for errors.

use std::collections::HashMap;
use std::sync::Arc;

use fusebox_core::hlo::{
    ArrayShape, Computation, ComputationId, Diagnostic, ElementType, InstrId, Instruction, Metadata, Module, Op, Shape,
};

use super::Exported;
use super::held::Held;
use crate::StablehloError;
use crate::program::{Attribute, Block, Location, Operation, Place, Region, Type, ValueId};
use crate::tables::element_name;

/// Maximum nesting depth of regions. The exporter refuses a deeper nesting, as readers do.
const MAX_DEPTH: usize = 60;
/// Largest number of operations. A computation with several users becomes several regions, so a
/// small module may become a large program.
const MOST_OPERATIONS: usize = 1 << 20;

/// Names and values of attributes.
pub(super) type Named = Vec<(Arc<str>, Attribute)>;

/// A module whose computations are being converted.
pub(super) struct Exporter<'m> {
    pub module: &'m Module,
    /// Names of the functions to which computations are converted.
    pub functions: HashMap<ComputationId, Arc<str>>,
    /// Types of all values.
    pub values: Vec<Type>,
    /// The operations of the current block.
    operations: Vec<Operation>,
    /// The instruction that is being converted, and its computation.
    current: Option<(&'m Instruction, &'m Computation)>,
    location: Location,
    convert: Convert<'m>,
    depth: usize,
    count: usize,
}

/// Adds the operations of an instruction, given the results of its operands. An instruction may
/// call computations, whose conversion needs the code for all instructions. So the exporter holds
/// this code as a function pointer.
pub(super) type Convert<'m> = fn(&mut Exporter<'m>, &'m Instruction, &[Held]) -> Exported<Held>;

impl<'m> Exporter<'m> {
    pub(super) fn new(module: &'m Module, convert: Convert<'m>) -> Self {
        Exporter {
            module,
            functions: HashMap::new(),
            values: Vec::new(),
            operations: Vec::new(),
            current: None,
            location: Location::UNKNOWN,
            convert,
            depth: 0,
            count: 0,
        }
    }

    /// Returns an error that names the instruction that is being converted.
    pub(super) fn refused<T>(&self, message: impl Into<String>) -> Exported<T> {
        let Some((instruction, _)) = self.current else {
            return Err(StablehloError::Inexpressible(Diagnostic {
                file: self.module.source_file.clone(),
                span: fusebox_core::hlo::Span::default(),
                subject: None,
                message: message.into(),
                source_line: String::new(),
            }));
        };
        Err(StablehloError::Inexpressible(Diagnostic {
            file: self.module.place_of(instruction),
            span: instruction.span,
            subject: Some(instruction.name.clone()),
            message: message.into(),
            source_line: String::new(),
        }))
    }

    pub(super) fn r#type(&self, value: ValueId) -> &Type {
        &self.values[value.index()]
    }

    fn define(&mut self, of: Type) -> Exported<ValueId> {
        let Ok(number) = u32::try_from(self.values.len()) else {
            return self.refused("the program has too many values");
        };
        self.values.push(of);
        Ok(ValueId(number))
    }

    /// Returns the type of a shape.
    pub(super) fn type_of(&self, shape: &Shape) -> Exported<Type> {
        match shape {
            Shape::Array(array) => self.array(array),
            Shape::Tuple(elements) => {
                Ok(Type::Tuple(elements.iter().map(|it| self.type_of(it)).collect::<Exported<Vec<Type>>>()?.into()))
            }
            Shape::Token => Ok(Type::Token),
            Shape::Opaque => self.refused("StableHLO has no opaque values"),
        }
    }

    fn array(&self, array: &ArrayShape) -> Exported<Type> {
        let ArrayShape { element_type, dims, layout, .. } = array;
        if array.has_dynamic_size() {
            return self.refused("StableHLO text has no dimensions of dynamic size");
        }
        // The order of elements in memory does not affect their values.
        if layout.as_ref().is_some_and(|layout| !layout.suffix.is_empty()) {
            return self.refused("StableHLO has no tiles and memory spaces");
        }
        if element_name(*element_type).is_none() {
            return self.refused(format!("StableHLO has no type {element_type}"));
        }
        Ok(Type::Array { element: *element_type, dims: dims.iter().copied().map(Some).collect() })
    }

    /// Adds an operation with results of these types, and returns the results.
    pub(super) fn add(&mut self, mut operation: Operation, types: Vec<Type>) -> Exported<Vec<ValueId>> {
        self.count += 1;
        if self.count > MOST_OPERATIONS {
            return self.refused(format!("the program has more than {MOST_OPERATIONS} operations"));
        }
        operation.results = types.into_iter().map(|of| self.define(of)).collect::<Exported<_>>()?;
        operation.location = self.location.clone();
        let results = operation.results.clone();
        self.operations.push(operation);
        Ok(results)
    }

    /// Adds an operation with one result and without regions.
    pub(super) fn single(
        &mut self,
        name: &str,
        operands: Vec<ValueId>,
        attributes: Named,
        of: Type,
    ) -> Exported<ValueId> {
        let results = self.add(operation(name, operands, attributes, Vec::new()), vec![of])?;
        match results[..] {
            [single] => Ok(single),
            _ => self.refused("an operation must have one result"),
        }
    }

    /// Returns the region that computes a computation. `arguments` are the types of the block's
    /// arguments. `parameters` returns the values of the computation's parameters, given the
    /// arguments of the block. `results` returns the values that the region returns.
    pub(super) fn region(
        &mut self,
        computation: &'m Computation,
        arguments: Vec<Type>,
        parameters: impl FnOnce(&mut Self, &[ValueId]) -> Exported<Vec<Held>>,
        results: impl FnOnce(&mut Self, &Held) -> Exported<Vec<ValueId>>,
    ) -> Exported<Region> {
        if self.depth == MAX_DEPTH {
            return self.refused(format!("StableHLO cannot be read if regions are nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let outside = std::mem::take(&mut self.operations);
        let (current, location) = (self.current, self.location.clone());
        let arguments = arguments.into_iter().map(|of| self.define(of)).collect::<Exported<Vec<_>>>()?;
        let parameters = parameters(self, &arguments)?;
        let root = self.instructions(computation, &parameters)?;
        let operands = results(self, &root)?;
        self.add(operation("return", operands, Vec::new(), Vec::new()), Vec::new())?;
        let operations = std::mem::replace(&mut self.operations, outside);
        (self.current, self.location) = (current, location);
        self.depth -= 1;
        Ok(Region { blocks: vec![Block { arguments, operations }] })
    }

    /// Adds the operations of a computation's instructions. Returns the result of the root.
    fn instructions(&mut self, computation: &'m Computation, parameters: &[Held]) -> Exported<Held> {
        if computation.execution_thread.is_some() {
            return self.refused(format!("{} runs on a thread of its own, which StableHLO lacks", computation.name));
        }
        let mut held: Vec<Held> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            self.current = Some((instruction, computation));
            self.location = location(self.module, instruction);
            let operands: Vec<Held> = instruction.operands.iter().map(|id| held[id.index()].clone()).collect();
            held.push(match instruction.op {
                Op::Parameter { number } => {
                    match usize::try_from(number).ok().and_then(|number| parameters.get(number)) {
                        Some(parameter) => parameter.clone(),
                        None => return self.refused("the computation gets no such argument"),
                    }
                }
                _ => (self.convert)(self, instruction, &operands)?,
            });
        }
        Ok(held[computation.root.index()].clone())
    }

    /// Returns the shape of an operand of the instruction that is being converted.
    pub(super) fn operand_shape(&self, id: InstrId) -> Option<&'m Shape> {
        self.current.map(|(_, computation)| &computation.instruction(id).shape)
    }

    /// Returns a computation of the module.
    pub(super) fn computation(&self, id: ComputationId) -> &'m Computation {
        self.module.computation(id)
    }
}

/// Returns an operation without results.
pub(super) fn operation(name: &str, operands: Vec<ValueId>, attributes: Named, regions: Vec<Region>) -> Operation {
    let (results, location) = (Vec::new(), Location::UNKNOWN);
    Operation { name: name.into(), operands, results, attributes, regions, location }
}

/// Returns the shapes of a computation's parameters.
pub(super) fn parameters(computation: &Computation) -> Vec<&Shape> {
    let shape = |id: InstrId| &computation.instruction(id).shape;
    computation.parameters().into_iter().map(shape).collect()
}

/// Returns an attribute that is a list of integers.
pub(super) fn integers(list: &[i64]) -> Attribute {
    Attribute::List(list.iter().map(|&number| integer(number)).collect())
}

pub(super) fn integer(number: i64) -> Attribute {
    Attribute::Integer(ElementType::S64, number)
}

pub(super) fn text(of: &str) -> Attribute {
    Attribute::Text(of.into())
}

/// Returns the place from which an instruction comes: the name of its operation, and a line of the
/// user's program.
fn location(module: &Module, instruction: &Instruction) -> Location {
    let Some(metadata) = instruction.extra.as_ref().and_then(|extra| extra.metadata.as_ref()) else {
        return Location::UNKNOWN;
    };
    let file = file(module, metadata);
    let name = metadata.op_name.as_str();
    match (name.is_empty(), file) {
        (true, None) => Location::UNKNOWN,
        (true, Some(file)) => place(file),
        (false, file) => place(Place::Name { name: name.into(), at: file.map_or(Location::UNKNOWN, place) }),
    }
}

fn place(of: Place) -> Location {
    Location(Some(Arc::new(of)))
}

/// Returns the line of the user's program that the metadata states, directly or as a stack frame.
fn file(module: &Module, metadata: &Metadata) -> Option<Place> {
    if !metadata.source_file.is_empty() {
        let name = metadata.source_file.as_str().into();
        return Some(Place::File { name, line: metadata.source_line, column: 0 });
    }
    let tables = &module.debug_tables;
    let frame = row(&tables.stack_frames, metadata.stack_frame_id)?;
    let at = row(&tables.file_locations, frame.file_location_id)?;
    let name = row(&tables.file_names, at.file_name_id)?;
    Some(Place::File { name: name.as_str().into(), line: at.line, column: at.column })
}

/// Returns a row of a table. Rows are numbered from 1.
fn row<T>(table: &[T], number: i64) -> Option<&T> {
    table.get(usize::try_from(number).ok()?.checked_sub(1)?)
}
