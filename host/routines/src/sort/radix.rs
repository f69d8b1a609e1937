//! Implements a stable radix sort, which sorts words by some of their bytes.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use crate::{RoutineError, Workers, for_each, scratch};

/// Minimum number of words for radix sort. A comparison sort is faster for fewer words.
const LEAST_COUNTED: usize = 96;
/// Number of words per part, when several threads sort a long line.
const PART: usize = 1 << 16;
/// Minimum length of lines that several threads sort together.
pub const LONG: usize = 1 << 17;

const RADIX: usize = 256;

/// A type of words that can be sorted.
pub trait RadixWord: Pod + Ord + Send + Sync {
    /// An atomic cell that holds a word. The type of the cell allows concurrent accesses, although
    /// only one thread at a time accesses a cell.
    type Cell: Default + Send + Sync;

    /// Returns byte `number` of the word, counted from the lowest byte.
    fn byte(self, number: u32) -> usize;

    fn read(cell: &Self::Cell) -> Self;

    fn write(self, cell: &Self::Cell);

    /// Returns the part of `kept` that holds memory for words of this type.
    fn slot(kept: &LongLineMemory) -> &Mutex<Option<LongLine<Self>>>;
}

macro_rules! words {
    ($($word:ty, $cell:ty, $kept:ident;)*) => { $(
        impl RadixWord for $word {
            type Cell = $cell;

            #[inline]
            fn byte(self, number: u32) -> usize {
                (self >> (8 * number)) as usize % RADIX
            }

            #[inline]
            fn read(cell: &$cell) -> $word {
                cell.load(Ordering::Relaxed)
            }

            #[inline]
            fn write(self, cell: &$cell) {
                cell.store(self, Ordering::Relaxed);
            }

            fn slot(kept: &LongLineMemory) -> &Mutex<Option<LongLine<$word>>> {
                &kept.$kept
            }
        }
    )* };
}

words! {
    u32, AtomicU32, narrow;
    u64, AtomicU64, wide;
}

/// Sorts words by some of their bytes. `digits` are the numbers of these bytes. `spare` must be as
/// long as `words`. Words with equal digits keep their order in two cases. In the first case, the
/// bytes below the digits are equal in all words. In the second case, the bytes below the digits
/// ascend from word to word, as positions do.
pub fn sort<W: RadixWord>(words: &mut [W], spare: &mut [W], digits: Range<u32>) {
    if words.len() < LEAST_COUNTED {
        words.sort_unstable();
        return;
    }
    let mut counts = [[0u32; RADIX]; 8];
    let counts = &mut counts[..digits.len()];
    for &word in words.iter() {
        for (counts, digit) in counts.iter_mut().zip(digits.clone()) {
            counts[word.byte(digit)] += 1;
        }
    }
    let (mut from, mut to) = (words, spare);
    let mut is_in_spare = false;
    for (counts, digit) in counts.iter_mut().zip(digits) {
        if is_constant(counts, from.len()) {
            continue;
        }
        let mut next = 0;
        counts.iter_mut().for_each(|count| next += std::mem::replace(count, next));
        for &word in from.iter() {
            let place = &mut counts[word.byte(digit)];
            to[*place as usize] = word;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        is_in_spare = !is_in_spare;
    }
    if is_in_spare {
        to.copy_from_slice(from);
    }
}

/// Whether all words have the same value of a digit. The sort skips the pass over a digit that has
/// the same value in all words.
fn is_constant(counts: &[u32; RADIX], words: usize) -> bool {
    counts.iter().any(|&count| count as usize == words)
}

/// The words of a long line, which all threads sort together, and the memory for this sort.
pub struct LongLine<W: RadixWord> {
    /// Words to sort.
    pub words: Vec<W::Cell>,
    spare: Vec<W::Cell>,
    /// One number for each part of the line and each value of a digit. First, the number counts the
    /// words of the part that have this digit value. Later, the number is the index to which the
    /// next word with this digit value moves.
    counts: Vec<[u32; RADIX]>,
}

/// Memory that is kept for the next long line. Allocating new memory for each long line would take
/// as much time as sorting the line.
#[derive(Debug, Default)]
pub struct LongLineMemory {
    narrow: Mutex<Option<LongLine<u32>>>,
    wide: Mutex<Option<LongLine<u64>>>,
}

impl LongLineMemory {
    /// Returns memory for a line of `length` words. The content of the memory is undefined. Reuses
    /// the kept memory if its length is `length`.
    ///
    /// # Errors
    /// If memory is short.
    pub fn take<W: RadixWord>(&self, length: usize) -> Result<LongLine<W>, RoutineError> {
        let kept = W::slot(self).lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept.filter(|long| long.words.len() == length) {
            Some(long) => Ok(long),
            None => {
                let counts = scratch(length.div_ceil(PART))?;
                Ok(LongLine { words: cells::<W>(length)?, spare: cells::<W>(length)?, counts })
            }
        }
    }

    /// Keeps memory for the next line.
    pub fn put_back<W: RadixWord>(&self, long: LongLine<W>) {
        *W::slot(self).lock().unwrap_or_else(PoisonError::into_inner) = Some(long);
    }
}

fn cells<W: RadixWord>(count: usize) -> Result<Vec<W::Cell>, RoutineError> {
    let mut cells = Vec::new();
    let memory = RoutineError::Memory { bytes: (count * size_of::<W>()) as u64 };
    cells.try_reserve_exact(count).map_err(|_| memory)?;
    cells.resize_with(count, W::Cell::default);
    Ok(cells)
}

impl<W: RadixWord> LongLine<W> {
    /// Sorts the words as [`sort`] does, but on several threads.
    pub fn sort(&mut self, digits: Range<u32>, workers: &dyn Workers) {
        for digit in digits {
            let parts = self.counts.iter_mut().zip(self.words.chunks(PART)).collect();
            for_each(workers, parts, |(counts, part): (&mut [u32; RADIX], &[W::Cell])| {
                *counts = [0; RADIX];
                part.iter().for_each(|word| counts[W::read(word).byte(digit)] += 1);
            });
            if self.is_constant() {
                continue;
            }
            // The pass orders words by their digit. Words with equal digits are ordered by their
            // part.
            let mut next = 0;
            for value in 0..RADIX {
                self.counts.iter_mut().for_each(|counts| next += std::mem::replace(&mut counts[value], next));
            }
            let spare = &self.spare;
            let parts = self.counts.iter_mut().zip(self.words.chunks(PART)).collect();
            for_each(workers, parts, |(places, part): (&mut [u32; RADIX], &[W::Cell])| {
                for word in part {
                    let word = W::read(word);
                    let place = &mut places[word.byte(digit)];
                    word.write(&spare[*place as usize]);
                    *place += 1;
                }
            });
            std::mem::swap(&mut self.words, &mut self.spare);
        }
    }

    /// Whether all words have the same value of the digit that `counts` refers to.
    fn is_constant(&self) -> bool {
        let total = |value: usize| self.counts.iter().map(|counts| counts[value] as usize).sum::<usize>();
        (0..RADIX).any(|value| total(value) == self.words.len())
    }
}

impl<W: RadixWord> fmt::Debug for LongLine<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongLine").field("length", &self.words.len()).finish_non_exhaustive()
    }
}
