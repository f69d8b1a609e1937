//! Implements `rng` and `rng-get-and-update-state`. All operations `rng` and
//! `rng-get-and-update-state` of an execution share one generator of random numbers. Fusebox
//! chooses the algorithm of the generator, because HLO does not specify one.

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
/// the exclusive upper bound. For a normal distribution, the operands are the mean and the standard
/// deviation.
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
