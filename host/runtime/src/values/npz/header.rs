//! Reads and writes the header of an `.npy` file. The header is the text of a Python dictionary.

use std::io::Read;

use fusebox_core::hlo::ArrayLiteral;

use super::NpzFault;
use super::dtype;

/// The entries of a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub descriptor: String,
    /// Whether the data is column-major: the first dimension is contiguous.
    pub fortran_order: bool,
    pub dims: Vec<u64>,
}

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Maximum accepted length of a header in bytes. The headers that numpy writes have a few hundred
/// bytes.
const LONGEST: usize = 1 << 16;

fn damaged(what: impl Into<String>) -> NpzFault {
    NpzFault::Header(what.into())
}

/// Reads the header. After the call, `source` is at the start of the data.
pub(super) fn read(source: &mut impl Read) -> Result<Header, NpzFault> {
    let mut start = [0u8; 8];
    read_exactly(source, &mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(damaged("the member does not begin like an .npy file"));
    }
    let length = match start[6] {
        1 => {
            let mut length = [0u8; 2];
            read_exactly(source, &mut length)?;
            usize::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0u8; 4];
            read_exactly(source, &mut length)?;
            u32::from_le_bytes(length) as usize
        }
        version => return Err(damaged(format!("version {version} of the .npy format is not known"))),
    };
    if length > LONGEST {
        return Err(damaged(format!("it claims {length} bytes")));
    }
    let mut text = vec![0u8; length];
    read_exactly(source, &mut text)?;
    let text = String::from_utf8(text).map_err(|_| damaged("it is not text"))?;
    Scanner { rest: text.trim() }.dictionary()
}

fn read_exactly(source: &mut impl Read, buffer: &mut [u8]) -> Result<(), NpzFault> {
    source.read_exact(buffer).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
        _ => NpzFault::Io(error),
    })
}

/// Returns the header of an array, padded so that the data starts at a multiple of 64 bytes.
pub(super) fn write(array: &ArrayLiteral) -> Vec<u8> {
    let dims: String = array.dims.iter().map(|d| format!("{d}, ")).collect();
    let dims = if array.dims.len() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
    let descriptor = dtype::descriptor(array.element_type);
    let mut text = format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({dims}), }}");
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    match u16::try_from(text.len()) {
        Ok(length) => {
            bytes.extend([1, 0]);
            bytes.extend(length.to_le_bytes());
        }
        // A header is longer than this only if the array has thousands of dimensions.
        Err(_) => {
            bytes.extend([2, 0]);
            bytes.extend((text.len() as u32).to_le_bytes());
        }
    }
    bytes.extend(text.as_bytes());
    bytes
}

/// A parser for the subset of Python's syntax that headers use.
struct Scanner<'t> {
    rest: &'t str,
}

impl<'t> Scanner<'t> {
    fn dictionary(mut self) -> Result<Header, NpzFault> {
        let (mut descriptor, mut fortran_order, mut dims) = (None, None, None);
        self.expect('{')?;
        while !self.accept('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => descriptor = Some(self.descriptor()?),
                "fortran_order" => fortran_order = Some(self.truth()?),
                "shape" => dims = Some(self.dims()?),
                key => return Err(damaged(format!("the key '{key}' is not known"))),
            }
            if !self.accept(',') {
                self.expect('}')?;
                break;
            }
        }
        match (descriptor, fortran_order, dims) {
            (Some(descriptor), Some(fortran_order), Some(dims)) => Ok(Header { descriptor, fortran_order, dims }),
            _ => Err(damaged("descr, fortran_order or shape is missing")),
        }
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), NpzFault> {
        if self.accept(wanted) { Ok(()) } else { Err(damaged(format!("'{wanted}' is missing before {:?}", self.rest))) }
    }

    fn string(&mut self) -> Result<&'t str, NpzFault> {
        let quote = if self.accept('\'') {
            '\''
        } else {
            self.expect('"')?;
            '"'
        };
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| damaged("a string does not end"))?;
        self.rest = rest;
        Ok(text)
    }

    fn descriptor(&mut self) -> Result<String, NpzFault> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('[') {
            return Err(damaged("records (structured dtypes) are not supported"));
        }
        Ok(self.string()?.to_string())
    }

    fn truth(&mut self) -> Result<bool, NpzFault> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(damaged("fortran_order is neither True nor False"))
    }

    fn dims(&mut self) -> Result<Vec<u64>, NpzFault> {
        let mut dims = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            self.rest = self.rest.trim_start();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.rest.split_at(digits);
            dims.push(number.parse().map_err(|_| damaged(format!("{:?} is no size", self.rest)))?);
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(dims)
    }
}
