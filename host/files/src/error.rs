//! Reasons why a file was not read or not written.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::{FileKind, SizeLimit};

/// Reason why a file was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file does not exist.
    #[error("cannot read {}: there is no such file", path.display())]
    NotFound {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is not a regular file. This crate opens only regular files, because a FIFO may
    /// block for ever and a device may supply bytes without end.
    #[error("cannot read {}: it is {kind}, and only regular files are read{}", path.display(), stream_advice(*kind))]
    NotRegular {
        /// Path of the file.
        path: PathBuf,
        /// The kind of the file.
        kind: FileKind,
    },
    /// The file exceeds the size limit.
    #[error("cannot read {}: it is larger than {limit} bytes; {} SIZE raises the limit, `none` lifts it",
        path.display(), SizeLimit::FLAG)]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Maximum number of bytes allowed.
        limit: u64,
    },
    /// The file does not fit into memory.
    #[error("cannot read {}: memory is short after {bytes} bytes", path.display())]
    Memory {
        /// Path of the file.
        path: PathBuf,
        /// Number of bytes that were read before memory ran out, or that could not be allocated.
        bytes: u64,
    },
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

fn stream_advice(kind: FileKind) -> &'static str {
    if kind.is_stream() { "; where `-` is taken, send it to standard input" } else { "" }
}

/// Reason why a file was not written. An existing file is unchanged, unless the variant says
/// otherwise.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The path is a directory.
    #[error("cannot write {}: it is a directory; name a file in it", path.display())]
    Directory {
        /// Path of the file.
        path: PathBuf,
    },
    /// The output is an input of the same run.
    #[error("{} is the same file as the input {}; name another file for the output", path.display(), input.display())]
    IsInput {
        /// Path of the output.
        path: PathBuf,
        /// Path of the input.
        input: PathBuf,
    },
    /// The output is an entry of a store that the run uses.
    #[error("{} would be an entry of the cache that this run uses; name another file for the output", path.display())]
    InStore {
        /// Path of the output.
        path: PathBuf,
    },
    /// The folder is not empty.
    #[error("the folder {} is not empty; name another one, or write into it with --force", path.display())]
    Occupied {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The path must be a folder, but is another kind of file.
    #[error("cannot write a folder to {}: it is {kind}", path.display())]
    NoFolder {
        /// Path of the output.
        path: PathBuf,
        /// The kind of the file.
        kind: FileKind,
    },
    /// The path is invalid: a folder is missing, or links form a cycle.
    #[error("cannot write {}: {source}", path.display())]
    Path {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file exists and may not be written.
    #[error("cannot write {}: {source}; the file was left as it is", path.display())]
    Protected {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No new file can be created in the directory of the path.
    #[error("cannot write {}: no file can be made in the directory {}: {source}", path.display(), folder.display())]
    Folder {
        /// Path of the file.
        path: PathBuf,
        /// Path of the file's directory.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The new file could not be completed, and was removed.
    #[error("cannot write {}: {source} ({step}); what was there before is untouched", path.display())]
    Draft {
        /// Path of the file.
        path: PathBuf,
        /// The step that failed.
        step: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The new file is written, but the system could not save it to disk.
    #[error("{} is written, but {} could not be saved to disk: {source}; a power cut may undo it", path.display(),
        folder.display())]
    Unconfirmed {
        /// Path of the file.
        path: PathBuf,
        /// Path of the file's directory.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A FIFO or device did not accept all bytes. The FIFO or device may have received some of the
    /// bytes.
    #[error("cannot write {}, which is {kind}: {source}", path.display())]
    Stream {
        /// Path of the file.
        path: PathBuf,
        /// The kind of the file.
        kind: FileKind,
        /// The system's reason.
        source: io::Error,
    },
}

impl WriteError {
    /// Whether the error is in the command line, not in the file system.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            WriteError::IsInput { .. }
                | WriteError::InStore { .. }
                | WriteError::Occupied { .. }
                | WriteError::NoFolder { .. }
        )
    }
}

/// Reason why a [`Store`](crate::Store) cannot be used, or does not store an entry.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder cannot be created or read.
    #[error("cannot use the folder {}: {source}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The folder belongs to another user.
    #[error("cannot use the folder {}: it belongs to another user, who would decide what is found there", path.display())]
    Foreign {
        /// Path of the folder.
        path: PathBuf,
    },
    /// Other users may write to the folder.
    #[error("cannot use the folder {path}: other users may write to it, and would decide what is found there; \
        `chmod go-w {path}` keeps them out", path = path.display())]
    Shared {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A single entry exceeds the limit.
    #[error("nothing is kept in {}: it has {bytes} bytes, which is more than {limit}", path.display())]
    TooLarge {
        /// Path of the folder.
        path: PathBuf,
        /// Size of the entry in bytes.
        bytes: u64,
        /// The size limit of the store.
        limit: SizeLimit,
    },
    /// An entry cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
