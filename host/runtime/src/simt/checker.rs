//! Decides whether accesses are right.

use corosensei::Yielder;

use crate::{Access, KernelArgument};

/// Faults after which a report says "and more".
const MOST_FAULTS: usize = 8;

/// Watches the accesses of one grid.
pub struct Checker {
    arguments: Vec<Range>,
    /// Argument of the last access: the next one is most often to the same.
    last: usize,
    /// The running thread.
    pub block: u64,
    /// The running thread in its block.
    pub thread: u32,
    faults: Vec<Fault>,
    more: bool,
    yielder: *const Yielder<(), ()>,
}

/// One argument's memory.
struct Range {
    start: u64,
    bytes: u64,
    access: Access,
    /// For [`Access::WriteOnce`]: per byte, whether it has been written.
    written: Vec<u64>,
}

/// What a thread did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    block: u64,
    thread: u32,
    site: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FaultKind {
    OutOfBounds { is_write: bool, bytes: u64, nearest: usize, offset: i64, size: u64 },
    IndexOutOfBounds { argument: usize, dimension: i32, index: i64, size: i64 },
    ReadOnly { argument: usize, offset: u64 },
    WrittenTwice { argument: usize, offset: u64 },
    NeverWritten { argument: usize, offset: u64 },
}

impl Checker {
    /// For a launch with these buffers.
    pub fn new(arguments: &[KernelArgument], addresses: &[*mut u8]) -> Checker {
        let ranges = arguments.iter().zip(addresses).map(|(argument, &start)| Range {
            start: start as u64,
            bytes: argument.bytes,
            access: argument.access,
            written: match argument.access {
                Access::WriteOnce => vec![0; argument.bytes.div_ceil(64) as usize],
                _ => Vec::new(),
            },
        });
        Checker {
            arguments: ranges.collect(),
            last: 0,
            block: 0,
            thread: 0,
            faults: Vec::new(),
            more: false,
            yielder: std::ptr::null(),
        }
    }

    /// The coroutine the grid runs on.
    pub fn run_on(&mut self, yielder: &Yielder<(), ()>) {
        self.yielder = yielder;
    }

    /// Suspends the grid's coroutine. It is never resumed.
    pub fn abandon_grid(&self) {
        if !self.yielder.is_null() {
            // SAFETY: set by the coroutine that is running now, and alive as long as it runs.
            unsafe { (*self.yielder).suspend(()) }
        }
    }

    /// Records an access; `false` if it must not happen.
    pub fn access(&mut self, place: u64, bytes: u64, is_write: bool, site: i32) -> bool {
        let Some(index) = self.find(place, bytes) else {
            let kind = self.out_of_bounds(place, bytes, is_write);
            self.fault(kind, site);
            return false;
        };
        self.last = index;
        let argument = &mut self.arguments[index];
        let offset = place - argument.start;
        match (is_write, argument.access) {
            (true, Access::Read) => {
                self.fault(FaultKind::ReadOnly { argument: index, offset }, site);
                false
            }
            (true, Access::WriteOnce) => {
                if argument.mark(offset, bytes) {
                    self.fault(FaultKind::WrittenTwice { argument: index, offset }, site);
                }
                true
            }
            _ => true,
        }
    }

    /// Records an index out of the bounds of a dimension.
    pub fn index_out_of_bounds(&mut self, tensor: u64, dimension: i32, index: i64, size: i64, site: i32) {
        let argument = self.arguments.iter().position(|r| r.start == tensor).unwrap_or(0);
        self.fault(FaultKind::IndexOutOfBounds { argument, dimension, index, size }, site);
    }

    fn find(&self, place: u64, bytes: u64) -> Option<usize> {
        let contains = |r: &Range| place >= r.start && place + bytes <= r.start + r.bytes;
        if self.arguments.get(self.last).is_some_and(contains) {
            return Some(self.last);
        }
        self.arguments.iter().position(contains)
    }

    fn out_of_bounds(&self, place: u64, bytes: u64, is_write: bool) -> FaultKind {
        let distance = |r: &Range| {
            let end = r.start + r.bytes;
            if place < r.start { r.start - place } else { (place + bytes).saturating_sub(end) }
        };
        let nearest = (0..self.arguments.len()).min_by_key(|&i| distance(&self.arguments[i])).unwrap_or(0);
        let (start, size) = self.arguments.get(nearest).map_or((0, 0), |r| (r.start, r.bytes));
        FaultKind::OutOfBounds { is_write, bytes, nearest, offset: place.wrapping_sub(start) as i64, size }
    }

    fn fault(&mut self, kind: FaultKind, site: i32) {
        if self.faults.len() == MOST_FAULTS {
            self.more = true;
        } else {
            self.faults.push(Fault { kind, block: self.block, thread: self.thread, site });
        }
    }

    /// After the whole grid has run: every element of a write-once output must have been written.
    pub fn check_coverage(&mut self) {
        for index in 0..self.arguments.len() {
            if let Some(offset) = self.arguments[index].first_unwritten() {
                self.fault(FaultKind::NeverWritten { argument: index, offset }, -1);
            }
        }
    }

