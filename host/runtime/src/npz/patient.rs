//! A writer that keeps its first error until the end.

use std::io::{self, Seek, SeekFrom, Write};

/// Takes everything; once a write has failed, only pretends to. An archive's writer that is told of an error in its middle
/// goes on in its destructor, from a state it does not expect.
pub(super) struct Patient<W> {
    inner: W,
    error: Option<io::Error>,
    position: u64,
    length: u64,
}

impl<W: Write + Seek> Patient<W> {
    /// Around a writer at its beginning.
    pub fn new(inner: W) -> Self {
        Patient { inner, error: None, position: 0, length: 0 }
    }

    /// The first error, if there was one.
    pub fn finish(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    /// Does this unless something has failed before, and keeps the error if this fails.
    fn attempt(&mut self, work: impl FnOnce(&mut W) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = work(&mut self.inner).err();
        }
    }
}

impl<W: Write + Seek> Write for Patient<W> {
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

impl<W: Write + Seek> Seek for Patient<W> {
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
