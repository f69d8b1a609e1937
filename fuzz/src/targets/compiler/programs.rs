//! Changes whole programs so that many remain valid. Compiles the programs for this machine and for
//! the simulator, and runs them. If results must be exact, compares them with the interpreter's
//! results.

use fusebox_compiler::{CompileError, Source};
use fusebox_core::hlo::{
    ArrayLiteral, BinaryOp, Computation, ElementType, FloatFormat, Instruction, Literal, Module, Opcode, Shape, UnaryOp,
};
use fusebox_plugins::Registry;
use fusebox_routines::RoutineError;
use fusebox_runtime::{Executable, LoadedExecutable, Options, RunError};

use super::judge;
use crate::compiled::{Place, executable, registry};
use crate::random::Random;
use crate::seeds::Seeds;
use crate::worker::feeds;
use crate::{Outcome, Target, mutate};

/// Largest number of elements of an array. Programs with larger arrays are skipped.
const MOST_ELEMENTS: i64 = 1 << 16;
/// Largest work of an instruction, in elements. If an instruction needs more work, the program is
/// compiled but not run.
const MOST_WORK: i64 = 1 << 24;

/// The target for programs and their variants.
pub struct Programs {
    seeds: Vec<String>,
    pool: Vec<Vec<u8>>,
    registry: Result<Registry, String>,
}

impl Programs {
    /// Creates the target with the programs of these seeds.
    pub fn new(seeds: &Seeds) -> Programs {
        let seeds: Vec<String> =
            seeds.programs().into_iter().map(|program| String::from_utf8_lossy(&program.bytes).into_owned()).collect();
        let pool = seeds.iter().map(|text| text.clone().into_bytes()).collect();
        Programs { seeds, pool, registry: registry() }
    }

    fn check(&self, input: &[u8], random: &mut Random) -> Result<Outcome, String> {
        let registry = self.registry.as_ref().map_err(Clone::clone)?;
        let source = Source { bytes: input.to_vec(), ..Source::text("program.hlo", "") };
        let Ok(module) = source.parse() else { return Ok("refused") };
        if !is_small(&module) {
            return Ok("large");
        }
        let inputs = inputs(&module, random);
        let mut found = Vec::new();
        for place in [Place::Cpu, Place::Simt] {
            match executable(&source, place, registry) {
                Ok(executable) if is_short(&module) => found.push(run(executable, &inputs, place)?),
                Ok(_) => {}
                Err(error) => found.push(refusal(&error)?),
            }
        }
        if found.is_empty() {
            return Ok("compiled");
        }
        compare(&module, &inputs, &found)
    }
}

impl Target for Programs {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        let mut text = random.pick(&self.seeds).cloned().unwrap_or_default();
        for _ in 0..=random.below(3) {
            text = relative(&text, random);
        }
        *input = text.into_bytes();
        if random.chance(8) {
            mutate::pieces(random, input, &self.pool, &[]);
        }
        feeds(input)?;
        self.check(input, random)
    }
}

/// The outcome for one target: a result, or a refusal to compile or run the program.
enum Answer {
    Value(Literal),
    Refused,
}

fn refusal(error: &CompileError) -> Result<Answer, String> {
    judge(error).map(|()| Answer::Refused)
}

fn run(executable: Executable, inputs: &[Literal], place: Place) -> Result<Answer, String> {
    let arrays: Vec<ArrayLiteral> =
        inputs.iter().flat_map(Literal::leaves).filter_map(Literal::as_array).cloned().collect();
    let options = Options { threads: 1, ..Options::default() };
    let program = LoadedExecutable::open(executable, &options).map_err(|error| format!("{place:?}: {error}"))?;
    match program.run(&arrays) {
        Ok(value) => Ok(Answer::Value(value)),
        // If a host operation rejects its operands' values, the interpreter rejects them too. An
        // error about a buffer is a bug, because the compiler has checked the shapes.
        Err(RunError::HostOp { reason, .. }) if reason != RoutineError::Buffer.to_string() => Ok(Answer::Refused),
        Err(error) => Err(format!("{place:?}: {error}")),
    }
}

