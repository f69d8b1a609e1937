//! What stands under a name.

use std::fmt;
use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;

/// The kind of a file, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Bytes on a disk.
    Regular,
    /// A pipe, perhaps one with a name.
    Fifo,
    /// `/dev/null`, a terminal, …
    CharacterDevice,
    /// A disk.
    BlockDevice,
    /// A folder.
    Directory,
    /// A socket.
    Socket,
    /// Something this system has and others lack.
    Other,
}

impl FileKind {
    /// The kind in a file's metadata.
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

    /// Whether bytes come out of it one after the other, so that a program may send them to standard input instead.
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
