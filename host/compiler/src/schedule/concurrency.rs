//! The order of thunks that the program requires, and the number of pairs of thunks that become
//! ordered only because values share memory.
//!
//! A GPU may execute two thunks at the same time if neither thunk writes bytes that the other thunk
//! accesses. If two values share memory, the thunks that access the later value wait for the thunks
//! that access the earlier value.

use fusebox_runtime::Slice;

/// Largest number of thunks whose order is considered.
const MOST_THUNKS: usize = 4096;

/// The thunks that use each buffer, and their order before buffers share memory.
#[derive(Debug, Default)]
pub struct RequiredOrder {
    /// For each buffer, the numbers of the thunks that access it, in order.
    users: Vec<Vec<u32>>,
    /// For each thunk, the set of thunks that the program requires to execute before it.
    before: Vec<Vec<u64>>,
}

/// The slices that a thunk accesses, each with a flag that tells whether the thunk writes the
/// slice.
pub type Accesses = Vec<(Slice, bool)>;

impl RequiredOrder {
    /// Determines the order of the thunks with these accesses, including the thunks inside loops
    /// and branches. Returns an empty order for more than `MOST_THUNKS` thunks.
    pub fn of(all: &[Accesses], buffers: usize) -> RequiredOrder {
        if all.len() > MOST_THUNKS {
            return RequiredOrder::default();
        }
        let mut users = vec![Vec::new(); buffers];
        let mut before: Vec<Vec<u64>> = Vec::with_capacity(all.len());
        for (number, accesses) in all.iter().enumerate() {
            let mut mine = vec![0u64; number.div_ceil(64)];
            for (slice, is_written) in accesses {
                let of_buffer: &mut Vec<u32> = &mut users[slice.allocation as usize];
                for &earlier in of_buffer.iter().filter(|&&earlier| earlier as usize != number) {
                    let conflicts = |(other, writes): &(Slice, bool)| other.overlaps(slice) && (*writes || *is_written);
                    if all[earlier as usize].iter().any(conflicts) {
                        mine[earlier as usize / 64] |= 1 << (earlier % 64);
                        mine.iter_mut().zip(&before[earlier as usize]).for_each(|(set, other)| *set |= other);
                    }
                }
                if of_buffer.last() != Some(&(number as u32)) {
                    of_buffer.push(number as u32);
                }
            }
            before.push(mine);
        }
        RequiredOrder { users, before }
    }

    /// Returns the number of pairs of thunks that become ordered if the buffer `later` is placed in
    /// the memory of the buffer `earlier`.
    pub fn added(&self, earlier: usize, later: usize) -> usize {
        let of = |buffer: usize| self.users.get(buffer).map_or(&[][..], Vec::as_slice);
        let Some(&first) = of(later).first() else { return 0 };
        let is_before = |user: u32| {
            let word = self.before[first as usize].get(user as usize / 64);
            word.is_some_and(|word| word >> (user % 64) & 1 == 1)
        };
        of(earlier).iter().filter(|&&user| user < first && !is_before(user)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(buffer: u32) -> Slice {
        Slice { allocation: buffer, offset: 0, bytes: 64 }
    }

    #[test]
    fn only_pairs_without_an_order_are_counted() {
        let launch = |from, to| vec![(slice(from), false), (slice(to), true)];
        // Two chains from buffer 0: 0 -> 1 -> 2 -> 3 and 0 -> 4 -> 5.
        let thunks = [launch(0, 1), launch(1, 2), launch(2, 3), launch(0, 4), launch(4, 5)];
        let order = RequiredOrder::of(&thunks, 6);
        // Buffer 1 is used by the first two launches. The third one comes after both of them, the
        // fourth one after neither.
        assert_eq!([order.added(1, 3), order.added(1, 4), order.added(1, 5)], [0, 2, 2]);
        assert_eq!([order.added(2, 5), order.added(4, 5)], [2, 0]);
    }
}
