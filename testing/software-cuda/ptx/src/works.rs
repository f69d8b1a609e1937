//! All pieces of work that accessed a device's memory, and the order between them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::stamp::Stamp;

/// The table of all works. The works in progress share the table.
#[derive(Clone, Debug, Default)]
pub struct Works(Arc<RwLock<Table>>);

#[derive(Debug, Default)]
struct Table {
    /// Entry `n` has the id `n + 1`.
    entries: Vec<Entry>,
    /// For each stream, the positions and ids of its works, in order.
    streams: Vec<Vec<(u64, u32)>>,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    One {
        stream: u32,
        position: u64,
    },
    /// The works of two ids. The accesses of one id are not ordered with the accesses of the other
    /// id.
    Both(u32, u32),
    /// Work that is ordered before all other work, such as the load of a module.
    First,
}

/// The id of no work.
pub const NO_WORK: u32 = 0;

/// A piece of work in progress.
#[derive(Debug)]
pub struct Work {
    pub id: u32,
    /// All works whose ids are below this number are ordered before this work.
    ordered_below: u32,
    stamp: Stamp,
    /// For each other id, the id that stands for this work together with the works of the other id.
    joined: Mutex<HashMap<u32, u32>>,
    works: Works,
}

/// The stream of a work, and the work's position on this stream, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnStream {
    pub stream: u32,
    pub position: u64,
}

impl Works {
    /// Registers a piece of work.
    pub fn begin(&self, stamp: &Stamp) -> Work {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let ordered_below = table.first_unordered(stamp);
        let id = table.push(Entry::One { stream: stamp.stream, position: stamp.position });
        let stream = stamp.stream as usize;
        if table.streams.len() <= stream {
            table.streams.resize_with(stream + 1, Vec::new);
        }
        table.streams[stream].push((stamp.position, id));
        let ordered_below = ordered_below.unwrap_or(id);
        Work { id, ordered_below, stamp: stamp.clone(), joined: Mutex::default(), works: self.clone() }
    }

    /// Registers a piece of work that is ordered before all other work.
    pub fn begin_first(&self) -> Work {
        let id = self.0.write().unwrap_or_else(PoisonError::into_inner).push(Entry::First);
        let stamp = Stamp::in_order(0);
        Work { id, ordered_below: id, stamp, joined: Mutex::default(), works: self.clone() }
    }
}

impl Table {
    /// Appends an entry. Returns its id.
    fn push(&mut self, entry: Entry) -> u32 {
        self.entries.push(entry);
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    /// Returns the smallest id whose work is not ordered before the work of a stamp.
    fn first_unordered(&self, stamp: &Stamp) -> Option<u32> {
        let first = |(stream, works): (usize, &Vec<(u64, u32)>)| {
            let stream = u32::try_from(stream).unwrap_or(u32::MAX);
            // The last work is often ordered, and then all are.
            let last = works.last()?;
            if stamp.follows(stream, last.0) {
                return None;
            }
            let at = works.partition_point(|(position, _)| stamp.follows(stream, *position));
            works.get(at).map(|(_, id)| *id)
        };
        self.streams.iter().enumerate().filter_map(first).min()
    }

    fn is_before(&self, id: u32, stamp: &Stamp) -> bool {
        match id.checked_sub(1).and_then(|at| self.entries.get(at as usize)) {
            None | Some(Entry::First) => true,
            Some(Entry::One { stream, position }) => stamp.follows(*stream, *position),
            Some(&Entry::Both(left, right)) => self.is_before(left, stamp) && self.is_before(right, stamp),
        }
    }

    /// Searches the works for which an id stands. Returns a work that is not ordered before the
    /// work of a stamp.
    fn unordered(&self, id: u32, stamp: &Stamp) -> Option<OnStream> {
        match *self.entries.get(id.checked_sub(1)? as usize)? {
            Entry::One { stream, position } => {
                (!stamp.follows(stream, position)).then_some(OnStream { stream, position })
            }
            Entry::First => None,
            Entry::Both(left, right) => self.unordered(left, stamp).or_else(|| self.unordered(right, stamp)),
        }
    }
}

impl Work {
    /// Whether all works for which an id stands are ordered before this work.
    pub fn is_after(&self, id: u32) -> bool {
        id < self.ordered_below
            || self.works.0.read().unwrap_or_else(PoisonError::into_inner).is_before(id, &self.stamp)
    }

    /// Whether this work is the newest work for which an id stands.
    pub fn is_own(&self, id: u32) -> bool {
        id == self.id
            || id > self.id
                && self.joined.lock().unwrap_or_else(PoisonError::into_inner).values().any(|joined| *joined == id)
    }

    /// Returns the id that stands for this work together with the works of another id.
    pub fn joined_with(&self, id: u32) -> u32 {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let push = || self.works.0.write().unwrap_or_else(PoisonError::into_inner).push(Entry::Both(id, self.id));
        *joined.entry(id).or_insert_with(push)
    }

    /// Searches the works for which an id stands. Returns a work that is not ordered before this
    /// work.
    pub fn unordered(&self, id: u32) -> Option<OnStream> {
        self.works.0.read().unwrap_or_else(PoisonError::into_inner).unordered(id, &self.stamp)
    }

    /// Whether all works that began before this work are ordered before it.
    pub fn is_after_all(&self) -> bool {
        self.ordered_below == self.id
    }

    pub fn on_stream(&self) -> OnStream {
        OnStream { stream: self.stamp.stream, position: self.stamp.position }
    }
}
