//! Implements `rng` and `rng-get-and-update-state`. All such operations of an execution share one
//! generator of random numbers. Fusebox chooses the algorithm of the generator, because HLO does
//! not specify one.

use std::f64::consts::TAU;
use std::sync::PoisonError;

use fusebox_core::hlo::{ElementType, FloatFormat, Op, RandomDistribution};
use fusebox_core::random::SplitMix64;

use crate::{Context, Operation, Routine, RoutineError, Unsupported};

/// The routine of `rng`.
#[derive(Debug)]
struct RandomNumbers {
    ty: ElementType,
    distribution: RandomDistribution,
}

/// The routine of `rng-get-and-update-state`, which returns the state and then adds `delta` to it.
#[derive(Debug)]
struct GeneratorState {
    delta: i64,
}

/// Creates the routine of `rng`. For a uniform distribution, the operands are the lower bound and
/// the upper bound, which is exclusive. For a normal distribution, the operands are the mean and
/// the standard deviation.
pub fn numbers(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::Rng { distribution } = operation.instruction.op else {
        return Err(Unsupported::new("an rng that is none"));
    };
    let ty = operation.result(0)?.element_type;
    let is_known = match distribution {
        RandomDistribution::Uniform => ty.is_float() || ty.is_integer_or_pred(),
        RandomDistribution::Normal => ty.is_float(),
    };
    let bounds = [operation.argument(0)?, operation.argument(1)?];
    if !is_known || bounds.iter().any(|bound| bound.element_type != ty || !bound.dims.is_empty()) {
        return Err(Unsupported::new(format!("the distribution {distribution} of {ty}")));
    }
    Ok(Box::new(RandomNumbers { ty, distribution }))
}

/// Creates the routine of `rng-get-and-update-state`.
pub fn state(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::RngGetAndUpdateState { delta } = operation.instruction.op else {
        return Err(Unsupported::new("a state that is none"));
    };
    let shape = operation.result(0)?;
    if shape.element_type != ElementType::U64 || shape.dims != [2] {
        return Err(Unsupported::new("a state of random numbers other than u64[2]"));
    }
    Ok(Box::new(GeneratorState { delta }))
}

impl Routine for GeneratorState {
    fn run(&self, _: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let [result] = results else { return Err(RoutineError::Buffer) };
        if result.len() != size_of::<u128>() {
            return Err(RoutineError::Buffer);
        }
        let mut generator = context.generator.lock().unwrap_or_else(PoisonError::into_inner);
        result.copy_from_slice(&generator.counter.to_le_bytes());
        generator.counter = generator.counter.wrapping_add_signed(i128::from(self.delta));
        Ok(())
    }

    fn describe(&self) -> String {
        "the program's counter of random numbers".into()
    }
}

