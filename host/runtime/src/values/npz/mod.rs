//! Reads and writes `.npz` files. The arrays have the names that `numpy.savez` uses: `arr_0`,
//! `arr_1`, and so on. The arrays of a file are the array leaves of the parameters or of the
//! result, in order. Elements of types that numpy lacks are stored as raw bytes.

mod array_file;
mod deferred_error;
mod dtype;
mod error;
mod header;

use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use fusebox_core::hlo::{ArrayShape, Literal, Shape};
use fusebox_files::{SizeLimit, WriteError};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use deferred_error::DeferredErrorWriter;
pub use error::{NpzError, NpzFault};

/// Reads the values of the parameters from a file: one literal per parameter.
///
/// # Errors
/// Fails if the file cannot be read, or if its arrays and the array leaves of the parameters differ
/// in number, type or dimensions.
pub fn read_inputs(path: &Path, parameters: &[Shape]) -> Result<Vec<Literal>, NpzError> {
    let located = |fault: NpzFault| NpzError::new(path, None, fault);
    // Accept a file of any size, because memory is allocated only for the arrays of the parameters.
    let file = fusebox_files::open(path, SizeLimit::none()).map_err(|error| located(error.into()))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| located(error.into()))?;
    let wanted: usize = parameters.iter().map(|p| p.leaves().iter().filter(|l| l.as_array().is_some()).count()).sum();
    check_names(&archive, wanted).map_err(located)?;
    let mut next = 0;
    parameters.iter().map(|shape| read_value(path, &mut archive, shape, &mut next)).collect()
}

/// Reads the sizes of the dimensions of all arrays in a file, in order.
///
/// # Errors
/// Fails if the file cannot be read, or if its arrays have other names than `arr_0`, `arr_1` and so
/// on.
pub fn read_sizes(path: &Path) -> Result<Vec<Vec<i64>>, NpzError> {
    let located = |fault: NpzFault| NpzError::new(path, None, fault);
    let file = fusebox_files::open(path, SizeLimit::none()).map_err(|error| located(error.into()))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| located(error.into()))?;
    let count = archive.len();
    check_names(&archive, count).map_err(located)?;
    let mut sizes = |number: usize| -> Result<Vec<i64>, NpzFault> {
        let header = header::read(&mut archive.by_name(&member(number))?)?;
        // A size that is too large is refused when the array is read.
        Ok(header.dims.into_iter().map(|size| i64::try_from(size).unwrap_or(i64::MAX)).collect())
    };
    (0..count).map(|number| sizes(number).map_err(|fault| NpzError::new(path, Some(number), fault))).collect()
}

/// Writes the array leaves of a result to a file. Tokens are not written.
///
/// # Errors
/// Fails if the file cannot be written. If the write fails, an existing file is unchanged.
pub fn write_outputs(path: &Path, result: &Literal) -> Result<(), WriteError> {
    fusebox_files::replace(path, |file| write_archive(BufWriter::new(file), result))
}

fn write_archive(file: impl Write + Seek, result: &Literal) -> Result<(), ZipError> {
    let mut archive = ZipWriter::new(DeferredErrorWriter::new(file));
    let leaves = result.leaves();
    for (number, array) in leaves.into_iter().filter_map(Literal::as_array).enumerate() {
        let large = array.data.len() > u32::MAX as usize - (1 << 20);
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        archive.start_file(member(number), options)?;
        archive.write_all(&header::write(array))?;
        archive.write_all(&array.data)?;
    }
    let mut file = archive.finish()?;
    file.flush()?;
    Ok(file.finish()?)
}

fn member(number: usize) -> String {
    format!("arr_{number}.npy")
}

/// Checks that the file holds `arr_0` to `arr_{wanted - 1}` and nothing else.
fn check_names<R: Read + Seek>(archive: &ZipArchive<R>, wanted: usize) -> Result<(), NpzFault> {
    let found = archive.len();
    if found != wanted {
        return Err(NpzFault::Count { found, wanted });
    }
    match (0..wanted).find(|&k| archive.index_for_name(&member(k)).is_none()) {
        Some(missing) => Err(NpzFault::Missing { number: missing, wanted }),
        None => Ok(()),
    }
}

fn read_value<R: Read + Seek>(
    path: &Path,
    archive: &mut ZipArchive<R>,
    shape: &Shape,
    next: &mut usize,
) -> Result<Literal, NpzError> {
    match shape {
        Shape::Array(array) => {
            let number = *next;
            *next += 1;
            read_array(archive, number, array).map_err(|fault| NpzError::new(path, Some(number), fault))
        }
        Shape::Tuple(elements) => {
            let elements = elements.iter().map(|element| read_value(path, archive, element, next));
            Ok(Literal::Tuple(elements.collect::<Result<_, _>>()?))
        }
        Shape::Token => Ok(Literal::Token),
        Shape::Opaque => Err(NpzError::new(path, None, NpzFault::Opaque)),
    }
}

fn read_array<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    number: usize,
    shape: &ArrayShape,
) -> Result<Literal, NpzFault> {
    let mut member = archive.by_name(&member(number))?;
    let header = header::read(&mut member)?;
    let data = array_file::read(&mut member, &header, shape)?;
    Ok(Literal::Array(data))
}

#[cfg(test)]
mod tests;
