//! Pages: bytes together with a shadow. For each byte, the shadow records the accesses with which a
//! later access could conflict. Global memory consists of pages, and the shared memory of a block
//! is one page.

mod trace;

use std::ops::Range;

pub use trace::{Actor, Conflict, Granule, WARPS};

/// Bytes and their shadow.
#[derive(Debug)]
pub struct Page {
    pub bytes: Box<[u8]>,
    /// Base two logarithm of the bytes of a granule: 2, or 0 after an access to a part of a word.
    grain: u32,
    /// The granules. A single element stands for all granules of the page, until an access touches
    /// only a part of the page.
    granules: Vec<Granule>,
}

/// An offset in a page, and the conflict at this offset.
pub type PageConflict = (usize, Conflict);

const WORD: u32 = 2;

impl Page {
    /// Returns a page that was never written.
    pub fn new(bytes: usize) -> Page {
        Page { bytes: vec![0; bytes].into(), grain: WORD, granules: vec![Granule::UNWRITTEN] }
    }

    /// Makes all bytes count as never written.
    pub fn forget(&mut self) {
        self.grain = WORD;
        self.granules.clear();
        self.granules.push(Granule::UNWRITTEN);
    }

    /// Checks a read against earlier accesses, and records the read.
    #[inline]
    pub fn note_read(&mut self, range: Range<usize>, by: &Actor) -> Result<(), PageConflict> {
        self.each(range, |granule| granule.read(by))
    }

    /// Checks a write against earlier accesses, and records the write.
    #[inline]
    pub fn note_write(&mut self, range: Range<usize>, by: &Actor) -> Result<(), PageConflict> {
        self.each(range, |granule| granule.write(by))
    }

    /// Checks an atomic access, which reads and writes, against earlier accesses, and records the
    /// access.
    pub fn note_update(&mut self, range: Range<usize>, by: &Actor) -> Result<(), PageConflict> {
        self.each(range, |granule| granule.update(by))
    }

    /// Makes bytes count as never written. First checks that the earlier accesses to these bytes
    /// are ordered before this access.
    pub fn note_unwritten(&mut self, range: Range<usize>, by: &Actor) -> Result<(), PageConflict> {
        self.each(range, |granule| {
            granule.admit_write(by, crate::fault::Access::Write)?;
            *granule = Granule::UNWRITTEN;
            Ok(())
        })
    }

    /// Checks that all recorded accesses are ordered before a free of the page.
    pub fn check_free(&self, by: &Actor) -> Result<(), PageConflict> {
        let check = |(at, granule): (usize, &Granule)| {
            granule.admit_write(by, crate::fault::Access::Free).map_err(|conflict| (at << self.grain, conflict))
        };
        self.granules.iter().enumerate().try_for_each(check)
    }

    /// Returns the granule of a byte.
    pub fn granule(&self, at: usize) -> &Granule {
        self.granules.get(at >> self.grain).unwrap_or(&self.granules[0])
    }

    /// Applies a function to the granules of a range of bytes.
    #[inline]
    fn each(
        &mut self,
        range: Range<usize>,
        mut apply: impl FnMut(&mut Granule) -> Result<(), Conflict>,
    ) -> Result<(), PageConflict> {
        let is_whole = range.len() == self.bytes.len();
        if self.granules.len() == 1 && is_whole {
            return apply(&mut self.granules[0]).map_err(|conflict| (0, conflict));
        }
        let mask = (1 << self.grain) - 1;
        if range.start & mask != 0 || range.end & mask != 0 && range.end != self.bytes.len() {
            self.refine();
        }
        if self.granules.len() == 1 {
            let granules = self.bytes.len().div_ceil(1 << self.grain);
            self.granules.resize(granules, self.granules[0]);
        }
        let first = range.start >> self.grain;
        let end = range.end.div_ceil(1 << self.grain);
        for (number, granule) in self.granules[first..end].iter_mut().enumerate() {
            if let Err(conflict) = apply(granule) {
                return Err(((first + number) << self.grain, conflict));
            }
        }
        Ok(())
    }

    /// Replaces the granules by granules of one byte.
    fn refine(&mut self) {
        if self.granules.len() > 1 {
            let bytes = (0..self.bytes.len()).map(|at| self.granules[at >> self.grain]).collect();
            self.granules = bytes;
        }
        self.grain = 0;
    }
}
