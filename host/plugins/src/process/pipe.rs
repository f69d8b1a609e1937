//! The host's ends of the pipes to a child. If a frame is not transferred completely before its
//! deadline, the pipe can no longer be used.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Interval between checks whether the child still runs. If the child dies, usually its pipe closes
/// at once. But another process that the child has started may hold the pipe open.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum number of bytes per read. The buffer grows only as data arrives, because a frame's
/// length may be wrong.
const CHUNK: usize = 64 << 10;

/// One end of a pipe. Reads from the pipe and writes to the pipe do not block.
pub struct Pipe<T>(T);

/// Reason why a frame was not transferred.
#[derive(Debug, PartialEq, Eq)]
pub enum TransferError {
    /// The other side has closed the pipe or ended.
    Closed,
    /// The deadline has passed.
    Late,
    /// The frame exceeds the limit.
    TooLong { bytes: usize, most: usize },
}

impl<T: AsFd> Pipe<T> {
    /// # Errors
    /// If the system refuses to make the pipe non-blocking.
    pub fn new(end: T) -> io::Result<Self> {
        let flags = fcntl_getfl(&end)?;
        fcntl_setfl(&end, flags | OFlags::NONBLOCK)?;
        Ok(Pipe(end))
    }

    /// Waits until the pipe is ready for reading or writing.
    fn wait(
        &self,
        for_what: PollFlags,
        deadline: Instant,
        is_gone: &mut dyn FnMut() -> bool,
    ) -> Result<(), TransferError> {
        // Bytes that the other side wrote before its death are still read.
        let mut was_gone = false;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let time = if was_gone { Duration::ZERO } else { left.min(LOOK) };
            let mut ends = [PollFd::new(&self.0, for_what)];
            let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
            match poll(&mut ends, Some(&time)) {
                Ok(0) if was_gone => return Err(TransferError::Closed),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(_) => return Err(TransferError::Closed),
            }
            if left.is_zero() {
                return Err(TransferError::Late);
            }
            was_gone = is_gone();
        }
    }
}

impl<T: AsFd + Write> Pipe<T> {
    /// Writes a frame. `is_gone` returns whether the other side has ended.
    pub fn write_frame(
        &mut self,
        frame: &[u8],
        deadline: Instant,
        is_gone: &mut dyn FnMut() -> bool,
    ) -> Result<(), TransferError> {
        let most = u32::MAX as usize;
        let length = u32::try_from(frame.len()).map_err(|_| TransferError::TooLong { bytes: frame.len(), most })?;
        for mut rest in [&length.to_le_bytes(), frame] {
            while !rest.is_empty() {
                self.wait(PollFlags::OUT, deadline, is_gone)?;
                match self.0.write(rest) {
                    Ok(0) => return Err(TransferError::Closed),
                    Ok(written) => rest = &rest[written..],
                    Err(error) if passes(&error) => {}
                    Err(_) => return Err(TransferError::Closed),
                }
                check(deadline)?;
            }
        }
        Ok(())
    }
}

impl<T: AsFd + Read> Pipe<T> {
    /// Reads a frame of at most `most` bytes. `is_gone` returns whether the other side has ended.
    pub fn read_frame(
        &mut self,
        most: usize,
        deadline: Instant,
        is_gone: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u8>, TransferError> {
        let length = self.read_bytes(4, deadline, is_gone)?;
        let bytes = length.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        if bytes > most {
            return Err(TransferError::TooLong { bytes, most });
        }
        self.read_bytes(bytes, deadline, is_gone)
    }

    fn read_bytes(
        &mut self,
        count: usize,
        deadline: Instant,
        is_gone: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u8>, TransferError> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            self.wait(PollFlags::IN, deadline, is_gone)?;
            let start = bytes.len();
            bytes.resize(count.min(start + CHUNK), 0);
            let read = self.0.read(&mut bytes[start..]);
            bytes.truncate(start + read.as_ref().map_or(0, |&read| read));
            match read {
                Ok(0) => return Err(TransferError::Closed),
                Ok(_) => {}
                Err(error) if passes(&error) => {}
                Err(_) => return Err(TransferError::Closed),
            }
            check(deadline)?;
        }
        Ok(bytes)
    }
}

/// Whether an operation that failed with this error may succeed later.
fn passes(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Returns an error if the deadline has passed. The pipe checks the deadline after each part of a
/// frame, so that a slow sender cannot delay the host without end.
fn check(deadline: Instant) -> Result<(), TransferError> {
    if Instant::now() > deadline { Err(TransferError::Late) } else { Ok(()) }
}
