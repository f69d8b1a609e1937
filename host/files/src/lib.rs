//! Reads and writes the user's files. No other crate of fusebox opens or writes the user's files.
//!
//! Reads only regular files of bounded size, so that reading neither blocks nor fills memory.
//! Writing replaces the old file as a whole or not at all.
//!
//! ```text
//! limit     maximum sizes of files            replace   a draft, then renamed to the file's path
//! kind      FIFO, device, directory, …        direct    FIFOs and devices, which cannot be replaced
//! read      open, read, read a stream         target    the resolved path of an output
//! store     a folder of entries that can be recreated
//! key       keys and file names of a store's entries
//! folder    a folder that is written as a whole
//! damaged   renames a damaged file
//! guard     no output of a run replaces a file that the run reads
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod damaged;
mod direct;
mod error;
mod fill;
mod folder;
mod guard;
mod key;
mod kind;
mod limit;
mod output_target;
mod read;
mod replace;
mod store;

pub use damaged::set_aside;
pub use error::{ReadError, StoreError, WriteError};
pub use folder::{NewFolder, check_folder};
pub use guard::{check_output, keep_inputs, will_read};
pub use key::Key;
pub use kind::FileKind;
pub use limit::{BadSize, SizeLimit};
pub use read::{open, read, read_stream};
pub use replace::{replace, rewrite, write};
pub use store::Store;
