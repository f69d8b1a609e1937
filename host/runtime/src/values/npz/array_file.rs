//! Reads the data of an `.npy` file in an archive.

use std::io::Read;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape};

use super::NpzFault;
use super::dtype;
use super::header::Header;
use crate::values::notation::sizes;

/// Reads the data that follows a header. The header must have the element type and the dimensions
/// of `shape`. Along a dynamic dimension, the array may be smaller than `shape` states.
pub(super) fn read(source: &mut impl Read, header: &Header, shape: &ArrayShape) -> Result<ArrayLiteral, NpzFault> {
    dtype::check(&header.descriptor, shape.element_type)?;
    let found: Result<Vec<i64>, _> = header.dims.iter().map(|&size| i64::try_from(size)).collect();
    let Some(dims) = found.ok().filter(|dims| shape.admits(dims)) else {
        return Err(NpzFault::Dimensions { found: header.dims.clone(), wanted: sizes(shape, ", ") });
    };
    let shape = &ArrayShape::new(shape.element_type, dims);
    let wanted = u64::try_from(shape.byte_size()).unwrap_or(u64::MAX);
    // Read into a vector that grows with the data, because the shape may state a size that the file
    // does not have. A failed allocation is an error.
    let mut data = Vec::new();
    source.take(wanted).read_to_end(&mut data).map_err(|error| read_error(error, data.len() as u64, wanted))?;
    if (data.len() as u64) < wanted {
        return Err(NpzFault::Truncated { found: data.len() as u64, wanted });
    }
    if source.read(&mut [0u8]).map_err(|error| read_error(error, wanted, wanted))? > 0 {
        return Err(NpzFault::TooLong { wanted });
    }
    if header.fortran_order {
        data = row_major(&data, shape).ok_or(NpzFault::Memory { bytes: wanted })?;
    }
    if shape.element_type.byte_size() == 1 {
        data.iter_mut().for_each(|byte| *byte = dtype::canonical(shape.element_type, *byte));
    }
    let literal = ArrayLiteral::new(shape.element_type, shape.dims.clone(), data);
    literal.map_err(|bytes| NpzFault::Truncated { found: 0, wanted: bytes.unsigned_abs() })
}

/// Converts an error of a read. If compressed data ends too early, the decompressor reports an
/// unexpected end of file.
fn read_error(error: std::io::Error, found: u64, wanted: u64) -> NpzFault {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => NpzFault::Truncated { found, wanted },
        std::io::ErrorKind::OutOfMemory => NpzFault::Memory { bytes: wanted },
        _ => NpzFault::Io(error),
    }
}

/// Converts column-major data to row-major data; `None` if memory is short.
fn row_major(data: &[u8], shape: &ArrayShape) -> Option<Vec<u8>> {
    let size = shape.element_type.byte_size();
    let dims: Vec<usize> = shape.dims.iter().map(|&d| d as usize).collect();
    let mut result = Vec::new();
    result.try_reserve_exact(data.len()).ok()?;
    let mut index = vec![0usize; dims.len()];
    for _ in 0..data.len() / size {
        let position = index.iter().zip(&dims).rev().fold(0, |at, (&i, &d)| at * d + i);
        result.extend_from_slice(&data[position * size..(position + 1) * size]);
        for d in (0..dims.len()).rev() {
            index[d] += 1;
            if index[d] < dims[d] {
                break;
            }
            index[d] = 0;
        }
    }
    Some(result)
}
