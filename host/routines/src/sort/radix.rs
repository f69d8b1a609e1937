//! Stable sorting of words by some of their bytes.

use std::ops::Range;

use bytemuck::Pod;

use crate::{RoutineError, Workers, for_each, scratch};

/// Below so many words, comparisons are quicker than counting.
const LEAST_COUNTED: usize = 96;
/// Words that one thread takes in a pass over a long line.
const PART: usize = 1 << 16;
/// Lines of so many words are shared among threads.
pub const LONG: usize = 1 << 17;

const RADIX: usize = 256;

/// What is sorted.
pub trait Word: Pod + Ord + Send + Sync {
    /// Byte `number`, the lowest first.
    fn byte(self, number: u32) -> usize;
}

impl Word for u32 {
    #[inline]
    fn byte(self, number: u32) -> usize {
        (self >> (8 * number)) as usize % RADIX
    }
}

impl Word for u64 {
    #[inline]
    fn byte(self, number: u32) -> usize {
        (self >> (8 * number)) as usize % RADIX
    }
}

/// Sorts words by the bytes `digits`; `spare` is as long. Words that are equal in these keep their order if the bytes below
/// them do not decrease, as those of positions do not, or are the same.
pub fn sort<W: Word>(words: &mut [W], spare: &mut [W], digits: Range<u32>) {
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

/// Whether all words have the same digit: then they are in order by it.
fn is_constant(counts: &[u32; RADIX], words: usize) -> bool {
    counts.iter().any(|&count| count as usize == words)
}

/// As [`sort`], of a long line by all threads.
///
/// # Errors
/// If memory is short.
pub fn sort_shared<W: Word>(words: &mut Vec<W>, digits: Range<u32>, workers: &dyn Workers) -> Result<(), RoutineError> {
    if words.len() < LONG {
        let mut spare = scratch(words.len())?;
        sort(words, &mut spare, digits);
        return Ok(());
    }
    let mut spare = scratch(words.len())?;
    let mut counts: Vec<[u32; RADIX]> = scratch(words.len().div_ceil(PART))?;
    for digit in digits {
        for_each(workers, counts.iter_mut().zip(words.chunks(PART)).collect(), |(counts, part)| {
            *counts = [0; RADIX];
            part.iter().for_each(|word| counts[word.byte(digit)] += 1);
        });
        let total = |value: usize| counts.iter().map(|counts| counts[value]).sum::<u32>();
        if (0..RADIX).any(|value| total(value) as usize == words.len()) {
            continue;
        }
        let places = places(&mut spare, &counts);
        for_each(workers, places.into_iter().zip(words.chunks(PART)).collect(), |(mut places, part)| {
            for &word in part {
                if let Some(place) = places[word.byte(digit)].next() {
                    *place = word;
                }
            }
        });
        std::mem::swap(words, &mut spare);
    }
    Ok(())
}

/// Per part and value of the digit, where its words go: those of the first value first, and of one value those of the
/// first part.
fn places<'a, W>(mut to: &'a mut [W], counts: &[[u32; RADIX]]) -> Vec<Vec<std::slice::IterMut<'a, W>>> {
    let mut places: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(RADIX)).collect();
    for value in 0..RADIX {
        for (places, counts) in places.iter_mut().zip(counts) {
            let (own, rest) = to.split_at_mut(counts[value] as usize);
            places.push(own.iter_mut());
            to = rest;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use fusebox_core::random::SplitMix64;

    use super::{LONG, sort, sort_shared};
    use crate::Alone;

    #[test]
    fn words_are_sorted_by_the_digits_asked_for() {
        let mut random = SplitMix64(7);
        for count in [0, 1, 2, 50, 95, 96, 1000, 70_000] {
            for bits in [1, 9, 20, 32] {
                let words: Vec<u64> =
                    (0..count).map(|at| (random.bits() & ((1 << bits) - 1)) << 32 | at as u64).collect();
                let mut expected = words.clone();
                expected.sort_by_key(|word| word >> 32);
                let (mut sorted, mut spare) = (words.clone(), words);
                sort(&mut sorted, &mut spare, 4..8);
                assert_eq!(sorted, expected, "{count} words, {bits} bits");
            }
        }
    }

    #[test]
    fn long_lines_are_sorted_in_parts() {
        let mut random = SplitMix64(8);
        let mut words: Vec<u32> = (0..LONG + 12345).map(|_| random.bits() as u32 >> 5).collect();
        let mut expected = words.clone();
        expected.sort_unstable();
        sort_shared(&mut words, 0..4, &Alone).unwrap();
        assert!(words == expected);
    }
}
