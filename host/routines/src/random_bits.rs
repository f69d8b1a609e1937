//! Implements `rng-bit-generator` with the algorithms Threefry and Philox. The elements of the
//! result are the same as in XLA. The algorithm `rng_default` is Philox.
//!
//! The algorithms are from Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
//! Both algorithms compute blocks of random words. A block depends only on a key and on the block's
//! counter, so blocks can be computed independently.

use bytemuck::Pod;
use fusebox_core::hlo::{ElementType, Op, RandomAlgorithm};
use pulp::{Arch, NullaryFnOnce};

use crate::{Context, Operation, Routine, RoutineError, Unsupported, Workers, elements, elements_mut, for_each};

/// Approximate number of elements that one thread generates per part of the work.
const PART: usize = 1 << 14;

#[derive(Debug)]
struct RandomBits {
    algorithm: RandomAlgorithm,
    /// Size of an element in bytes.
    bytes: usize,
    dims: Vec<usize>,
    state_words: usize,
}

/// Creates the routine of `rng-bit-generator`. The results of the routine are the new state and an
/// array of random integers.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::RngBitGenerator { algorithm } = operation.instruction.op else {
        return Err(Unsupported::new("an rng-bit-generator that is none"));
    };
    let (state, bits) = (operation.argument(0)?, operation.result(1)?);
    let ty = bits.element_type;
    if !ty.is_integer() || ty.bits() < 8 {
        return Err(Unsupported::new(format!("random bits as {ty}: expected integers of 8 bits or more")));
    }
    let words = if state.element_type == ElementType::U64 { state.element_count() } else { 0 };
    if !matches!((algorithm, words), (_, 2) | (RandomAlgorithm::Philox | RandomAlgorithm::Default, 3)) {
        return Err(Unsupported::new(format!(
            "{algorithm} with the state {state}: expected u64[2], or u64[3] for rng_philox"
        )));
    }
    if !operation.result(0)?.same_type_and_dims(state) {
        return Err(Unsupported::new("a new state whose shape is not that of the old one"));
    }
    let dims = bits.dims.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX)).collect();
    Ok(Box::new(RandomBits { algorithm, bytes: ty.byte_size(), dims, state_words: words as usize }))
}

impl Routine for RandomBits {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let ([old], [new, bits]) = (arguments, results) else { return Err(RoutineError::Buffer) };
        let (old, new) = (elements::<u64>(old)?, elements_mut::<u64>(new)?);
        if [old.len(), new.len()] != [self.state_words; 2]
            || bits.len() != self.dims.iter().product::<usize>() * self.bytes
        {
            return Err(RoutineError::Buffer);
        }
        let workers = context.workers;
        let is_threefry = self.algorithm == RandomAlgorithm::ThreeFry;
        match self.bytes {
            1 if is_threefry => self.threefry::<u8>(old, new, elements_mut(bits)?, workers),
            2 if is_threefry => self.threefry::<u16>(old, new, elements_mut(bits)?, workers),
            4 if is_threefry => self.threefry::<u32>(old, new, elements_mut(bits)?, workers),
            _ if is_threefry => threefry_words(old, new, elements_mut(bits)?, workers),
            1 => philox_bits::<u8>(old, new, elements_mut(bits)?, workers),
            2 => philox_bits::<u16>(old, new, elements_mut(bits)?, workers),
            4 => philox_bits::<u32>(old, new, elements_mut(bits)?, workers),
            _ => philox_bits::<u64>(old, new, elements_mut(bits)?, workers),
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let name = if self.algorithm == RandomAlgorithm::ThreeFry { "Threefry 2x32" } else { "Philox 4x32" };
        format!("{name} in lanes of vectors")
    }
}

fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

#[inline(always)]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Number of blocks that are computed together, one per vector lane.
const LANES: usize = 16;

/// Computes Threefry 2x32 with 20 rounds, for [`LANES`] consecutive blocks. `first` is the counter
/// of the first block. Returns the first words of these blocks, and their second words.
#[inline(always)]
fn threefry(key: u64, first: u64) -> [[u32; LANES]; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let [k0, k1] = halves(key);
    let keys = [k0, k1, k0 ^ k1 ^ 0x1bd1_1bda];
    let [mut x, mut y] = [[0u32; LANES]; 2];
    for (lane, (x, y)) in x.iter_mut().zip(&mut y).enumerate() {
        let [low, high] = halves(first.wrapping_add(lane as u64));
        (*x, *y) = (low.wrapping_add(k0), high.wrapping_add(k1));
    }
    for group in 0..5u32 {
        for rotation in ROTATIONS[group as usize % 2] {
            for (x, y) in x.iter_mut().zip(&mut y) {
                *x = x.wrapping_add(*y);
                *y = y.rotate_left(rotation) ^ *x;
            }
        }
        let next = (group + 1) as usize;
        let (a, b) = (keys[next % 3], keys[(next + 1) % 3].wrapping_add(group + 1));
        for (x, y) in x.iter_mut().zip(&mut y) {
            (*x, *y) = (x.wrapping_add(a), y.wrapping_add(b));
        }
    }
    [x, y]
}

