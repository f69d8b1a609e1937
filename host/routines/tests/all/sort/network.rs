//! Sorts along dimension 0 of arrays with several columns. Single arrays, and arrays with keys of
//! at most 32 bits, are sorted by the network, 32 or 16 columns together.

use bytemuck::cast_slice;
use fusebox_core::hlo::ElementType::U32;

use super::{Integer, by_first, sorted};
use crate::support::Random;

/// Returns random elements, of which few are different.
fn elements<T: Integer>(random: &mut Random, count: usize) -> Vec<T> {
    let few = 1 + random.below(9);
    (0..count).map(|_| T::of((random.below(few) as u64).wrapping_mul(0x1357_9bdf_2468_ace1))).collect()
}

fn column<T: Copy>(array: &[T], columns: usize, number: usize) -> Vec<T> {
    array.iter().skip(number).step_by(columns).copied().collect()
}

fn check_alone<T: Integer>(random: &mut Random, rows: usize, columns: usize) {
    let array: Vec<T> = elements(random, rows * columns);
    let found = sorted(&by_first(&[T::TYPE], &[rows as i64, columns as i64]), &[cast_slice(&array)]);
    let found: &[T] = cast_slice(found[0].bytes());
    for number in 0..columns {
        let mut expected = column(&array, columns, number);
        expected.sort_unstable();
        assert!(column(found, columns, number) == expected, "column {number} of {} [{rows},{columns}]", T::TYPE);
    }
}

fn check_with_rows(random: &mut Random, rows: usize, columns: usize) {
    let keys: Vec<u32> = elements(random, rows * columns);
    let numbers: Vec<u32> = (0..rows).flat_map(|row| vec![row as u32; columns]).collect();
    let module = by_first(&[U32, U32], &[rows as i64, columns as i64]);
    let found = sorted(&module, &[cast_slice(&keys), cast_slice(&numbers)]);
    let [found_keys, found_numbers]: [&[u32]; 2] = [0, 1].map(|array: usize| cast_slice(found[array].bytes()));
    for number in 0..columns {
        let pairs = |a: &[u32], b: &[u32]| -> Vec<_> {
            column(a, columns, number).into_iter().zip(column(b, columns, number)).collect()
        };
        // The rows ascend, so the pairs of a stable sort ascend.
        let mut expected = pairs(&keys, &numbers);
        expected.sort_unstable();
        assert!(pairs(found_keys, found_numbers) == expected, "column {number} of [{rows},{columns}]");
    }
}

#[test]
fn columns_of_every_length_are_sorted() {
    let mut random = Random::new(3);
    for rows in (0..70).chain([255, 256, 257, 511, 700, 1024, 1500]) {
        for columns in [16, 32, 33, 70] {
            check_alone::<u32>(&mut random, rows, columns);
            check_alone::<u64>(&mut random, rows, columns);
            check_with_rows(&mut random, rows, columns);
        }
    }
}
