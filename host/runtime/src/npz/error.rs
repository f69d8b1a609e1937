//! What can be wrong with an `.npz` file.

use std::path::{Path, PathBuf};

use fusebox_files::ReadError;
use thiserror::Error;

/// A fault of an `.npz` file, with its place.
#[derive(Debug, Error)]
#[error("{}{fault}", place(path, *array, fault))]
pub struct NpzError {
    /// The file.
    pub path: PathBuf,
    /// Number of the array concerned, if it is one array's fault.
    pub array: Option<usize>,
    /// What is wrong.
    #[source]
    pub fault: Box<NpzFault>,
}

impl NpzError {
    pub(super) fn new(path: &Path, array: Option<usize>, fault: NpzFault) -> Self {
        NpzError { path: path.to_path_buf(), array, fault: Box::new(fault) }
    }
}

/// A file that was not read names itself.
fn place(path: &Path, array: Option<usize>, fault: &NpzFault) -> String {
    match (fault, array) {
        (NpzFault::Read(_), _) => String::new(),
        (_, Some(array)) => format!("{}, arr_{array}: ", path.display()),
        (_, None) => format!("{}: ", path.display()),
    }
}

/// What is wrong with an `.npz` file.
#[derive(Debug, Error)]
pub enum NpzFault {
    /// The file was not opened.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The container is no zip file, or a damaged one.
    #[error("not a readable .npz file ({0}); write it with numpy.savez")]
    Zip(#[from] zip::result::ZipError),
    /// The number of arrays is not the module's.
    #[error("the file holds {found} arrays, but {wanted} are wanted: one per parameter, tuples flattened")]
    Count {
        /// Arrays in the file.
        found: usize,
        /// Arrays the parameters want.
        wanted: usize,
    },
    /// An array is missing by name.
    #[error("there is no arr_{number}; the arrays must be named arr_0 to arr_{}", wanted - 1)]
    Missing {
        /// Number of the first that is missing.
        number: usize,
        /// Arrays the parameters want.
        wanted: usize,
    },
    /// An array's header cannot be understood.
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
        /// What to do, if there is something particular.
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
        /// Bytes there are.
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
    /// A parameter has a type no file can hold.
    #[error("a parameter of type opaque cannot be read from a file")]
    Opaque,
}
