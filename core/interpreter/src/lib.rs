//! The reference interpreter. The interpreter defines the meaning of an HLO module without
//! compiling the module.
//!
//! The interpreter is simple, slow and right. The interpreter evaluates the instructions one after
//! the other, each on whole arrays. The interpreter stores each element in the widest type of its
//! kind (`i64`, `f64`, pairs of `f64`), and each operation rounds its results to the element type
//! once. The interpreter serves as the oracle of the project's tests.
//!
//! The interpreter expects modules that pass the verifier. For an unsupported operation, the
//! interpreter returns an error with the position of the operation; it never guesses. If a program
//! has manual computations for several devices, a thread for each device evaluates the program. A
//! program without manual computations for several devices runs as if there were only one device:
//! its collectives have one participant and return their operands.
//!
//! ```text
//! lib, evaluator      computations, control flow        value        arrays, literals
//! operation           opcode -> function                number       single elements
//! calls               checks before execution           memory       bounds of needed memory
//! caller              how operations call computations  free_memory  checks that memory is free
//! devices             threads for devices           manual       parts of arrays, collectives
//! movement … linalg   the operations                    function     scalar computations
//! ```
//!
//! [`kernel`] interprets kernels in the kernel IR, at any stage of lowering.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod batch_norm;
mod caller;
mod calls;
mod collective;
mod contraction;
mod convolution;
mod custom_call;
mod devices;
mod dynamic;
mod elementwise;
mod error;
mod evaluator;
mod fft;
mod free_memory;
mod function;
mod gather;
mod int4;
pub mod kernel;
mod linalg;
mod manual;
mod memory;
mod movement;
mod number;
mod operands;
mod operation;
mod random;
mod reduce;
mod running;
mod scan;
mod scatter;
mod sort;
mod strided;
mod value;
mod window;

use fusebox_core::hlo::{ComputationId, InstrId, Literal, Module, Shape};

pub use error::{EvalError, Fault, InstructionError};

use devices::{Device, on_devices};
use evaluator::Evaluator;
use value::Value;

/// Runs the entry computation. `inputs` contains one literal per parameter, in order. The literal
/// for a tuple parameter is a tuple.
///
/// # Errors
/// Fails if the inputs do not fit the parameters, or the interpreter cannot evaluate an
/// instruction.
pub fn evaluate(module: &Module, inputs: &[Literal]) -> Result<Literal, EvalError> {
    match module.entry {
        Some(entry) => evaluate_computation(module, entry, inputs),
        None => Err(EvalError::NoEntry { file: module.source_file.clone() }),
    }
}

/// Runs one computation of a module.
///
/// # Errors
/// Fails if the arguments do not fit the parameters, or the interpreter cannot evaluate an
/// instruction.
pub fn evaluate_computation(module: &Module, id: ComputationId, arguments: &[Literal]) -> Result<Literal, EvalError> {
    check_arguments(module, id, arguments)?;
    calls::check_calls(module, id)?;
    let computation = module.computation(id);
    let work = |device: Option<Device>| {
        let at = |instruction| move |fault| InstructionError::locate(module, computation, instruction, fault);
        let parameters = computation.parameters();
        let values =
            arguments.iter().zip(parameters).map(|(a, parameter)| Value::from_literal(a).map_err(at(parameter)));
        let values = values.collect::<Result<_, _>>()?;
        let result = Evaluator::new(module, device).computation(id, values)?;
        Ok(result.to_literal().map_err(at(computation.root))?)
    };
    evaluated(module, &work)
}

/// Evaluates one instruction on these operands.
///
/// # Errors
/// Fails if the interpreter cannot evaluate the instruction on these operands.
pub fn evaluate_instruction(
    module: &Module,
    computation: ComputationId,
    instruction: InstrId,
    operands: &[Literal],
) -> Result<Literal, EvalError> {
    calls::check_calls(module, computation)?;
    let work = |device: Option<Device>| {
        let located = |fault| InstructionError::locate(module, module.computation(computation), instruction, fault);
        let values = operands.iter().map(Value::from_literal).collect::<Result<_, _>>().map_err(located)?;
        let result = Evaluator::new(module, device).instruction(computation, instruction, values).map_err(located)?;
        Ok(result.to_literal().map_err(located)?)
    };
    evaluated(module, &work)
}

/// Runs `work` once for each device of a program. Each run has enough stack for the program's
/// nested calls.
fn evaluated(
    module: &Module,
    work: &(dyn Fn(Option<Device>) -> Result<Literal, EvalError> + Sync),
) -> Result<Literal, EvalError> {
    let depth = calls::nesting_depth(module);
    on_devices(module, depth.max(SHALLOW).saturating_mul(BYTES_PER_LEVEL) * 2, &|device| match device {
        None => on_deep_stack(depth, || work(None)),
        device => work(device),
    })
}

fn check_arguments(module: &Module, id: ComputationId, arguments: &[Literal]) -> Result<(), EvalError> {
    let Some(computation) = module.computations.get(id.index()) else {
        return Err(arguments_error(module, format!("the module has no computation number {}", id.0)));
    };
    let parameters = computation.parameters();
    if parameters.len() != arguments.len() {
        let message =
            format!("`{}` takes {} arguments, but {} were given", computation.name, parameters.len(), arguments.len());
        return Err(arguments_error(module, message));
    }
    for (number, (&parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        let instruction = computation.instruction(parameter);
        if !argument_fits(argument, &instruction.shape) {
            let message = format!(
                "argument {number} of `{}` does not have the shape of parameter `{}`: {:?} was given, {:?} is wanted",
                computation.name,
                instruction.name,
                argument.shape(),
                instruction.shape
            );
            return Err(arguments_error(module, message));
        }
    }
    Ok(())
}

fn argument_fits(argument: &Literal, shape: &Shape) -> bool {
    match (argument, shape) {
        (Literal::Array(array), Shape::Array(shape)) => {
            let is_whole = array.data.len() as i64 == array.shape().byte_size();
            is_whole && array.element_type == shape.element_type && shape.admits(&array.dims)
        }
        (Literal::Tuple(values), Shape::Tuple(shapes)) => {
            values.len() == shapes.len() && values.iter().zip(shapes).all(|(value, shape)| argument_fits(value, shape))
        }
        _ => argument.shape().same_structure(shape),
    }
}

fn arguments_error(module: &Module, message: String) -> EvalError {
    EvalError::Arguments { file: module.source_file.clone(), message }
}

/// Largest depth of nested calls for which the evaluation runs on the caller's stack.
const SHALLOW: usize = 24;
/// Bytes of stack for each level of nested calls. Optimised builds need fewer bytes per level than
/// this number. Unoptimised builds need much more stack than optimised builds.
const BYTES_PER_LEVEL: usize = 64 << 10;

/// Runs `work` with enough stack for calls nested `depth` deep.
fn on_deep_stack<T: Send>(depth: usize, work: impl FnOnce() -> Result<T, EvalError> + Send) -> Result<T, EvalError> {
    if depth <= SHALLOW {
        return work();
    }
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size((depth + SHALLOW).saturating_mul(BYTES_PER_LEVEL));
        let no_thread = |reason: String| EvalError::Arguments {
            file: String::new(),
            message: format!("no stack for calls nested {depth} deep: {reason}"),
        };
        let thread = builder.spawn_scoped(scope, work).map_err(|error| no_thread(error.to_string()))?;
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
