//! Counts the traffic of an access by a warp.

use crate::code::{Lanes, each_lane};
use crate::counts::Traffic;

/// Smallest number of bytes that global memory moves at once.
const SECTOR: u64 = 32;
const BANKS: u64 = 32;

/// Counts an access to global memory.
pub fn count_global(traffic: &mut Traffic, addresses: &Lanes, mask: u32, bytes: u64) {
    let mut ranges = [0u64; 32];
    let mut count = 0;
    let mut is_sorted = true;
    each_lane(mask, |lane| {
        is_sorted &= count == 0 || ranges[count - 1] <= addresses[lane];
        ranges[count] = addresses[lane];
        count += 1;
    });
    let ranges = &mut ranges[..count];
    if !is_sorted {
        ranges.sort_unstable();
    }
    let (mut next_sector, mut next_byte, mut sectors, mut touched) = (0, 0, 0, 0);
    for &start in ranges.iter() {
        let end = start + bytes;
        let (first, last) = (start / SECTOR, (end - 1) / SECTOR);
        sectors += (last + 1).saturating_sub(first.max(next_sector));
        next_sector = next_sector.max(last + 1);
        touched += end.saturating_sub(start.max(next_byte));
        next_byte = next_byte.max(end);
    }
    traffic.accesses += 1;
    traffic.bytes += touched;
    traffic.sectors += sectors;
    traffic.perfect_sectors += touched.div_ceil(SECTOR);
}

/// Returns the turns that the banks of shared memory need in addition to one turn for each part of
/// an access. A part has at most 128 bytes.
pub fn bank_conflicts(addresses: &Lanes, mask: u32, bytes: u64) -> u64 {
    let lanes_of_part = (BANKS * 4 / bytes.max(4)) as usize;
    let mut turns = 0;
    for first in (0..32).step_by(lanes_of_part) {
        let part = mask & (u32::MAX >> (32 - lanes_of_part) << first);
        if part == 0 {
            continue;
        }
        let mut words = [0u64; 64];
        let mut count = 0;
        each_lane(part, |lane| {
            for word in addresses[lane] / 4..(addresses[lane] + bytes).div_ceil(4) {
                if count < words.len() {
                    words[count] = word;
                    count += 1;
                }
            }
        });
        let words = &mut words[..count];
        // Words of a bank come after each other.
        words.sort_unstable_by_key(|word| (word % BANKS, *word));
        let (mut most, mut run) = (1, 0);
        for at in 0..words.len() {
            let is_same_bank = at > 0 && words[at - 1] % BANKS == words[at] % BANKS;
            run = if is_same_bank { run + u64::from(words[at - 1] != words[at]) } else { 1 };
            most = most.max(run);
        }
        turns += most - 1;
    }
    turns
}
