//! Errors of reading `.npz` files.

use std::path::{Path, PathBuf};

use fusebox_files::ReadError;
use thiserror::Error;

/// A fault of an `.npz` file, and the file and the array that have the fault.
#[derive(Debug, Error)]
#[error("{}{fault}", place(path, *array, fault))]
pub struct NpzError {
    /// Path of the file.
    pub path: PathBuf,
    /// Index of the array in the file, if the fault concerns a single array.
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

/// Returns the start of the error message, which names the file and the array. Returns an empty
/// text for a [`ReadError`], whose message already names the file.
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
    /// The file is not a zip file, or it is damaged.
    #[error("not a readable .npz file ({0}); write it with numpy.savez")]
    Zip(#[from] zip::result::ZipError),
    /// The number of arrays in the file differs from the number of array leaves of the module's
    /// parameters.
    #[error("the file holds {found} arrays, but the module needs {wanted}: one per parameter, with tuples flattened")]
    Count {
        /// Number of arrays in the file.
        found: usize,
        /// Number of array leaves of the parameters.
        wanted: usize,
    },
    /// A required array is missing in the file.
    #[error("there is no arr_{number}; the arrays must be named arr_0 to arr_{}", wanted - 1)]
    Missing {
        /// Index of the first missing array.
        number: usize,
        /// Number of array leaves of the parameters.
        wanted: usize,
    },
    /// An array's header cannot be parsed.
    #[error("damaged .npy header: {0}")]
    Header(String),
    /// The type of an array differs from the type of its parameter.
    #[error("the array has dtype {found}, but {element_type} needs dtype {wanted}{hint}")]
    Type {
        /// The dtype in the file.
        found: String,
        /// The dtype that the parameter needs.
        wanted: String,
        /// The parameter's element type.
        element_type: String,
        /// Advice for this fault; may be empty.
        hint: &'static str,
    },
    /// The dimensions of an array differ from the dimensions of its parameter.
    #[error("the array has shape {found:?}, but the module needs shape [{wanted}]")]
    Dimensions {
        /// Dimensions in the file.
        found: Vec<u64>,
        /// Dimensions of the parameter.
        wanted: String,
    },
    /// An array has fewer bytes than its shape needs.
    #[error("the file ends after {found} of {wanted} bytes of data")]
    Truncated {
        /// Number of bytes in the file.
        found: u64,
        /// Number of bytes that the shape needs.
        wanted: u64,
    },
    /// Memory is short.
    #[error("{bytes} bytes of memory are not available")]
    Memory {
        /// Number of bytes requested.
        bytes: u64,
    },
    /// An array has more bytes than its shape needs.
    #[error("the array has more data than the {wanted} bytes that its shape needs")]
    TooLong {
        /// Number of bytes that the shape needs.
        wanted: u64,
    },
    /// A parameter has the type `opaque`, whose values no file can hold.
    #[error("a parameter of type opaque cannot be read from a file")]
    Opaque,
}
