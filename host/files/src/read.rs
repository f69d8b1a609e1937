//! Opens and reads files without blocking and within size limits.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::{FileKind, ReadError, SizeLimit, guard};

/// Opens a regular file for reading, and follows links. Never blocks, for any kind of file.
///
/// # Errors
/// If the file does not exist, is not a regular file or is larger than the limit, or if the system
/// refuses.
pub fn open(path: &Path, limit: SizeLimit) -> Result<File, ReadError> {
    // Check before opening, because opening alone triggers actions of some devices.
    check(path, std::fs::metadata(path).map_err(|source| failed(path, source))?, limit)?;
    // Check again after opening, because the path may now lead to another file. `NONBLOCK` keeps
    // the opening of a FIFO from blocking.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(|source| failed(path, source))?;
    let found = file.metadata().map_err(|source| failed(path, source))?;
    guard::is_read(path, &found);
    check(path, found, limit)?;
    let flags = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags - OFlags::NONBLOCK));
    flags.map_err(|error| failed(path, error.into()))?;
    Ok(file)
}

/// Opens a file like [`open`], and reads the whole file.
///
/// # Errors
/// The errors of [`open`]. It is also an error if the file grows beyond the limit while it is read,
/// or if memory is short.
pub fn read(path: &Path, limit: SizeLimit) -> Result<Vec<u8>, ReadError> {
    let file = open(path, limit)?;
    let size = file.metadata().map_err(|source| failed(path, source))?.len();
    read_all(path, file, size, limit)
}

/// Reads a stream, such as standard input, to its end. Error messages call the stream `name`.
///
/// # Errors
/// If the stream is longer than the limit, memory is short, or the system refuses.
pub fn read_stream(name: &str, stream: impl Read, limit: SizeLimit) -> Result<Vec<u8>, ReadError> {
    read_all(Path::new(name), stream, 0, limit)
}

fn check(path: &Path, found: std::fs::Metadata, limit: SizeLimit) -> Result<(), ReadError> {
    let path = path.to_path_buf();
    match (FileKind::of(found.file_type()), limit.most()) {
        (FileKind::Regular, Some(limit)) if found.len() > limit => Err(ReadError::TooLarge { path, limit }),
        (FileKind::Regular, _) => Ok(()),
        (kind, _) => Err(ReadError::NotRegular { path, kind }),
    }
}

fn read_all(path: &Path, source: impl Read, expected: u64, limit: SizeLimit) -> Result<Vec<u8>, ReadError> {
    let short = |bytes: u64| ReadError::Memory { path: path.into(), bytes };
    let mut bytes = Vec::new();
    // Allocates one byte more than expected, so that reading reaches the end without allocating
    // more memory.
    let wanted = usize::try_from(expected).ok().and_then(|n| n.checked_add(1)).ok_or_else(|| short(expected))?;
    bytes.try_reserve_exact(wanted).map_err(|_| short(expected))?;
    // Reading one byte more than allowed detects files that are too long. `read_to_end` returns an
    // error if an allocation fails.
    let most = limit.most().map_or(u64::MAX, |most| most.saturating_add(1));
    let outcome = source.take(most).read_to_end(&mut bytes);
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => Err(short(bytes.len() as u64)),
        Err(error) => Err(failed(path, error)),
        Ok(_) => match limit.most() {
            Some(limit) if bytes.len() as u64 > limit => Err(ReadError::TooLarge { path: path.into(), limit }),
            _ => Ok(bytes),
        },
    }
}

fn failed(path: &Path, source: io::Error) -> ReadError {
    match source.kind() {
        io::ErrorKind::NotFound => ReadError::NotFound { path: path.into() },
        _ => ReadError::Io { path: path.into(), source },
    }
}

#[cfg(test)]
mod tests;
