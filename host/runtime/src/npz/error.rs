//! Faults of `.npz` files.

use std::path::{Path, PathBuf};

use fusebox_files::ReadError;
use thiserror::Error;

/// A fault of an `.npz` file, with the file and the array.
#[derive(Debug, Error)]
#[error("{}{fault}", place(path, *array, fault))]
pub struct NpzError {
    /// The file.
    pub path: PathBuf,
    /// Number of the array, if the fault concerns a single array.
    pub array: Option<usize>,
    /// The fault.
    #[source]
    pub fault: Box<NpzFault>,
}

impl NpzError {
    pub(super) fn new(path: &Path, array: Option<usize>, fault: NpzFault) -> Self {
        NpzError { path: path.to_path_buf(), array, fault: Box::new(fault) }
    }
}

/// Returns the error's prefix: file and array. A read error already names the file.
fn place(path: &Path, array: Option<usize>, fault: &NpzFault) -> String {
    match (fault, array) {
        (NpzFault::Read(_), _) => String::new(),
        (_, Some(array)) => format!("{}, arr_{array}: ", path.display()),
        (_, None) => format!("{}: ", path.display()),
    }
}

/// A fault of an `.npz` file.
#[derive(Debug, Error)]
pub enum NpzFault {
    /// The file cannot be opened.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The container is no zip file or is damaged.
    #[error("not a readable .npz file ({0}); write it with numpy.savez")]
    Zip(#[from] zip::result::ZipError),
    /// The file has another number of arrays than the module has parameter arrays.
    #[error("the file holds {found} arrays, but {wanted} are wanted: one per parameter, tuples flattened")]
    Count {
        /// Arrays in the file.
        found: usize,
        /// Arrays the parameters want.
        wanted: usize,
    },
    /// An array name is missing.
    #[error("there is no arr_{number}; the arrays must be named arr_0 to arr_{}", wanted - 1)]
    Missing {
        /// Number of the first missing array.
        number: usize,
        /// Arrays the parameters want.
        wanted: usize,
    },
    /// An array's header cannot be parsed.
    #[error("damaged .npy header: {0}")]
    Header(String),
    /// An array has another type than its parameter.
    #[error("dtype {found} was found, but {wanted} is wanted for {element_type}{hint}")]
    Type {
        /// The dtype in the file.
        found: String,
        /// The dtype that would fit.
        wanted: String,
        /// The parameter's element type.
        element_type: String,
        /// Advice for this fault; may be empty.
        hint: &'static str,
    },
    /// An array has other dimensions than its parameter.
    #[error("shape {found:?} was found, but [{wanted}] is wanted")]
    Dimensions {
        /// Dimensions in the file.
        found: Vec<u64>,
        /// Dimensions of the parameter.
        wanted: String,
    },
    /// An array has fewer bytes than its shape needs.
    #[error("the file ends after {found} of {wanted} bytes of data")]
    Truncated {
        /// Bytes in the file.
        found: u64,
        /// Bytes the shape needs.
        wanted: u64,
    },
    /// Memory is short.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// An array has more bytes than its shape needs.
    #[error("there is more data than the {wanted} bytes of the shape")]
    TooLong {
        /// Bytes the shape needs.
        wanted: u64,
    },
    /// A parameter has a type that no file can hold.
    #[error("a parameter of type opaque cannot be read from a file")]
    Opaque,
}
