//! Helpers for the tests of routines: executes the routine of a module, and compares its results
//! with those of the interpreter.

mod aligned_bytes;
mod elements;
mod random;
mod workers;

use fusebox_core::hlo::{ArrayLiteral, Literal, Module, Shape, parse_module, verify};
use fusebox_routines::{CallingThread, Context, Routine, RoutineError, Workers, routine_for};

pub use aligned_bytes::AlignedBytes;
pub use elements::elements;
pub use random::Random;
pub use workers::{Threads, WORKERS};

/// Values of the bytes of results before the executions of a routine: NaN, about 0.75 and zero as
/// floats.
const FILLS: [u8; 3] = [0xFF, 0x3F, 0];

/// Parses and verifies a module.
pub fn module(text: &str) -> Module {
    let module = parse_module(text, "test").unwrap_or_else(|faults| panic!("{text}{faults:?}"));
    verify(&module).unwrap_or_else(|faults| panic!("{text}{faults:?}"));
    module
}

/// Executes a routine on this thread, as on a device without others.
pub fn execute(routine: &dyn Routine, arguments: &[&[u8]], results: &mut [&mut [u8]]) -> Result<(), RoutineError> {
    execute_by(&CallingThread, routine, arguments, results)
}

/// Executes a routine by these workers, as on a device without others.
pub fn execute_by(
    workers: &dyn Workers,
    routine: &dyn Routine,
    arguments: &[&[u8]],
    results: &mut [&mut [u8]],
) -> Result<(), RoutineError> {
    routine.run(arguments, results, &Context { workers, generator: &Default::default(), collectives: None })
}

/// Executes the routine of a module by each of `workers`. Checks that the results depend neither on
/// the workers nor on the bytes that the results had before, and returns them.
pub fn results(module: &Module, arguments: &[&[u8]], workers: &[&dyn Workers]) -> Vec<AlignedBytes> {
    let shape = &module.entry_computation().unwrap().root_instruction().shape;
    let sizes = shape.leaves().into_iter().filter_map(Shape::as_array).map(|array| array.byte_size() as usize);
    let arguments: Vec<AlignedBytes> = arguments.iter().map(|bytes| AlignedBytes::new(bytes)).collect();
    let arguments: Vec<&[u8]> = arguments.iter().map(AlignedBytes::bytes).collect();
    let routine = routine_for(module).unwrap_or_else(|error| panic!("{module}: {error}"));
    let mut by_all = workers.iter().zip(FILLS.into_iter().cycle()).map(|(workers, fill)| {
        let mut results: Vec<AlignedBytes> = sizes.clone().map(|size| AlignedBytes::new(&vec![fill; size])).collect();
        let mut slices: Vec<&mut [u8]> = results.iter_mut().map(AlignedBytes::bytes_mut).collect();
        let outcome = execute_by(*workers, &*routine, &arguments, &mut slices);
        outcome.unwrap_or_else(|error| panic!("{module}: {error}"));
        results
    });
    let first = by_all.next().unwrap();
    for others in by_all {
        let equal = first.iter().zip(&others).all(|(one, other)| one.bytes() == other.bytes());
        assert!(equal, "{module}: the bits depend on the workers, or on what was in the results");
    }
    first
}

/// Checks that the routine of a module and the interpreter compute the same bits.
pub fn check_with_interpreter(module: &Module, inputs: &[ArrayLiteral]) {
    let arguments: Vec<&[u8]> = inputs.iter().map(|input| &input.data[..]).collect();
    let found = results(module, &arguments, &WORKERS);
    let literals: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
    let expected = fusebox_interpreter::evaluate(module, &literals).unwrap();
    let expected = expected.leaves().into_iter().map(|leaf| &leaf.as_array().unwrap().data[..]);
    assert!(found.iter().map(AlignedBytes::bytes).eq(expected), "{module}");
}
