//! Writes to files that cannot be replaced: FIFOs, devices, files without a name.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::Path;

use rustix::io::Errno;

use crate::fill::Fill;
use crate::{FileKind, WriteError};

/// Writes the content to an unnamed temporary file, then copies that file to the target. The
/// temporary file is necessary because `fill` may seek, and a FIFO does not support seeking.
pub(crate) fn write<E: Into<io::Error>>(path: &Path, kind: FileKind, fill: impl Fill<E>) -> Result<(), WriteError> {
    let draft = |step| move |source| WriteError::Draft { path: path.into(), step, source };
    let mut content = tempfile::tempfile().map_err(draft("making a temporary file"))?;
    fill(&mut content).map_err(|error| draft("writing a temporary file")(error.into()))?;
    content.rewind().map_err(draft("reading a temporary file"))?;
    send(&mut content, path).map_err(|source| WriteError::Stream { path: path.into(), kind, source })
}

fn send(content: &mut File, path: &Path) -> io::Result<()> {
    let mut stream = OpenOptions::new().write(true).truncate(true).open(path)?;
    io::copy(content, &mut stream)?;
    stream.flush()?;
    match stream.sync_all() {
        // If a file is not stored on a disk, syncing the file returns one of these errors.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::NOTSUP | Errno::ROFS)) => {
            Ok(())
        }
        outcome => outcome,
    }
}
