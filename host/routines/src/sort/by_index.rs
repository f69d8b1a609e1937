//! Sorts the keys of a line together with their positions, and then permutes the line of every
//! array by the sorted positions.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytemuck::Pod;

use super::comparator::Key;
use super::radix::{self, LONG, LongLineMemory, RadixWord};
use super::{merge, network};
use crate::key::Bits;
use crate::{Comparator, RoutineError, Workers, elements, elements_mut, for_each, scratch, try_for_each};

/// Number of lines that are sorted together, one per vector lane.
const LANES: usize = 16;

#[derive(Debug)]
pub enum ByIndex {
    Keys {
        keys: Vec<Key>,
        /// The codes of all keys, packed into chunks of at most 32 bits. The least significant
        /// chunk is first. The sort has one pass per chunk.
        chunks: Vec<CodeChunk>,
        kept: LongLineMemory,
    },
    Compiled(Arc<dyn Comparator>),
}

/// A number into which several codes of keys, or pieces of codes, are packed. The most significant
/// piece is first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeChunk {
    pieces: Vec<CodePiece>,
    bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CodePiece {
    key: usize,
    /// Index of the piece's lowest bit in the key's code.
    shift: u32,
    bits: u32,
}

/// A word holds a position in this number of low bits. The higher bits of the word hold a chunk of
/// the keys' codes.
const POSITION_BITS: u32 = 32;

impl ByIndex {
    pub fn compiled(comparator: Arc<dyn Comparator>) -> ByIndex {
        ByIndex::Compiled(comparator)
    }

    pub fn keys(keys: Vec<Key>) -> ByIndex {
        let mut chunks: Vec<CodeChunk> = vec![CodeChunk::default()];
        for (number, key) in keys.iter().enumerate() {
            let bits = 8 * key.order.bytes;
            let halves: &[(u32, u32)] = if bits == 64 { &[(32, 32), (0, 32)] } else { &[(0, bits)] };
            for &(shift, bits) in halves {
                if chunks.last().is_none_or(|last| last.bits + bits > POSITION_BITS) {
                    chunks.push(CodeChunk::default());
                }
                if let Some(chunk) = chunks.last_mut() {
                    chunk.bits += bits;
                    chunk.pieces.push(CodePiece { key: number, shift, bits });
                }
            }
        }
        chunks.reverse();
        ByIndex::Keys { keys, chunks, kept: LongLineMemory::default() }
    }

    pub fn describe(&self) -> String {
        match self {
            ByIndex::Keys { keys, .. } => {
                let bits: u32 = keys.iter().map(|key| 8 * key.order.bytes).sum();
                format!("radix sort of positions by {bits}-bit keys")
            }
            ByIndex::Compiled(_) => "merge sort of positions by the compiled comparator".into(),
        }
    }

