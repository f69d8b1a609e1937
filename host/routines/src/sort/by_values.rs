//! Sorts a single array if the only key of an element is its value. The sort encodes the values,
//! sorts the codes, and decodes the sorted codes to values.
//!
//! If values with different bits have the same code (zeros of both signs, NaNs), the sort copies
//! these values from the input, in their original order.

use std::ops::Range;

use super::comparator::Key;
use super::merge;
use super::network::{self, Lane};
use super::radix::{self, LONG, LongLineMemory, RadixWord};
use crate::key::{Bits, Order};
use crate::{RoutineError, Workers, elements, elements_mut, for_each, scratch};

/// Number of lines that are sorted together, one per vector lane.
const LANES: usize = 32;

#[derive(Debug)]
pub struct ByValues {
    order: Order,
    shared_codes: Vec<u64>,
    kept: LongLineMemory,
}

/// The bits of a value. `Word` is the type of the words that hold the codes of the values during
/// the sort.
trait CodeWord: Bits {
    type Word: RadixWord + Lane;
    fn word(self) -> Self::Word;
    fn of_word(word: Self::Word) -> Self;
}

macro_rules! coded {
    ($($bits:ty: $word:ty),*) => { $(
        impl CodeWord for $bits {
            type Word = $word;

            #[inline]
            fn word(self) -> $word {
                self.into()
            }

            #[inline]
            fn of_word(word: $word) -> $bits {
                word as $bits
            }
        }
    )* };
}

coded!(u8: u32, u16: u32, u32: u32, u64: u64);

/// Memory for sorting a line, which the next line reuses.
struct LineScratch<W> {
    words: Vec<W>,
    spare: Vec<W>,
    /// Words of the lines that are sorted together. Each lane holds one line. Each row holds one
    /// word of every line: the words that have the same index in their lines.
    rows: Vec<[W; LANES]>,
}

impl<W: RadixWord> LineScratch<W> {
    fn new(length: usize) -> Result<LineScratch<W>, RoutineError> {
        Ok(LineScratch { words: scratch(length)?, spare: scratch(length)?, rows: Vec::new() })
    }
}

impl ByValues {
    pub fn new(key: Key) -> ByValues {
        ByValues { shared_codes: key.order.shared_codes(), order: key.order, kept: LongLineMemory::default() }
    }

    pub fn describe(&self) -> String {
        format!("radix sort of {}-bit values", 8 * self.order.bytes)
    }

    fn digits(&self) -> Range<u32> {
        0..self.order.bytes
    }

    /// Sorts lines of `length` elements.
    pub fn lines(&self, arrays: &[&[u8]], results: &mut [&mut [u8]], length: usize) -> Result<(), RoutineError> {
        match self.order.bytes {
            1 => self.lines_of::<u8>(arrays, results, length),
            2 => self.lines_of::<u16>(arrays, results, length),
            4 => self.lines_of::<u32>(arrays, results, length),
            _ => self.lines_of::<u64>(arrays, results, length),
        }
    }

    /// Sorts one long line on all threads.
    pub fn long_line(
        &self,
        arrays: &[&[u8]],
        results: &mut [&mut [u8]],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        match self.order.bytes {
            1 => self.long_line_of::<u8>(arrays, results, workers),
            2 => self.long_line_of::<u16>(arrays, results, workers),
            4 => self.long_line_of::<u32>(arrays, results, workers),
            _ => self.long_line_of::<u64>(arrays, results, workers),
        }
    }

    fn lines_of<B: CodeWord>(
        &self,
        arrays: &[&[u8]],
        results: &mut [&mut [u8]],
        length: usize,
    ) -> Result<(), RoutineError> {
        let ([array], [result]) = (arrays, results) else { return Err(RoutineError::Buffer) };
        let (array, result) = (elements::<B>(array)?, elements_mut::<B>(result)?);
        let mut memory = LineScratch::new(length)?;
        let together = LANES * length;
        for (lines, sorted) in array.chunks(together).zip(result.chunks_mut(together)) {
            if length <= network::LONGEST && lines.len() >= network::LEAST_LINES * length {
                self.lines_in_lanes(lines, sorted, length, &mut memory)?;
            } else {
                let lines = lines.chunks_exact(length).zip(sorted.chunks_exact_mut(length));
                lines.into_iter().try_for_each(|(line, sorted)| self.line(line, sorted, &mut memory))?;
            }
        }
        Ok(())
    }

    fn line<B: CodeWord>(
        &self,
        line: &[B],
        sorted: &mut [B],
        memory: &mut LineScratch<B::Word>,
    ) -> Result<(), RoutineError> {
        if self.is_unordered(line) {
            return self.contradictory(line, sorted);
        }
        let LineScratch { words, spare, .. } = memory;
        let shared = self.encode(line, words);
        radix::sort(words, spare, self.digits());
        self.order.decode(words.iter().map(|&word| B::of_word(word)), sorted);
        if shared {
            self.refill(line, |code| words.partition_point(|&word| word < code), sorted);
        }
        Ok(())
    }