/// Fails if results must be exact and a result differs from the interpreter's result.
fn compare(module: &Module, inputs: &[Literal], found: &[Answer]) -> Result<Outcome, String> {
    let expected = match fusebox_interpreter::evaluate(module, inputs) {
        Ok(value) => value,
        Err(error) => {
            let said = error.to_string();
            let is_lie = said.contains("run the verifier");
            return if is_lie { Err(format!("verified, but: {said}")) } else { Ok("uninterpreted") };
        }
    };
    let mut values = found.iter().filter_map(|answer| match answer {
        Answer::Value(value) => Some(value),
        Answer::Refused => None,
    });
    if !is_exact(module) {
        return Ok("ran");
    }
    match values.find(|value| **value != expected) {
        Some(value) => Err(difference(value, &expected)),
        None => Ok("exact"),
    }
}

fn difference(found: &Literal, expected: &Literal) -> String {
    for (number, (found, expected)) in found.leaves().into_iter().zip(expected.leaves()).enumerate() {
        let Some((found, expected)) = found.as_array().zip(expected.as_array()) else { continue };
        if let Some(byte) = found.data.iter().zip(expected.data.iter()).position(|(a, b)| a != b) {
            let size = found.element_type.byte_size();
            let place = byte / size * size;
            let (a, b) = (&found.data[place..place + size], &expected.data[place..place + size]);
            return format!(
                "result {number} of type {}, element {}: {a:x?} instead of {b:x?}",
                found.element_type,
                place / size
            );
        }
    }
    "results differ in form".into()
}

/// Whether all targets and the interpreter must compute the same bits. This is so if there are no
/// floats and the order of reductions does not matter.
fn is_exact(module: &Module) -> bool {
    let mut instructions = module.computations.iter().flat_map(|computation| &computation.instructions);
    instructions.all(|instruction| {
        let mut arrays = instruction.shape.leaves().into_iter().filter_map(Shape::as_array);
        let is_exact = |ty: ElementType| ty == ElementType::Pred || ty.is_integer();
        let combines = instruction.op.called().into_iter().all(|id| is_associative(module.computation(id)));
        arrays.all(|array| is_exact(array.element_type)) && (combines || instruction.opcode() == Opcode::Call)
    })
}

/// Whether a computation is a single associative operation on two parameters.
fn is_associative(computation: &Computation) -> bool {
    let root = computation.root_instruction().opcode();
    let regroups = matches!(
        root,
        Opcode::Add | Opcode::Multiply | Opcode::Maximum | Opcode::Minimum | Opcode::And | Opcode::Or | Opcode::Xor
    );
    regroups && computation.instructions.len() == 3
}

fn is_small(module: &Module) -> bool {
    let instructions = module.computations.iter().flat_map(|computation| &computation.instructions);
    let mut arrays = instructions.flat_map(|it| it.shape.leaves()).filter_map(Shape::as_array);
    arrays.all(|array| array.element_count() <= MOST_ELEMENTS)
}

/// Whether the module certainly runs only for a short time.
fn is_short(module: &Module) -> bool {
    let is_short = |computation: &Computation, instruction: &Instruction| {
        let operands = instruction.operands.iter().map(|&id| &computation.instruction(id).shape);
        let leaves = operands.chain([&instruction.shape]).flat_map(Shape::leaves).filter_map(Shape::as_array);
        let counts: Vec<i64> = leaves.map(|leaf| leaf.element_count().max(1)).collect();
        let work: i64 = match instruction.opcode() {
            // The number of iterations is unknown.
            Opcode::While => i64::MAX,
            Opcode::Dot | Opcode::Convolution | Opcode::ReduceWindow | Opcode::SelectAndScatter => {
                counts[0].saturating_mul(counts[1])
            }
            Opcode::Cholesky | Opcode::TriangularSolve | Opcode::CustomCall | Opcode::Fft => {
                counts.iter().map(|count| count * count).sum()
            }
            _ => counts.iter().sum(),
        };
        work <= MOST_WORK
    };
    module.computations.iter().all(|it| it.instructions.iter().all(|instruction| is_short(it, instruction)))
}

/// Returns inputs that contain small numbers and a few special floats, such as NaN and infinity.
fn inputs(module: &Module, random: &mut Random) -> Vec<Literal> {
    let Some(entry) = module.entry_computation() else { return Vec::new() };
    let shapes = entry.parameters().into_iter().map(|id| entry.instruction(id).shape.clone());
    shapes.map(|shape| value(&shape, random)).collect()
}