/// Returns the counter of the first block of a group. A group consists of [`LANES`] blocks.
#[inline(always)]
fn of_group(first: u64, group: usize) -> u64 {
    first.wrapping_add((group * LANES) as u64)
}

/// Generates elements of 64 bits, one per block.
fn threefry_words(old: &[u64], new: &mut [u64], bits: &mut [u64], workers: &dyn Workers) {
    let (key, counter) = (old[0], old[1]);
    new.copy_from_slice(&[key, counter.wrapping_add(bits.len() as u64)]);
    for_each(workers, bits.chunks_mut(PART).enumerate().collect(), |(part, bits): (usize, &mut [u64])| {
        let first = counter.wrapping_add((part * PART) as u64);
        Arch::new().dispatch(JoinedWords { key, first, bits });
    });
}

/// A task that joins the two words of each block into one element of 64 bits. The crate pulp
/// compiles this task, and the other tasks in this module, for several vector widths. `call` must
/// be inlined, so that pulp compiles its code for each vector width.
struct JoinedWords<'a> {
    key: u64,
    first: u64,
    bits: &'a mut [u64],
}

impl NullaryFnOnce for JoinedWords<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (group, words) in self.bits.chunks_mut(LANES).enumerate() {
            let [low, high] = threefry(self.key, of_group(self.first, group));
            for (word, (low, high)) in words.iter_mut().zip(low.into_iter().zip(high)) {
                *word = joined(low, high);
            }
        }
    }
}

/// A task that computes blocks of two words, and writes their words to two rows. Writes the first
/// word of each block to `low`. Writes the second word to `high`, or drops the second word if
/// `high` is empty.
struct PairedRows<'a, T> {
    key: u64,
    /// Counter of the first block.
    first: u64,
    low: &'a mut [T],
    high: &'a mut [T],
}

impl RandomBits {
    /// Generates elements of at most 32 bits with Threefry. The two words of a block become
    /// adjacent elements along the dimension that [`split_dimension`] selects.
    fn threefry<T: RandomWord>(&self, old: &[u64], new: &mut [u64], bits: &mut [T], workers: &dyn Workers) {
        let (key, counter) = (old[0], old[1]);
        let split = split_dimension(&self.dims);
        let length = split.map_or(1, |at| self.dims[at]);
        let inner: usize = split.map_or(1, |at| self.dims[at + 1..].iter().product());
        let half = length.div_ceil(2);
        let outer = bits.len().checked_div(length * inner).unwrap_or(0);
        new.copy_from_slice(&[key, counter.wrapping_add((outer * half * inner) as u64)]);
        if bits.is_empty() {
            return;
        }
        if inner == 1 {
            // The two elements of a pair are adjacent in memory. The last pair along the dimension
            // may lack its second element.
            let parts = bits.chunks_mut(length).enumerate().flat_map(|(number, bits)| {
                let first = counter.wrapping_add((number * half) as u64);
                bits.chunks_mut(2 * PART)
                    .enumerate()
                    .map(move |(part, bits)| (first.wrapping_add((part * PART) as u64), bits))
            });
            for_each(workers, parts.collect(), |(first, bits)| {
                Arch::new().dispatch(AdjacentWords { key, first, bits });
            });
            return;
        }
        let pairs = bits.chunks_mut(length * inner).flat_map(|bits| bits.chunks_mut(2 * inner)).enumerate();
        let parts = pairs.flat_map(|(number, pair)| {
            let first = counter.wrapping_add((number * inner) as u64);
            let (low, high) = pair.split_at_mut(inner);
            let mut high = high.chunks_mut(PART);
            low.chunks_mut(PART)
                .enumerate()
                .map(move |(part, low)| {
                    let first = first.wrapping_add((part * PART) as u64);
                    PairedRows { key, first, low, high: high.next().unwrap_or_default() }
                })
                .collect::<Vec<_>>()
        });
        let parts: Vec<PairedRows<T>> = parts.collect();
        for_each(workers, grouped(parts, inner), |pairs| {
            pairs.into_iter().for_each(|pair| Arch::new().dispatch(pair));
        });
    }
}

/// Groups pairs of rows into parts. If rows are short, a part has several pairs, which together
/// have about [`PART`] blocks.
fn grouped<T>(pairs: Vec<PairedRows<T>>, inner: usize) -> Vec<Vec<PairedRows<T>>> {
    let count = (PART / inner).max(1);
    let mut pairs = pairs.into_iter().peekable();
    let mut parts = Vec::new();
    while pairs.peek().is_some() {
        parts.push(pairs.by_ref().take(count).collect());
    }
    parts
}

/// A task that writes the two words of each block to two adjacent elements.
struct AdjacentWords<'a, T> {
    key: u64,
    first: u64,
    bits: &'a mut [T],
}