    /// The faults, one per line; `None` if there are none. `site` puts the number of a place in words.
    pub fn report(&self, site: impl Fn(i32) -> String) -> Option<String> {
        if self.faults.is_empty() {
            return None;
        }
        let mut lines: Vec<String> = self.faults.iter().map(|f| format!("  {}", f.describe(&site))).collect();
        if self.more {
            lines.push("  … and more".into());
        }
        Some(lines.join("\n"))
    }
}

impl Range {
    /// Marks bytes as written; `true` if one already was.
    fn mark(&mut self, offset: u64, bytes: u64) -> bool {
        let mut twice = false;
        for byte in offset..offset + bytes {
            let (word, bit) = ((byte / 64) as usize, 1u64 << (byte % 64));
            twice |= self.written[word] & bit != 0;
            self.written[word] |= bit;
        }
        twice
    }

    fn first_unwritten(&self) -> Option<u64> {
        if self.access != Access::WriteOnce {
            return None;
        }
        let (word, bits) = self.written.iter().enumerate().find(|(_, bits)| **bits != u64::MAX)?;
        let byte = word as u64 * 64 + u64::from(bits.trailing_ones());
        (byte < self.bytes).then_some(byte)
    }
}

impl Fault {
    fn describe(&self, site: impl Fn(i32) -> String) -> String {
        let what = match &self.kind {
            FaultKind::OutOfBounds { is_write, bytes, nearest, offset, size } => {
                let verb = if *is_write { "write" } else { "read" };
                format!("{verb} of {bytes} bytes out of bounds, at byte {offset} of argument {nearest} ({size} bytes)")
            }
            FaultKind::IndexOutOfBounds { argument, dimension, index, size } => {
                format!("index {index} out of bounds of dimension {dimension} (size {size}) of argument {argument}")
            }
            FaultKind::ReadOnly { argument, offset } => {
                format!("write to byte {offset} of argument {argument}, which is a parameter")
            }
            FaultKind::WrittenTwice { argument, offset } => {
                format!("second write to byte {offset} of argument {argument}")
            }
            FaultKind::NeverWritten { argument, offset } => {
                return format!("byte {offset} of argument {argument} is never written");
            }
        };
        format!("{what} by thread {} of block {}: {}", self.thread, self.block, site(self.site))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(number: i32) -> String {
        format!("access {number}")
    }

    fn checker(buffers: &mut [Vec<u8>], access: &[Access]) -> Checker {
        let arguments: Vec<KernelArgument> =
            buffers.iter().zip(access).map(|(b, &access)| KernelArgument { bytes: b.len() as u64, access }).collect();
        let addresses: Vec<*mut u8> = buffers.iter_mut().map(|b| b.as_mut_ptr()).collect();
        Checker::new(&arguments, &addresses)
    }

    #[test]
    fn a_read_past_the_end_is_refused_and_named() {
        let mut buffers = [vec![0u8; 16], vec![0u8; 16]];
        let mut checker = checker(&mut buffers, &[Access::Read, Access::WriteOnce]);
        let start = buffers[0].as_ptr() as u64;
        assert!(checker.access(start + 12, 4, false, 0));
        (checker.block, checker.thread) = (3, 5);
        assert!(!checker.access(start + 13, 4, false, 7));
        let report = checker.report(site).unwrap();
        assert!(report.contains("read of 4 bytes out of bounds, at byte 13 of argument 0 (16 bytes)"), "{report}");
        assert!(report.contains("thread 5 of block 3: access 7"), "{report}");
    }

    #[test]
    fn double_and_missing_writes_are_reported() {
        let mut buffers = [vec![0u8; 100]];
        let mut checker = checker(&mut buffers, &[Access::WriteOnce]);
        let start = buffers[0].as_ptr() as u64;
        for element in 0..24 {
            assert!(checker.access(start + 4 * element, 4, true, 0));
        }
        assert!(checker.access(start, 4, true, 1), "the second write happens, but is recorded");
        checker.check_coverage();
        let report = checker.report(site).unwrap();
        assert!(report.contains("second write to byte 0 of argument 0"), "{report}");
        assert!(report.contains("byte 96 of argument 0 is never written"), "{report}");
    }

    #[test]
    fn a_complete_output_is_clean() {
        for bytes in [1usize, 63, 64, 65, 128] {
            let mut buffers = [vec![0u8; bytes]];
            let mut checker = checker(&mut buffers, &[Access::WriteOnce]);
            assert!(checker.access(buffers[0].as_ptr() as u64, bytes as u64, true, 0));
            checker.check_coverage();
            assert_eq!(checker.report(site), None, "{bytes} bytes");
        }
    }

    #[test]
    fn writing_a_parameter_is_refused() {
        let mut buffers = [vec![0u8; 8]];
        let mut checker = checker(&mut buffers, &[Access::Read]);
        assert!(!checker.access(buffers[0].as_ptr() as u64, 4, true, 0));
        assert!(checker.report(site).unwrap().contains("which is a parameter"));
    }
}
