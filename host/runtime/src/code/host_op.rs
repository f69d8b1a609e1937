//! Loads and executes the operations that host routines implement.

use std::borrow::Cow;
use std::sync::Arc;

use fusebox_core::hlo::{Diagnostic, Shape, parse_module, verify};
use fusebox_routines::{
    Companions, Comparator, Context, Product, Routine, RoutineError, comparator_to_compile, product_of, routine_with,
};

use super::comparator::CompiledComparator;
use crate::values::canonical;
use crate::{DevicePart, HostOp, LoadError, RunError, Slice, Thunk};

/// A host operation that is loaded and can be executed.
#[derive(Debug)]
pub struct LoadedHostOp {
    name: String,
    parameters: Vec<Shape>,
    result: Shape,
    /// The routine; `None` if devices execute the operation.
    routine: Option<Box<dyn Routine>>,
    product: Option<Product>,
}

impl LoadedHostOp {
    /// Loads an operation and creates its routine. Fails if the operation's HLO is invalid or if no
    /// routine supports the operation. Also fails if a required comparator is missing, or if the
    /// operation has a comparator that it does not need.
    pub fn new(op: &HostOp) -> Result<LoadedHostOp, LoadError> {
        let fail = |reason: String| LoadError::HostOp { name: op.name.clone(), reason };
        let module = parse_module(&op.hlo, &op.name).map_err(|faults| fail(first(&faults)))?;
        verify(&module).map_err(|faults| fail(first(&faults)))?;
        let entry = module.entry_computation().ok_or_else(|| fail("it has no computation".into()))?;
        let parameters: Vec<Shape> = entry.parameters().iter().map(|&id| entry.instruction(id).shape.clone()).collect();
        let result = entry.root_instruction().shape.clone();
        if let Some(code) = &op.per_device {
            let op = LoadedHostOp { name: op.name.clone(), parameters, result, routine: None, product: None };
            let part = |parts: &[DevicePart]| parts.iter().map(DevicePart::whole_bytes).collect();
            return if op.has_sizes(part(&code.operands), part(&code.results)) {
                Ok(op)
            } else {
                Err(fail("its devices have parts of other arrays".into()))
            };
        }
        let comparator = match (comparator_to_compile(&module), &op.comparator) {
            (Some(_), None) => return Err(fail("its comparator is missing".into())),
            (None, Some(_)) => return Err(fail("it has a comparator that it does not need".into())),
            (_, kernel) => kernel.as_ref().map(|kernel| CompiledComparator::load(kernel, &parameters)).transpose()?,
        };
        let comparator = comparator.map(|comparator| Arc::new(comparator) as Arc<dyn Comparator>);
        let routine = routine_with(&module, &Companions { comparator }).map_err(|error| fail(error.to_string()))?;
        let product = product_of(&module).ok();
        Ok(LoadedHostOp { name: op.name.clone(), parameters, result, routine: Some(routine), product })
    }

    /// Returns the matrix product that this operation computes. Returns `None` if the operation is
    /// not a matrix product.
    pub fn product(&self) -> Option<&Product> {
        self.product.as_ref()
    }

    /// Whether the operation must compute with subnormal numbers, although the program flushes them
    /// to zero.
    pub fn needs_subnormals(&self) -> bool {
        self.routine.as_ref().is_some_and(|routine| routine.needs_subnormals())
    }

    /// Whether `operands` and `results` are the sizes of the array leaves of the operation's
    /// operands and results.
    fn has_sizes(&self, operands: Vec<Option<u64>>, results: Vec<Option<u64>>) -> bool {
        let sizes = |shapes: &[Shape]| -> Vec<Option<u64>> {
            let leaves = shapes.iter().flat_map(Shape::leaves).filter_map(Shape::as_array);
            leaves.map(|leaf| Some(leaf.byte_size() as u64)).collect()
        };
        sizes(&self.parameters) == operands && sizes(std::slice::from_ref(&self.result)) == results
    }

    /// Checks that the slices of a thunk have the sizes of the operation's operands and results.
    fn check_step(&self, arguments: &[Slice], results: &[Slice]) -> Result<(), LoadError> {
        let fits = |shapes: &[Shape], slices: &[Slice]| {
            let leaves = shapes.iter().flat_map(Shape::leaves).filter_map(Shape::as_array);
            leaves.map(|leaf| leaf.byte_size() as u64).eq(slices.iter().map(|slice| slice.bytes))
        };
        let wrong = |what: &str| {
            let reason = format!("a step has {what} of other sizes than the operation");
            Err(LoadError::HostOp { name: self.name.clone(), reason })
        };
        match (fits(&self.parameters, arguments), fits(std::slice::from_ref(&self.result), results)) {
            (false, _) => wrong("arguments"),
            (_, false) => wrong("results"),
            (true, true) => Ok(()),
        }
    }

    /// Executes the operation. `arguments` are the bytes of the operands' array leaves. `results`
    /// receives the bytes of the result's array leaves. Fails if memory is short or the operation
    /// is not defined for the values of its arguments.
    pub fn execute(
        &self,
        arguments: &[&[u8]],
        results: &mut [&mut [u8]],
        context: &Context<'_>,
    ) -> Result<(), RunError> {
        let leaves = self.parameters.iter().flat_map(Shape::leaves).filter_map(Shape::as_array);
        let arguments = leaves.zip(arguments).map(|(leaf, bytes)| canonical(leaf.element_type, bytes));
        let arguments = arguments.collect::<Result<Vec<Cow<[u8]>>, RunError>>()?;
        let arguments: Vec<&[u8]> = arguments.iter().map(AsRef::as_ref).collect();
        let Some(routine) = &self.routine else {
            return Err(self.failed(RoutineError::Value("devices execute this operation".into())));
        };
        routine.run(&arguments, results, context).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: RoutineError) -> RunError {
        RunError::HostOp { name: self.name.clone(), reason: error.to_string() }
    }
}

fn first(faults: &[Diagnostic]) -> String {
    faults.first().map_or_else(|| "unreadable".into(), Diagnostic::to_string)
}

/// Checks every thunk that executes a host operation: the slices of the thunk must have the sizes
/// of the operation's operands and results. The error names the first operation whose sizes differ.
pub fn check_steps(thunks: &[Thunk], ops: &[LoadedHostOp]) -> Result<(), LoadError> {
    fusebox_thunks::all(thunks).try_for_each(|thunk| match thunk {
        Thunk::HostOp { op, arguments, results } => ops[*op as usize].check_step(arguments, results),
        _ => Ok(()),
    })
}
