//! Calls of functions that the process has registered by names. The program does not contain the
//! code of these functions: a custom call contains the name of a function, and the process supplies
//! the function.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fusebox_core::hlo::{ArrayShape, Layout, Op, Shape};

use crate::attributes::{Attributes, Value};
use crate::{Context, Operation, Routine, RoutineError, Unsupported, Workers};

/// Name of the attribute with the layouts of a call's results. A pass that makes arrays row-major
/// adds this attribute if the layout of a result is not row-major. The attribute holds one list per
/// result: the result's dimensions from minor to major.
pub const RESULT_LAYOUTS: &str = "fusebox.result_layouts";

/// A call of a foreign function: its arrays and attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignCall {
    /// Shapes of the operands, with the layouts that the function expects. Row-major by default.
    pub operands: Vec<ArrayShape>,
    /// Shapes of the results, with the layouts in which the function writes them.
    pub results: Vec<ArrayShape>,
    /// Attributes with their names.
    pub attributes: Vec<(String, Value)>,
}

/// A function that the process has registered.
pub trait ForeignFunction: Send + Sync {
    /// Prepares the execution of a call. On failure, returns the message of the foreign function.
    ///
    /// # Errors
    /// If the function refuses the call.
    fn prepare(&self, call: &ForeignCall) -> Result<Box<dyn PreparedCall>, String>;
}

/// A call that is ready for any number of executions.
pub trait PreparedCall: Send + Sync {
    /// Executes the call. All arrays are row-major, even if the layouts in the call are different.
    /// If the function fails, returns its message.
    ///
    /// # Errors
    /// If the function fails, or memory is short.
    fn execute(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], workers: &dyn Workers) -> Result<(), String>;
}

/// The functions that this process has registered, by their names.
static FUNCTIONS: RwLock<BTreeMap<String, Arc<dyn ForeignFunction>>> = RwLock::new(BTreeMap::new());

/// Registers a function. Programs that are compiled or loaded after the registration can call the
/// function. If another function was registered with this name, later programs call the new
/// function.
pub fn register_foreign_function(name: &str, function: Arc<dyn ForeignFunction>) {
    FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), function);
}

fn registered(name: &str) -> Option<Arc<dyn ForeignFunction>> {
    FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// Whether the process has registered a function with this name.
pub fn is_registered(name: &str) -> bool {
    registered(name).is_some()
}

/// The routine of a call of a foreign function.
struct Foreign {
    name: String,
    function: Arc<dyn ForeignFunction>,
    call: ForeignCall,
    /// The prepared call; `None` before the first execution. The routine does not prepare the call
    /// earlier, because the compiler creates routines only to describe them, and the preparation
    /// may have side effects.
    prepared: Mutex<Option<Arc<dyn PreparedCall>>>,
}

impl Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Foreign").field("name", &self.name).field("call", &self.call).finish_non_exhaustive()
    }
}

/// Creates the routine of a call of a registered function.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::CustomCall(attributes) = &operation.instruction.op else {
        return Err(Unsupported::new("an operation that calls no function"));
    };
    let name = &attributes.target;
    let function = registered(name);
    let function = function.ok_or_else(|| Unsupported::new("a function that the process has not registered"))?;
    let arrays = operation.arguments().len() + operation.results().len();
    let leaves = operation.operands().into_iter().chain([&operation.instruction.shape]).flat_map(|it| it.leaves());
    if leaves.count() != arrays {
        return Err(Unsupported::new("tokens as operands or results of a foreign function"));
    }
    if !attributes.called.is_empty() {
        return Err(Unsupported::new("a foreign function with computations"));
    }
    let call = foreign_call(operation, attributes.operand_layouts.as_deref().unwrap_or_default())?;
    Ok(Box::new(Foreign { name: name.clone(), function, call, prepared: Mutex::default() }))
}

fn foreign_call(operation: &Operation, operand_layouts: &[Shape]) -> Result<ForeignCall, Unsupported> {
    let entries = Attributes::new(operation.backend_config())?.into_entries();
    let (of_results, attributes) = entries.into_iter().partition::<Vec<_>, _>(|(name, _)| name == RESULT_LAYOUTS);
    let operand_layouts: Vec<Option<Layout>> =
        operand_layouts.iter().flat_map(|it| it.leaves()).map(|it| it.as_array()?.layout.clone()).collect();
    let result_layouts = match of_results.first() {
        Some((_, value)) => layouts(value)?,
        None => Vec::new(),
    };
    Ok(ForeignCall {
        operands: with_layouts(operation.arguments(), operand_layouts)?,
        results: with_layouts(operation.results(), result_layouts)?,
        attributes,
    })
}

/// Returns copies of the shapes with the given layouts. `layouts` is empty or has one entry per
/// shape.
fn with_layouts(shapes: Vec<&ArrayShape>, layouts: Vec<Option<Layout>>) -> Result<Vec<ArrayShape>, Unsupported> {
    if !layouts.is_empty() && layouts.len() != shapes.len() {
        return Err(Unsupported::new(format!("{} layouts for {} arrays", layouts.len(), shapes.len())));
    }
    let mut layouts = layouts.into_iter();
    let shapes = shapes.into_iter().map(|shape| {
        let element = shape.element_type;
        if element.bits() < 8 && (element.is_integer() || element.is_float()) {
            return Err(Unsupported::new(format!("arrays of {element} of a foreign function")));
        }
        let layout = layouts.next().flatten();
        let rank = layout.as_ref().map_or(shape.rank(), |layout| layout.minor_to_major.len());
        if rank != shape.rank() {
            return Err(Unsupported::new(format!("a layout of {rank} dimensions for {shape}")));
        }
        Ok(ArrayShape { layout, ..shape.clone() })
    });
    shapes.collect()
}

/// Reads the attribute [`RESULT_LAYOUTS`].
fn layouts(value: &Value) -> Result<Vec<Option<Layout>>, Unsupported> {
    let wrong = || Unsupported::new(format!("`{RESULT_LAYOUTS}` that is no list of lists of dimensions"));
    let Value::List(layouts) = value else { return Err(wrong()) };
    let layout = |value: &Value| {
        let Value::List(dims) = value else { return Err(wrong()) };
        let dims = dims.iter().map(|dim| match dim {
            Value::Number(_, text) => text.parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        });
        Ok(Some(Layout { minor_to_major: dims.collect::<Result<_, _>>()?, suffix: String::new() }))
    };
    layouts.iter().map(layout).collect()
}

impl Routine for Foreign {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let failed = |message| RoutineError::Value(format!("{}: {message}", self.name));
        let prepared = {
            let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            match &*prepared {
                Some(call) => call.clone(),
                None => {
                    let call: Arc<dyn PreparedCall> = self.function.prepare(&self.call).map_err(failed)?.into();
                    prepared.insert(call).clone()
                }
            }
        };
        prepared.execute(arguments, results, context.workers).map_err(failed)
    }

    fn needs_subnormals(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("a call of the process's function {}", self.name)
    }
}