    /// Sorts lines of `length` elements. `sizes` holds, for each array, the size of an element in
    /// bytes.
    pub fn lines(
        &self,
        arrays: &[&[u8]],
        results: &mut [&mut [u8]],
        length: usize,
        sizes: &[usize],
    ) -> Result<(), RoutineError> {
        let count = arrays.first().zip(sizes.first()).map_or(0, |(array, bytes)| array.len() / bytes / length);
        let mut sorter = Sorter::new(length)?;
        let part = |line: usize, bytes: usize| line * length * bytes..(line + 1) * length * bytes;
        for first in (0..count).step_by(LANES) {
            let numbers = first..(first + LANES).min(count);
            let lines: Vec<Vec<&[u8]>> = numbers
                .clone()
                .map(|line| arrays.iter().zip(sizes).map(|(array, &bytes)| &array[part(line, bytes)]).collect())
                .collect();
            let are_together = sorter.lines_in_lanes(self, &lines)?;
            for (lane, (number, line)) in numbers.zip(&lines).enumerate() {
                let order = if are_together { sorter.of_lane(lane) } else { sorter.of(self, line)? };
                for ((result, line), &bytes) in results.iter_mut().zip(line).zip(sizes) {
                    gather(line, &mut result[part(number, bytes)], order, bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Sorts one long line on all threads.
    pub fn long_line(
        &self,
        line: &[&[u8]],
        results: &mut [&mut [u8]],
        sizes: &[usize],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        let length = line.first().zip(sizes.first()).map_or(0, |(array, bytes)| array.len() / bytes);
        let order = self.shared_order(line, length, workers)?;
        for ((result, array), &bytes) in results.iter_mut().zip(line).zip(sizes) {
            let parts = order.chunks(LONG).zip(result.chunks_mut(LONG * bytes)).collect();
            try_for_each(workers, parts, |(order, result): (&[u32], &mut [u8])| gather(array, result, order, bytes))?;
        }
        Ok(())
    }

    fn shared_order(&self, line: &[&[u8]], length: usize, workers: &dyn Workers) -> Result<Vec<u32>, RoutineError> {
        let ByIndex::Keys { keys, chunks, kept } = self else {
            return Ok(Sorter::new(length)?.of(self, line)?.to_vec());
        };
        if is_unordered(keys, line)? {
            return contradictory(keys, line, length);
        }
        let mut order: Vec<u32> = (0..).take(length).collect();
        let mut values: Vec<u32> = scratch(length)?;
        let mut long = kept.take::<u64>(length)?;
        for (round, chunk) in chunks.iter().enumerate() {
            chunk.values(keys, line, &mut values)?;
            let parts = long.words.chunks(LONG).zip(order.chunks(LONG)).enumerate().collect();
            for_each(workers, parts, |(part, (words, order)): (usize, (&[AtomicU64], &[u32]))| {
                let first = (part * LONG) as u64;
                for ((cell, &from), position) in words.iter().zip(order).zip(first..) {
                    (u64::from(values[from as usize]) << POSITION_BITS | position).write(cell);
                }
            });
            long.sort(chunk.digits(), workers);
            let before = std::mem::take(&mut order);
            order = scratch(length)?;
            let parts = order.chunks_mut(LONG).zip(long.words.chunks(LONG)).collect();
            for_each(workers, parts, |(order, words): (&mut [u32], &[AtomicU64])| {
                for (place, word) in order.iter_mut().zip(words) {
                    let position = u64::read(word) as u32;
                    *place = if round == 0 { position } else { before[position as usize] };
                }
            });
        }
        kept.put_back(long);
        Ok(order)
    }
}

/// Computes the sorted order of the elements of a line. A sorter sorts one line after another,
/// always in the same memory.
struct Sorter {
    order: Vec<u32>,
    before: Vec<u32>,
    values: Vec<u32>,
    words: Vec<u64>,
    spare: Vec<u64>,
    /// Words of the lines that are sorted together. Each lane holds one line. Each row holds one
    /// word of every line: the words that have the same index in their lines.
    rows: Vec<[u64; LANES]>,
    /// For each of the lines that are sorted together, one number per element. Before the sort, the
    /// number of an element is a chunk that holds the codes of the element's keys. After the sort,
    /// the numbers of a line are its sorted order.
    lanes: Vec<u32>,
}

impl Sorter {
    fn new(length: usize) -> Result<Sorter, RoutineError> {
        Ok(Sorter {
            order: scratch(length)?,
            before: scratch(length)?,
            values: scratch(length)?,
            words: scratch(length)?,
            spare: scratch(length)?,
            rows: Vec::new(),
            lanes: Vec::new(),
        })
    }

    /// Sorts several lines at once, one per vector lane. Does nothing if sorting single lines would
    /// be faster, or if a line has unordered NaNs. Returns whether the lines have been sorted.
    fn lines_in_lanes(&mut self, by: &ByIndex, lines: &[Vec<&[u8]>]) -> Result<bool, RoutineError> {
        let ByIndex::Keys { keys, chunks, .. } = by else { return Ok(false) };
        let ([chunk], length) = (&chunks[..], self.order.len()) else { return Ok(false) };
        if length > network::LONGEST || lines.len() < network::LEAST_LINES {
            return Ok(false);
        }
        for line in lines {
            if is_unordered(keys, line)? {
                return Ok(false);
            }
        }
        if self.rows.is_empty() {
            (self.rows, self.lanes) = (scratch(length)?, scratch(LANES * length)?);
        }
        for (line, values) in lines.iter().zip(self.lanes.chunks_exact_mut(length)) {
            chunk.values(keys, line, values)?;
        }
        // Transpose the values from one line per row to one line per lane, in squares that fit into
        // the L1 cache.
        for (square, rows) in self.rows.chunks_mut(LANES).enumerate() {
            let first = square * LANES;
            for (lane, values) in self.lanes.chunks_exact(length).enumerate() {
                let values = values[first..].iter().zip(first as u64..);
                for (row, (&value, position)) in rows.iter_mut().zip(values) {
                    row[lane] = u64::from(value) << POSITION_BITS | position;
                }
            }
        }
        network::sort(&mut self.rows);
        for (square, rows) in self.rows.chunks(LANES).enumerate() {
            for (lane, order) in self.lanes.chunks_exact_mut(length).enumerate() {
                let places = order[square * LANES..].iter_mut();
                places.zip(rows).for_each(|(place, row)| *place = row[lane] as u32);
            }
        }
        Ok(true)
    }

    /// Returns the sorted order that [`Sorter::lines_in_lanes`] has computed for the line in
    /// `lane`.
    fn of_lane(&self, lane: usize) -> &[u32] {
        let length = self.order.len();
        &self.lanes[lane * length..(lane + 1) * length]
    }

    fn of(&mut self, by: &ByIndex, line: &[&[u8]]) -> Result<&[u32], RoutineError> {
        match by {
            ByIndex::Keys { keys, .. } if is_unordered(keys, line)? => {
                self.order = contradictory(keys, line, self.order.len())?;
            }
            ByIndex::Keys { keys, chunks, .. } => self.by_keys(keys, chunks, line)?,
            ByIndex::Compiled(comparator) => {
                let before = comparator.on(line);
                let count = u32::try_from(self.order.len()).map_err(|_| RoutineError::Buffer)?;
                self.order = merge::order(count, before)?;
            }
        }
        Ok(&self.order)
    }

    fn by_keys(&mut self, keys: &[Key], chunks: &[CodeChunk], line: &[&[u8]]) -> Result<(), RoutineError> {
        for (round, chunk) in chunks.iter().enumerate() {
            chunk.values(keys, line, &mut self.values)?;
            let values = &self.values;
            let word = |value: u32, position: u64| u64::from(value) << POSITION_BITS | position;
            let words = self.words.iter_mut().zip(0..);
            if round == 0 {
                words.zip(values).for_each(|((place, position), &value)| *place = word(value, position));
            } else {
                std::mem::swap(&mut self.order, &mut self.before);
                let from = words.zip(&self.before);
                from.for_each(|((place, position), &from)| *place = word(values[from as usize], position));
            }
            radix::sort(&mut self.words, &mut self.spare, chunk.digits());
            let places = self.order.iter_mut().zip(&self.words);
            match round {
                0 => places.for_each(|(place, &word)| *place = word as u32),
                _ => places.for_each(|(place, &word)| *place = self.before[word as u32 as usize]),
            }
        }
        Ok(())
    }
}

impl CodeChunk {
    /// Returns which bytes of a word hold the chunk. The bytes are numbered from the lowest byte.
    fn digits(&self) -> std::ops::Range<u32> {
        let first = POSITION_BITS / 8;
        first..first + self.bits / 8
    }

    fn values(&self, keys: &[Key], line: &[&[u8]], values: &mut [u32]) -> Result<(), RoutineError> {
        for (number, piece) in self.pieces.iter().enumerate() {
            let put = |place: &mut u32, code: u64| {
                let part = (code >> piece.shift) as u32;
                *place = if number == 0 { part } else { *place << piece.bits | part };
            };
            keys[piece.key].codes(line, |at, code| put(&mut values[at], code))?;
        }
        Ok(())
    }
}

impl Key {
    /// Calls `put` with the index and the code of each element of the line.
    fn codes(&self, line: &[&[u8]], mut put: impl FnMut(usize, u64)) -> Result<(), RoutineError> {
        let bytes = line.get(self.operand).ok_or(RoutineError::Buffer)?;
        match self.order.bytes {
            1 => self.codes_of::<u8>(bytes, &mut put),
            2 => self.codes_of::<u16>(bytes, &mut put),
            4 => self.codes_of::<u32>(bytes, &mut put),
            _ => self.codes_of::<u64>(bytes, &mut put),
        }
    }

    fn codes_of<B: Bits>(&self, bytes: &[u8], put: &mut impl FnMut(usize, u64)) -> Result<(), RoutineError> {
        let values = elements::<B>(bytes)?;
        match self.stride {
            1 => drop(self.order.encode(values, |at, code| put(at, code.into()))),
            stride => {
                let own = values.iter().skip(self.offset).step_by(stride).enumerate();
                own.for_each(|(at, &value)| put(at, self.order.encode_one(value).into()));
            }
        }
        Ok(())
    }

    fn has_nan(&self, line: &[&[u8]]) -> Result<bool, RoutineError> {
        let mut any = false;
        self.nans(line, |_, is_nan| any |= is_nan)?;
        Ok(any)
    }

    fn nans(&self, line: &[&[u8]], mut put: impl FnMut(usize, bool)) -> Result<(), RoutineError> {
        let bytes = line.get(self.operand).ok_or(RoutineError::Buffer)?;
        match self.order.bytes {
            1 => self.nans_of::<u8>(bytes, &mut put),
            2 => self.nans_of::<u16>(bytes, &mut put),
            4 => self.nans_of::<u32>(bytes, &mut put),
            _ => self.nans_of::<u64>(bytes, &mut put),
        }
    }

    fn nans_of<B: Bits>(&self, bytes: &[u8], put: &mut impl FnMut(usize, bool)) -> Result<(), RoutineError> {
        let own = elements::<B>(bytes)?.iter().skip(self.offset).step_by(self.stride);
        own.enumerate().for_each(|(at, &value)| put(at, self.order.is_nan(value)));
        Ok(())
    }
}

/// Whether the line contains a NaN that a key leaves unordered.
fn is_unordered(keys: &[Key], line: &[&[u8]]) -> Result<bool, RoutineError> {
    let mut partial = keys.iter().filter(|key| key.order.is_partial);
    partial.try_fold(false, |any, key| Ok(any || key.has_nan(line)?))
}

/// Returns a sorted order of a line with unordered NaNs. On a line with unordered NaNs, the
/// comparator contradicts itself, so the order is unspecified but deterministic.
fn contradictory(keys: &[Key], line: &[&[u8]], length: usize) -> Result<Vec<u32>, RoutineError> {
    let mut decided: Vec<Vec<(u64, bool)>> = Vec::new();
    for key in keys {
        let mut codes: Vec<(u64, bool)> = Vec::new();
        codes.try_reserve_exact(length).map_err(|_| RoutineError::Memory { bytes: 16 * length as u64 })?;
        codes.resize(length, (0, false));
        key.codes(line, |at, code| codes[at].0 = code)?;
        if key.order.is_partial {
            key.nans(line, |at, is_nan| codes[at].1 = is_nan)?;
        }
        decided.push(codes);
    }
    let count = u32::try_from(length).map_err(|_| RoutineError::Buffer)?;
    merge::order(count, |a, b| {
        for codes in &decided {
            let ((first, is_nan), (second, is_other_nan)) = (codes[a], codes[b]);
            if is_nan || is_other_nan || first > second {
                return false;
            }
            if first < second {
                return true;
            }
        }
        false
    })
}

/// Copies the elements of `from` to `to` in the order `order`. Each element has `bytes` bytes.
fn gather(from: &[u8], to: &mut [u8], order: &[u32], bytes: usize) -> Result<(), RoutineError> {
    match bytes {
        1 => gather_elements::<u8>(from, to, order),
        2 => gather_elements::<u16>(from, to, order),
        4 => gather_elements::<u32>(from, to, order),
        8 => gather_elements::<u64>(from, to, order),
        16 => gather_elements::<u128>(from, to, order),
        _ => Err(RoutineError::Buffer),
    }
}

fn gather_elements<T: Pod>(from: &[u8], to: &mut [u8], order: &[u32]) -> Result<(), RoutineError> {
    let (from, to) = (elements::<T>(from)?, elements_mut::<T>(to)?);
    to.iter_mut().zip(order).for_each(|(place, &at)| *place = from[at as usize]);
    Ok(())
}
