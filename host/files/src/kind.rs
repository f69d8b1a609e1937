//! Kinds of files.

use std::fmt;
use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;

/// The kind of a file after following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file: bytes on a disk.
    Regular,
    /// A pipe, named or unnamed.
    Fifo,
    /// A character device: `/dev/null`, a terminal, …
    CharacterDevice,
    /// A block device, for example a disk.
    BlockDevice,
    /// A folder.
    Directory,
    /// A socket.
    Socket,
    /// Another kind, specific to this system.
    Other,
}

impl FileKind {
    /// Returns the kind from a file's metadata.
    pub fn of(file: FileType) -> FileKind {
        match file {
            f if f.is_file() => FileKind::Regular,
            f if f.is_fifo() => FileKind::Fifo,
            f if f.is_char_device() => FileKind::CharacterDevice,
            f if f.is_block_device() => FileKind::BlockDevice,
            f if f.is_dir() => FileKind::Directory,
            f if f.is_socket() => FileKind::Socket,
            _ => FileKind::Other,
        }
    }

    /// Whether the file is a sequential stream, which a user can also send to standard input.
    pub fn is_stream(self) -> bool {
        matches!(self, FileKind::Fifo | FileKind::CharacterDevice)
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            FileKind::Regular => "a regular file",
            FileKind::Fifo => "a FIFO",
            FileKind::CharacterDevice => "a character device",
            FileKind::BlockDevice => "a block device",
            FileKind::Directory => "a directory",
            FileKind::Socket => "a socket",
            FileKind::Other => "neither a file nor a directory",
        })
    }
}
