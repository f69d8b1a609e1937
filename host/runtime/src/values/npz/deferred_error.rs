//! A writer that reports its first error at the end.

use std::io::{self, Seek, SeekFrom, Write};

/// A writer that reports no error before [`DeferredErrorWriter::finish`]. After a failed write, the
/// writer discards all further data. The archive writer of the crate zip needs a writer that
/// reports no errors. After a write error, the destructor of the archive writer would continue from
/// an unexpected state.
pub(super) struct DeferredErrorWriter<W> {
    inner: W,
    error: Option<io::Error>,
    position: u64,
    length: u64,
}

impl<W: Write + Seek> DeferredErrorWriter<W> {
    /// Wraps a writer whose position is 0.
    pub fn new(inner: W) -> Self {
        DeferredErrorWriter { inner, error: None, position: 0, length: 0 }
    }

    /// Returns the first error of all writes and seeks, if any of them failed.
    pub fn finish(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    /// Calls `work`, unless an earlier write or seek has failed. Stores the error if `work` fails.
    fn attempt(&mut self, work: impl FnOnce(&mut W) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = work(&mut self.inner).err();
        }
    }
}

impl<W: Write + Seek> Write for DeferredErrorWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|inner| inner.write_all(bytes));
        self.position += bytes.len() as u64;
        self.length = self.length.max(self.position);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(W::flush);
        Ok(())
    }
}

impl<W: Write + Seek> Seek for DeferredErrorWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        let position = SeekFrom::Start(self.position);
        self.attempt(|inner| inner.seek(position).map(drop));
        Ok(self.position)
    }
}