    /// Sorts several lines at once, one per vector lane. The elements are first transposed, in
    /// squares that fit into the L1 cache.
    fn lines_in_lanes<B: CodeWord>(
        &self,
        lines: &[B],
        sorted: &mut [B],
        length: usize,
        memory: &mut LineScratch<B::Word>,
    ) -> Result<(), RoutineError> {
        if memory.rows.is_empty() {
            memory.rows = scratch(length)?;
        }
        let mut shared = [false; LANES];
        for (square, rows) in memory.rows.chunks_mut(LANES).enumerate() {
            let first = square * LANES;
            for (lane, (line, shared)) in lines.chunks_exact(length).zip(&mut shared).enumerate() {
                let part = &line[first..first + rows.len()];
                *shared |= self.order.encode(part, |at, code| rows[at][lane] = code.word());
            }
        }
        network::sort(&mut memory.rows);
        for (square, rows) in memory.rows.chunks(LANES).enumerate() {
            let first = square * LANES;
            for (lane, sorted) in sorted.chunks_exact_mut(length).enumerate() {
                let codes = rows.iter().map(|row| B::of_word(row[lane]));
                self.order.decode(codes, &mut sorted[first..first + rows.len()]);
            }
        }
        let lines = lines.chunks_exact(length).zip(sorted.chunks_exact_mut(length)).zip(shared).enumerate();
        for (lane, ((line, sorted), shared)) in lines {
            if self.is_unordered(line) {
                self.contradictory(line, sorted)?;
            } else if shared {
                memory.words.iter_mut().zip(&memory.rows).for_each(|(word, row)| *word = row[lane]);
                let words = &memory.words;
                self.refill(line, |code| words.partition_point(|&word| word < code), sorted);
            }
        }
        Ok(())
    }

    fn long_line_of<B: CodeWord>(
        &self,
        arrays: &[&[u8]],
        results: &mut [&mut [u8]],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        let ([array], [result]) = (arrays, results) else { return Err(RoutineError::Buffer) };
        let (line, sorted) = (elements::<B>(array)?, elements_mut::<B>(result)?);
        if self.is_unordered(line) {
            return self.contradictory(line, sorted);
        }
        let mut long = self.kept.take::<B::Word>(line.len())?;
        let mut shared = vec![false; line.len().div_ceil(LONG)];
        let parts = line.chunks(LONG).zip(&mut shared).enumerate().collect();
        for_each(workers, parts, |(part, (line, shared)): (usize, (&[B], &mut bool))| {
            let words = &long.words[part * LONG..];
            *shared = self.order.encode(line, |at, code| code.word().write(&words[at]));
        });
        long.sort(self.digits(), workers);
        let parts = long.words.chunks(LONG).zip(sorted.chunks_mut(LONG)).collect();
        for_each(workers, parts, |(words, sorted): (&[<B::Word as RadixWord>::Cell], &mut [B])| {
            self.order.decode(words.iter().map(|word| B::of_word(RadixWord::read(word))), sorted);
        });
        if shared.contains(&true) {
            self.refill(line, |code| long.words.partition_point(|word| B::Word::read(word) < code), sorted);
        }
        self.kept.put_back(long);
        Ok(())
    }

    /// Writes the codes of a line to `words`. Returns whether any value differs from the value that
    /// its code decodes to.
    fn encode<B: CodeWord>(&self, line: &[B], words: &mut [B::Word]) -> bool {
        let words = &mut words[..line.len()];
        self.order.encode(line, |at, code| words[at] = code.word())
    }

    /// Some codes encode several values with different bits, so decoding cannot restore the bits of
    /// these values. Copies the values with these codes from the line to their sorted positions.
    /// Values with the same code keep their original order. `first` returns the index of the first
    /// sorted word that is not less than a code.
    fn refill<B: CodeWord>(&self, line: &[B], first: impl Fn(B::Word) -> usize, sorted: &mut [B]) {
        for &code in &self.shared_codes {
            let code = B::of(code);
            let same = line.iter().filter(|&&value| self.order.encode_one(value) == code);
            sorted[first(code.word())..].iter_mut().zip(same).for_each(|(place, value)| *place = *value);
        }
    }

    fn is_unordered<B: CodeWord>(&self, line: &[B]) -> bool {
        self.order.is_partial && line.iter().fold(false, |any, &value| any | self.order.is_nan(value))
    }

    /// Sorts a line with NaNs that are unordered with all values. On a line with unordered NaNs,
    /// the comparator contradicts itself, so the order is unspecified but deterministic.
    fn contradictory<B: CodeWord>(&self, line: &[B], sorted: &mut [B]) -> Result<(), RoutineError> {
        let count = u32::try_from(line.len()).map_err(|_| RoutineError::Buffer)?;
        let order = merge::order(count, |a, b| {
            let is_ordered = !self.order.is_nan(line[a]) && !self.order.is_nan(line[b]);
            is_ordered && self.order.encode_one(line[a]) < self.order.encode_one(line[b])
        })?;
        sorted.iter_mut().zip(order).for_each(|(place, from)| *place = line[from as usize]);
        Ok(())
    }
}