fn value(shape: &Shape, random: &mut Random) -> Literal {
    match shape {
        Shape::Array(array) => {
            let ty = array.element_type;
            let parts = if ty.is_complex() { 2 } else { 1 };
            let count = array.element_count() * parts;
            let data: Vec<u8> = (0..count).flat_map(|_| element(ty.real_part(), random)).collect();
            Literal::Array(ArrayLiteral { element_type: ty, dims: array.dims.clone(), data: data.into() })
        }
        Shape::Tuple(elements) => Literal::Tuple(elements.iter().map(|element| value(element, random)).collect()),
        Shape::Token | Shape::Opaque => Literal::Token,
    }
}

fn element(ty: ElementType, random: &mut Random) -> Vec<u8> {
    const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300];
    let small = random.below(17) as i64 - 8;
    let number = if random.chance(20) { SPECIAL[random.below(5)] } else { small as f64 / 2.0 };
    let bits = match (ty, FloatFormat::of(ty)) {
        (ElementType::F64, _) => number.to_bits(),
        (ElementType::F32, _) => u64::from((number as f32).to_bits()),
        (_, Some(format)) => format.encode(number),
        (ElementType::Pred, None) => (small & 1) as u64,
        (ty, None) => {
            let range = 1 << ty.bits().min(5);
            let lowest = if ty.is_signed_integer() { range / 2 } else { 0 };
            (small.rem_euclid(range) - lowest) as u64
        }
    };
    bits.to_le_bytes()[..ty.byte_size()].to_vec()
}

/// Returns the text after one change. The change affects a type, a size, an operation or the order
/// of operands.
fn relative(text: &str, random: &mut Random) -> String {
    match random.below(5) {
        0 => other_type(text, random),
        1 => other_size(text, random),
        2 | 3 => other_operation(text, random),
        _ => other_order(text, random),
    }
}

/// Replaces one element type by another, wherever it occurs.
fn other_type(text: &str, random: &mut Random) -> String {
    const TYPES: [&str; 14] =
        ["f32", "s32", "bf16", "f16", "f64", "u8", "s8", "s64", "u32", "pred", "c64", "s4", "f8e4m3fn", "u16"];
    let (from, to) = (TYPES[random.below(2)], TYPES[random.below(TYPES.len())]);
    text.replace(&format!("{from}["), &format!("{to}["))
}

/// Replaces one number by another, wherever it occurs.
fn other_size(text: &str, random: &mut Random) -> String {
    let numbers: Vec<&str> =
        text.split(|c: char| !c.is_ascii_digit()).filter(|number| (2..7).contains(&number.len())).collect();
    let Some(from) = random.pick(&numbers) else { return text.to_owned() };
    let to = ["0", "1", "2", "3", "7", "33", "64", "129"][random.below(8)];
    let mut changed = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = rest.split_at(at);
        let after = &after[from.len()..];
        let is_whole = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
            && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        changed += before;
        changed += if is_whole { to } else { from };
        rest = after;
    }
    changed + rest
}

/// Replaces one elementwise operation by another with the same number of operands.
fn other_operation(text: &str, random: &mut Random) -> String {
    let unary: Vec<&str> = UnaryOp::ALL.iter().map(|op| op.opcode().name()).collect();
    let binary: Vec<&str> = BinaryOp::ALL.iter().map(|op| op.opcode().name()).collect();
    let mut places = Vec::new();
    for (at, _) in text.match_indices('(') {
        let from = text[..at].rfind(' ').map_or(0, |space| space + 1);
        let name = &text[from..at];
        places.extend([&unary, &binary].into_iter().filter(|all| all.contains(&name)).map(|all| (from..at, all)));
    }
    let Some((place, all)) = random.pick(&places) else { return text.to_owned() };
    let other = random.pick(all).copied().unwrap_or_default();
    [&text[..place.start], other, &text[place.end..]].concat()
}

/// Swaps the operands of one operation.
fn other_order(text: &str, random: &mut Random) -> String {
    let places: Vec<(usize, usize, usize)> = text
        .match_indices('(')
        .filter_map(|(open, _)| {
            let close = open + text[open..].find(')')?;
            let comma = open + text[open..close].find(", ")?;
            (!text[comma + 2..close].contains(',')).then_some((open + 1, comma, close))
        })
        .collect();
    let Some(&(start, comma, end)) = random.pick(&places) else { return text.to_owned() };
    [&text[..start], &text[comma + 2..end], ", ", &text[start..comma], &text[end..]].concat()
}