impl Routine for RandomNumbers {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let ([first, second], [result]) = (arguments, results) else { return Err(RoutineError::Buffer) };
        let bytes = self.ty.byte_size();
        if [first.len(), second.len()] != [bytes; 2] {
            return Err(RoutineError::Buffer);
        }
        let mut generator = context.generator.lock().unwrap_or_else(PoisonError::into_inner);
        let mut put = |mut bits: Box<dyn FnMut(&mut SplitMix64) -> u64>| {
            for element in result.chunks_exact_mut(bytes) {
                element.copy_from_slice(&bits(&mut generator.random).to_le_bytes()[..bytes]);
            }
        };
        match FloatFormat::of(self.ty) {
            Some(format) => {
                let (first, second) = (format.decode(word(first)), format.decode(word(second)));
                match self.distribution {
                    RandomDistribution::Uniform => put(Box::new(move |random| uniform(random, format, first, second))),
                    RandomDistribution::Normal => {
                        put(Box::new(move |random| format.encode(first + second * normal(random))));
                    }
                }
            }
            None if self.ty == ElementType::Pred => put(Box::new(|random| random.bits() & 1)),
            None => {
                let ty = self.ty;
                let (first, second) = (extended(ty, word(first)), extended(ty, word(second)));
                put(Box::new(move |random| extended(ty, uniform_integer(random, first, second))));
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("{} numbers of the program's generator", self.distribution)
    }
}

/// Returns the bits of a scalar as an integer.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

/// Sign-extends or zero-extends the low bits of an integer, depending on its type.
fn extended(ty: ElementType, bits: u64) -> u64 {
    let unused = 64 - ty.bits();
    if ty.is_signed_integer() { ((bits << unused) as i64 >> unused) as u64 } else { bits << unused >> unused }
}

fn uniform_integer(random: &mut SplitMix64, first: u64, end: u64) -> u64 {
    match end.wrapping_sub(first) {
        0 => first,
        range => first.wrapping_add(random.bits() % range),
    }
}

fn uniform(random: &mut SplitMix64, format: FloatFormat, first: f64, end: f64) -> u64 {
    // Rounding may produce the upper bound, which is excluded. In this case, draw another number.
    // Stop after a fixed number of draws.
    let mut draws = std::iter::repeat_with(|| format.encode(first + random.unit() * (end - first))).take(64);
    draws.find(|&bits| format.decode(bits) < end).unwrap_or(format.encode(first))
}

fn normal(random: &mut SplitMix64) -> f64 {
    let (u, v) = (1.0 - random.unit(), random.unit());
    (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};

    use crate::check::{expected, module};
    use crate::{CallingThread, Context, SharedGenerator, routine_for};

    fn run(text: &str, inputs: &[ArrayLiteral], bytes: usize) -> Vec<u8> {
        let arguments: Vec<&[u8]> = inputs.iter().map(|input| &input.data[..]).collect();
        let mut result = vec![0; bytes];
        routine_for(&module(text))
            .unwrap()
            .run(
                &arguments,
                &mut [&mut result],
                &Context { workers: &CallingThread, generator: &SharedGenerator::default(), collectives: None },
            )
            .unwrap();
        result
    }

    #[test]
    fn numbers_are_those_of_the_interpreter() {
        for ty in ElementType::ALL.iter().copied().filter(|ty| !ty.is_complex()) {
            let scalar = |value: f64| {
                let bits = match FloatFormat::of(ty) {
                    Some(format) => format.encode(value),
                    None => value as u64 & (u64::MAX >> (64 - ty.bits().min(7))),
                };
                ArrayLiteral::new(ty, Vec::new(), bits.to_le_bytes()[..ty.byte_size()].to_vec()).unwrap()
            };
            let inputs = [scalar(0.0), scalar(1.0)];
            let distributions: &[&str] = if ty.is_float() { &["rng_uniform", "rng_normal"] } else { &["rng_uniform"] };
            for distribution in distributions {
                let text = format!(
                    "ENTRY e {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  ROOT r = {ty}[50] rng(a, b), distribution={distribution}\n}}\n"
                );
                let expected = expected(&module(&text), &inputs);
                assert_eq!(run(&text, &inputs, 50 * ty.byte_size()), expected[0], "{text}");
            }
        }
    }

    #[test]
    fn operations_of_an_execution_draw_on() {
        let text = "ENTRY e {\n  ROOT s = u64[2] rng-get-and-update-state(), delta=3\n}\n";
        assert_eq!(run(text, &[], 16), expected(&module(text), &[])[0]);
        let generator = SharedGenerator::default();
        let context = Context { workers: &CallingThread, generator: &generator, collectives: None };
        let [a, b] = [(); 2].map(|()| routine_for(&module(text)).unwrap());
        let run = |routine: &dyn crate::Routine| {
            let mut result = [0; 16];
            routine.run(&[], &mut [&mut result], &context).unwrap();
            u128::from_le_bytes(result)
        };
        let first = run(&*a);
        let too_small = a.run(&[], &mut [&mut [0; 8]], &context);
        assert!(too_small.is_err(), "a routine that fails must not change the state");
        assert_eq!([run(&*b), run(&*a)], [first + 3, first + 6]);
    }
}
