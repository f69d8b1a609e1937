//! The table of handles. Threads use the table at the same time without locks.
//!
//! The number of a handle consists of three fields, from the lowest bit: the index of the handle's
//! entry in the table (32 bits), the generation of the entry (28 bits), and the kind of the object
//! (4 bits). The generation of an entry increases when a handle is destroyed, so no two handles
//! have the same number.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Number of entries of the first chunk. Each further chunk has twice as many entries as the chunk
/// before it.
const FIRST: u64 = 256;
/// Number of chunks: together they have nearly 2³² entries.
const CHUNKS: usize = 24;
/// Number of entries of all chunks.
const ENTRIES: u64 = FIRST * ((1 << CHUNKS) - 1);
const _: () = assert!(ENTRIES < 1 << PLACE_BITS);
/// Number of bits below the generation in a handle's number.
const PLACE_BITS: u32 = 32;
/// Number of bits below the kind in a handle's number.
const KIND_SHIFT: u32 = 60;
/// A generation that no handle has. The table never uses an entry again after the entry has reached
/// this generation.
const LAST_GENERATION: u64 = (1 << (KIND_SHIFT - PLACE_BITS)) - 1;

/// All handles of the process.
pub static TABLE: Table = Table::new();

/// A table of handles. The table never frees its entries, so that threads can look up any number
/// safely.
pub struct Table {
    chunks: [OnceLock<Box<[Entry]>>; CHUNKS],
    /// Number of entries that have been used at least once.
    used: AtomicU64,
    /// The lower half is the index, plus one, of the first entry in the list of unused entries, or
    /// zero if the list is empty. The upper half counts the changes of the list, so that a thread
    /// notices every change by another thread, even if the first entry is the same as before.
    unused: AtomicU64,
}

#[derive(Default)]
struct Entry {
    /// The number of the entry's handle. An unused entry contains the number that its next handle
    /// will have, but with the kind zero.
    number: AtomicU64,
    object: AtomicPtr<()>,
    /// The index, plus one, of the next entry in the list of unused entries, or zero in the last
    /// entry.
    next: AtomicU32,
}

impl Table {
    const fn new() -> Table {
        Table { chunks: [const { OnceLock::new() }; CHUNKS], used: AtomicU64::new(0), unused: AtomicU64::new(0) }
    }

    /// Adds an object of a kind. Returns the number of the object's handle, or `None` if the table
    /// is full.
    pub fn insert(&self, kind: u8, object: *mut ()) -> Option<u64> {
        let (place, entry) = self.take().or_else(|| self.grow())?;
        let generation = entry.number.load(Ordering::Relaxed) >> PLACE_BITS;
        let number = (u64::from(kind) << KIND_SHIFT) | (generation << PLACE_BITS) | place;
        entry.object.store(object, Ordering::Relaxed);
        entry.number.store(number, Ordering::Release);
        Some(number)
    }

    /// Returns the object of a handle, or `None` if `number` is no handle of the kind `kind` or if
    /// the handle has been destroyed.
    pub fn get(&self, kind: u8, number: u64) -> Option<*mut ()> {
        let entry = self.entry_of(kind, number)?;
        (entry.number.load(Ordering::Acquire) == number).then(|| entry.object.load(Ordering::Relaxed))
    }

