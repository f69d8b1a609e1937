//! Helpers for tests that compare routines with the reference interpreter on random inputs.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat, Literal, Module, Shape, parse_module, verify};
use fusebox_core::random::SplitMix64;

use crate::lines::AlignedMemory;
use crate::{CallingThread, Context, Workers, routine_for};

/// Executes the parts of a task on the calling thread, from the last part to the first.
struct BackwardWorkers;

impl Workers for BackwardWorkers {
    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..parts).rev().for_each(task);
    }
}

/// Executes the parts of a task on two threads, alternately.
struct TwoWorkers;

impl Workers for TwoWorkers {
    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            scope.spawn(|| (0..parts).step_by(2).for_each(task));
            (1..parts).step_by(2).for_each(task);
        });
    }
}

/// Parses and verifies a module.
pub fn module(text: &str) -> Module {
    let module = parse_module(text, "m").unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    module
}

/// Runs the module's routine three times: on one thread, on one thread with the parts in reverse
/// order, and on two threads. Asserts that the results are equal, and returns them.
pub fn run(module: &Module, inputs: &[ArrayLiteral]) -> Vec<Vec<u8>> {
    let routine = routine_for(module).unwrap();
    let inputs: Vec<AlignedMemory> = inputs.iter().map(|input| aligned(&input.data)).collect();
    let arguments: Vec<&[u8]> = inputs.iter().map(AlignedMemory::bytes).collect();
    let shape = &module.entry_computation().unwrap().root_instruction().shape;
    let sizes = shape.leaves().into_iter().filter_map(Shape::as_array).map(|array| array.byte_size() as usize);
    let by = |workers: &dyn Workers| {
        let mut results: Vec<AlignedMemory> = sizes.clone().map(|bytes| aligned(&vec![0xa5; bytes])).collect();
        let mut written: Vec<&mut [u8]> = results.iter_mut().map(AlignedMemory::bytes_mut).collect();
        routine
            .run(&arguments, &mut written, &Context { workers, generator: &Default::default(), collectives: None })
            .unwrap();
        results.iter().map(|result| result.bytes().to_vec()).collect::<Vec<_>>()
    };
    let alone = by(&CallingThread);
    assert!(alone == by(&BackwardWorkers) && alone == by(&TwoWorkers), "the result depends on who works");
    alone
}

fn aligned(bytes: &[u8]) -> AlignedMemory {
    let mut memory = AlignedMemory::zeroed(bytes.len()).unwrap();
    memory.bytes_mut().copy_from_slice(bytes);
    memory
}

/// Evaluates the module with the interpreter.
pub fn expected(module: &Module, inputs: &[ArrayLiteral]) -> Vec<Vec<u8>> {
    let inputs: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
    let result = fusebox_interpreter::evaluate(module, &inputs).unwrap();
    result.leaves().into_iter().map(|leaf| leaf.as_array().unwrap().data.to_vec()).collect()
}

/// Returns random elements. Equal elements, zeros of both signs, extreme values and NaNs are
/// frequent.
pub fn elements(random: &mut SplitMix64, ty: ElementType, count: usize) -> Vec<u8> {
    let few = random.bits().is_multiple_of(2);
    let mut bytes = Vec::new();
    for _ in 0..count * (ty.byte_size() / ty.real_part().byte_size()) {
        let part = ty.real_part();
        let bits = element(random, part, few);
        bytes.extend_from_slice(&bits.to_le_bytes()[..part.byte_size()]);
    }
    bytes
}

fn element(random: &mut SplitMix64, ty: ElementType, few: bool) -> u64 {
    let any = random.bits();
    let Some(format) = FloatFormat::of(ty) else {
        let narrow = if few { any % 5 } else { any };
        let unused = 64 - ty.bits();
        return if ty.is_signed_integer() {
            ((narrow << unused) as i64 >> unused) as u64 & (u64::MAX >> (64 - 8 * ty.byte_size()))
        } else {
            narrow << unused >> unused
        };
    };
    // All NaNs are quiet, because the interpreter does not preserve signalling NaNs.
    let special = [0, format.sign_bit(), format.max_finite_bits(), format.encode(1.0), format.encode(-1.0)];
    let nan = format.nan_bits().unwrap_or(0);
    match random.bits() % 8 {
        0..5 if few => special[(any % 5) as usize],
        5 => nan,
        6 if format.signed => nan | format.sign_bit(),
        _ => format.encode(random.unit() * 8.0 - 4.0),
    }
}
