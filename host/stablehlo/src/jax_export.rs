//! Reads the files that `jax.export` writes: a FlatBuffers table that contains the program and
//! JAX's information about the program (<https://flatbuffers.dev/internals/>).

use crate::StablehloError;
use crate::bytecode::is_bytecode;

/// Number of the table's field that contains the program.
const PROGRAM: usize = 13;

/// Returns the portable artifact in a file that `jax.export` wrote. Returns `None` for any other
/// bytes.
pub fn artifact_in_export(bytes: &[u8]) -> Option<&[u8]> {
    let root = word(bytes, 0)?;
    artifact(bytes, root).filter(|artifact| is_bytecode(artifact))
}

/// Returns the portable artifact in a file that `jax.export` wrote.
///
/// # Errors
/// Fails if the bytes are not a file of `jax.export`, or contain no program.
pub fn read_export<'b>(bytes: &'b [u8], file: &str) -> Result<&'b [u8], StablehloError> {
    artifact_in_export(bytes).ok_or_else(|| StablehloError::Damaged {
        file: file.to_owned(),
        offset: 0,
        message: "this is not a file of jax.export, or it has no program".into(),
    })
}

/// Returns the bytes of the program in the table at the position `table`.
fn artifact(bytes: &[u8], table: usize) -> Option<&[u8]> {
    let to_fields = i32::from_le_bytes(at(bytes, table)?);
    let fields = usize::try_from(i64::try_from(table).ok()? - i64::from(to_fields)).ok()?;
    // The list of fields begins with its own size and the table's size.
    let size = usize::from(u16::from_le_bytes(at(bytes, fields)?));
    let entry = 4 + 2 * PROGRAM;
    if entry + 2 > size {
        return None;
    }
    let offset = usize::from(u16::from_le_bytes(at(bytes, fields.checked_add(entry)?)?));
    if offset == 0 {
        return None;
    }
    let field = table.checked_add(offset)?;
    let list = field.checked_add(word(bytes, field)?)?;
    let begin = list.checked_add(4)?;
    bytes.get(begin..begin.checked_add(word(bytes, list)?)?)
}

fn word(bytes: &[u8], position: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(at(bytes, position)?)).ok()
}

fn at<const N: usize>(bytes: &[u8], position: usize) -> Option<[u8; N]> {
    bytes.get(position..position.checked_add(N)?)?.try_into().ok()
}