impl<T: RandomWord> NullaryFnOnce for AdjacentWords<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (group, bits) in self.bits.chunks_mut(2 * LANES).enumerate() {
            let [low, high] = threefry(self.key, of_group(self.first, group));
            let (pairs, rest) = bits.as_chunks_mut::<2>();
            for (pair, (&low, &high)) in pairs.iter_mut().zip(low.iter().zip(&high)) {
                *pair = [T::of(low), T::of(high)];
            }
            for (word, low) in rest.iter_mut().zip(&low[pairs.len() % LANES..]) {
                *word = T::of(*low);
            }
        }
    }
}

impl<T: RandomWord> NullaryFnOnce for PairedRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut high = self.high.chunks_mut(LANES);
        for (group, low) in self.low.chunks_mut(LANES).enumerate() {
            let [first, second] = threefry(self.key, of_group(self.first, group));
            for (word, first) in low.iter_mut().zip(first) {
                *word = T::of(first);
            }
            if let Some(high) = high.next() {
                for (word, second) in high.iter_mut().zip(second) {
                    *word = T::of(second);
                }
            }
        }
    }
}

/// Returns the first dimension of even size. If no dimension has an even size, returns the first of
/// the largest dimensions.
fn split_dimension(dims: &[usize]) -> Option<usize> {
    let largest = dims.iter().max()?;
    dims.iter().position(|size| size.is_multiple_of(2)).or_else(|| dims.iter().position(|size| size == largest))
}

/// Computes one block of Philox 4x32 with 10 rounds. `low` and `high` are the two halves of the
/// block's counter.
#[inline(always)]
fn philox(key: u64, low: u64, high: u64) -> [u32; 4] {
    let mut key = halves(key);
    let ([a, b], [c, d]) = (halves(low), halves(high));
    let mut x = [a, b, c, d];
    for _ in 0..10 {
        let first = u64::from(x[0]) * 0xd251_1f53;
        let second = u64::from(x[2]) * 0xcd9e_8d57;
        let ([low0, high0], [low1, high1]) = (halves(first), halves(second));
        x = [high1 ^ x[1] ^ key[0], low1, high0 ^ x[3] ^ key[1], low0];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    x
}

/// Generates elements with Philox. The state consists of the key and one or two words of the
/// counter. If the state has only one word of the counter, the key is used as the high word. A
/// block yields four elements of at most 32 bits, or two elements of 64 bits.
fn philox_bits<T: RandomWord>(old: &[u64], new: &mut [u64], bits: &mut [T], workers: &dyn Workers) {
    let key = old[0];
    let counter = u128::from(old[1]) | u128::from(old.get(2).copied().unwrap_or(key)) << 64;
    let per_block = T::PER_BLOCK;
    let end = counter.wrapping_add(bits.len().div_ceil(per_block) as u128);
    new.iter_mut().zip([key, end as u64, (end >> 64) as u64]).for_each(|(to, from)| *to = from);
    for_each(workers, bits.chunks_mut(PART).enumerate().collect(), |(part, bits): (usize, &mut [T])| {
        let first = counter.wrapping_add((part * PART / per_block) as u128);
        let (low, high) = (first as u64, (first >> 64) as u64);
        Arch::new().dispatch(Philox { key, low, high, bits });
    });
}

/// A task that generates consecutive elements with Philox. `low` and `high` are the two halves of
/// the first block's counter.
struct Philox<'a, T> {
    key: u64,
    low: u64,
    high: u64,
    bits: &'a mut [T],
}

impl<T: RandomWord> NullaryFnOnce for Philox<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (at, elements) in self.bits.chunks_mut(T::PER_BLOCK).enumerate() {
            let counter = self.low.wrapping_add(at as u64);
            let block = philox(self.key, counter, self.high.wrapping_add(u64::from(counter < self.low)));
            T::deal(block, elements);
        }
    }
}

/// An element type of random integers.
trait RandomWord: Pod + Send {
    /// Number of elements that a Philox block of four words yields.
    const PER_BLOCK: usize;

    /// Returns the low bits of a word as an element.
    fn of(word: u32) -> Self;

    /// Writes the elements of a block to `elements`. Drops the last elements if `elements` is too
    /// short.
    #[inline(always)]
    fn deal(block: [u32; 4], elements: &mut [Self]) {
        elements.iter_mut().zip(block).for_each(|(element, word)| *element = Self::of(word));
    }
}

macro_rules! words {
    ($($type:ty),*) => { $(
        impl RandomWord for $type {
            const PER_BLOCK: usize = 4;

            #[inline(always)]
            fn of(word: u32) -> Self {
                word as $type
            }
        }
    )* };
}

words!(u8, u16, u32);

impl RandomWord for u64 {
    const PER_BLOCK: usize = 2;

    #[inline(always)]
    fn of(word: u32) -> Self {
        word.into()
    }

    #[inline(always)]
    fn deal([a, b, c, d]: [u32; 4], elements: &mut [u64]) {
        elements.iter_mut().zip([joined(a, b), joined(c, d)]).for_each(|(element, word)| *element = word);
    }
}