    /// Removes a handle. Returns the handle's object, or `None` if [`Table::get`] would return
    /// `None` for the handle.
    pub fn remove(&self, kind: u8, number: u64) -> Option<*mut ()> {
        let entry = self.entry_of(kind, number)?;
        let object = entry.object.load(Ordering::Relaxed);
        let place = number & u64::from(u32::MAX);
        let generation = ((number >> PLACE_BITS) & LAST_GENERATION) + 1;
        let free = (generation << PLACE_BITS) | place;
        entry.number.compare_exchange(number, free, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        if generation < LAST_GENERATION {
            self.put(place, entry);
        }
        Some(object)
    }

    fn entry_of(&self, kind: u8, number: u64) -> Option<&Entry> {
        if number >> KIND_SHIFT != u64::from(kind) {
            return None;
        }
        self.entry(number & u64::from(u32::MAX))
    }

    /// Returns the entry with the index `place`, if the entry's chunk exists.
    fn entry(&self, place: u64) -> Option<&Entry> {
        let (chunk, offset) = position(place);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    /// Takes an entry from the list of unused entries.
    fn take(&self) -> Option<(u64, &Entry)> {
        let mut list = self.unused.load(Ordering::Acquire);
        loop {
            let place = (list & u64::from(u32::MAX)).checked_sub(1)?;
            let entry = self.entry(place)?;
            let rest = changed(list, entry.next.load(Ordering::Relaxed));
            match self.unused.compare_exchange_weak(list, rest, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some((place, entry)),
                Err(now) => list = now,
            }
        }
    }

    /// Puts an entry into the list of unused entries.
    fn put(&self, place: u64, entry: &Entry) {
        let mut list = self.unused.load(Ordering::Relaxed);
        loop {
            entry.next.store(list as u32, Ordering::Relaxed);
            let longer = changed(list, place as u32 + 1);
            match self.unused.compare_exchange_weak(list, longer, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => list = now,
            }
        }
    }

    /// Returns an entry that has not been used before.
    fn grow(&self) -> Option<(u64, &Entry)> {
        let next = |used: u64| (used < ENTRIES).then_some(used + 1);
        let place = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        let (chunk, offset) = position(place);
        let entries = self.chunks.get(chunk)?.get_or_init(|| {
            let count = (FIRST << chunk) as usize;
            std::iter::repeat_with(Entry::default).take(count).collect()
        });
        Some((place, entries.get(offset)?))
    }
}

/// Returns the changed value of the field `unused` for a list that begins with the entry `first`.
fn changed(list: u64, first: u32) -> u64 {
    ((list >> 32).wrapping_add(1) << 32) | u64::from(first)
}

/// Returns the chunk that contains the entry with the index `place`, and the entry's offset in the
/// chunk.
fn position(place: u64) -> (usize, usize) {
    let chunk = (place / FIRST + 1).ilog2();
    (chunk as usize, (place - FIRST * ((1 << chunk) - 1)) as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::Ordering;

    use super::{CHUNKS, ENTRIES, FIRST, LAST_GENERATION, PLACE_BITS, Table, position};

    #[test]
    fn chunks_follow_each_other() {
        let mut expected = (0, 0);
        for place in 0..20 * FIRST {
            assert_eq!(position(place), expected);
            expected.1 += 1;
            if expected.1 as u64 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(position(ENTRIES - 1).0, CHUNKS - 1);
        assert_eq!(position(ENTRIES).0, CHUNKS);
    }

    #[test]
    fn numbers_occur_once_also_if_an_entry_wears_out() {
        let table = Table::new();
        let object = std::ptr::dangling_mut();
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            let number = table.insert(3, object).unwrap();
            assert!(seen.insert(number) && table.get(3, number) == Some(object));
            assert_eq!(table.remove(3, number), Some(object));
            assert!(table.remove(3, number).is_none() && table.get(3, number).is_none());
        }
        assert_eq!(table.used.load(Ordering::Relaxed), 1);
        let entry = table.entry(0).unwrap();
        entry.number.store((LAST_GENERATION - 1) << PLACE_BITS, Ordering::Relaxed);
        let last = table.insert(3, object).unwrap();
        table.remove(3, last).unwrap();
        assert!(seen.insert(last) && seen.insert(table.insert(3, object).unwrap()));
        assert_eq!(table.used.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn threads_get_different_entries() {
        let table = Table::new();
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let table = &table;
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    for round in 0..20_000_usize {
                        let object = std::ptr::without_provenance_mut(thread << 32 | round);
                        mine.push((table.insert(1, object).unwrap(), object));
                        if round % 3 > 0 {
                            let (number, object) = mine.swap_remove(round % mine.len());
                            assert_eq!(table.get(1, number), Some(object));
                            assert_eq!(table.remove(1, number), Some(object));
                        }
                    }
                    for (number, object) in mine {
                        assert_eq!(table.remove(1, number), Some(object));
                    }
                });
            }
        });
    }
}
