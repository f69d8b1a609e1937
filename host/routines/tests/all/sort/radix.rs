//! Sorts of single lines by the bytes of their keys: whole lines on one thread, and long lines in
//! parts that several threads sort.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::cast_slice;
use fusebox_core::hlo::ElementType::U32;
use fusebox_routines::{Workers, routine_for};

use super::{Integer, LONG_LINE, by_first, sorted};
use crate::support::{AlignedBytes, Random, Threads, execute_by};

/// Returns random integers of which only the lowest bits are set.
fn elements<T: Integer>(random: &mut Random, count: usize, bits: u32) -> Vec<T> {
    (0..count).map(|_| T::of(random.bits() >> (64 - bits))).collect()
}

fn check_alone<T: Integer>(random: &mut Random, count: usize, bits: u32) {
    let mut line: Vec<T> = elements(random, count, bits);
    let found = sorted(&by_first(&[T::TYPE], &[count as i64]), &[cast_slice(&line)]);
    line.sort_unstable();
    assert!(cast_slice::<u8, T>(found[0].bytes()) == line, "{count} {} of {bits} bits", T::TYPE);
}

fn check_with_positions<T: Integer>(random: &mut Random, count: usize, bits: u32) {
    let keys: Vec<T> = elements(random, count, bits);
    let mut order: Vec<u32> = (0..count as u32).collect();
    let found = sorted(&by_first(&[T::TYPE, U32], &[count as i64]), &[cast_slice(&keys), cast_slice(&order)]);
    order.sort_by_key(|&at| keys[at as usize]);
    assert!(cast_slice::<u8, u32>(found[1].bytes()) == order, "{count} {} of {bits} bits", T::TYPE);
    let found: &[T] = cast_slice(found[0].bytes());
    assert!(found.iter().eq(order.iter().map(|&at| &keys[at as usize])), "{count} {} of {bits} bits", T::TYPE);
}

/// The routine counts the digits of lines of 96 elements or more, and skips digits that are equal
/// in all keys.
#[test]
fn lines_are_sorted_by_all_digits_of_their_keys() {
    let mut random = Random::new(7);
    for count in [0, 1, 2, 50, 95, 96, 1000, 70_000] {
        for bits in [1, 9, 20, 32] {
            check_alone::<u32>(&mut random, count, bits);
            check_with_positions::<u32>(&mut random, count, bits);
        }
        for bits in [9, 33, 64] {
            check_alone::<u64>(&mut random, count, bits);
            check_with_positions::<u64>(&mut random, count, bits);
        }
    }
}

/// Two threads, and the largest number of parts of their tasks.
#[derive(Default)]
struct CountsParts(AtomicUsize);

impl Workers for CountsParts {
    fn threads(&self) -> usize {
        2
    }

    fn run_parts(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        self.0.fetch_max(parts, Ordering::Relaxed);
        Threads(2).run_parts(parts, task);
    }
}

/// Checks that a routine sorts long lines in parts, and that memory which the routine keeps from
/// one execution does not change the results of the next.
#[test]
fn long_lines_are_sorted_in_parts() {
    let mut random = Random::new(8);
    let routine = routine_for(&by_first(&[U32], &[LONG_LINE as i64])).unwrap();
    for bits in [27, 32, 20] {
        let mut line: Vec<u32> = elements(&mut random, LONG_LINE, bits);
        let argument = AlignedBytes::new(cast_slice(&line));
        let mut result = AlignedBytes::new(&vec![0; 4 * LONG_LINE]);
        let workers = CountsParts::default();
        execute_by(&workers, &*routine, &[argument.bytes()], &mut [result.bytes_mut()]).unwrap();
        line.sort_unstable();
        assert!(cast_slice::<u8, u32>(result.bytes()) == line, "{bits} bits");
        let parts = workers.0.into_inner();
        assert!(parts > 1, "this line is not long: {parts} parts");
    }
}
