//! Copies to shared memory that proceed while the thread continues: `cp.async`.

use super::memory::{ADVICE, checked_space, take_all};
use super::reader::Reader;
use crate::code::{Access, AsyncCopy, CopyStep, Kind};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::Type;

/// `cp`.
pub fn step(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("async") {
        return reader.unknown();
    }
    reader.needs(80, 70)?;
    let step = match reader.peek() {
        Some("commit_group") => {
            reader.choose(&[("commit_group", ())]);
            reader.finish(0)?;
            CopyStep::Commit
        }
        Some("wait_all") => {
            reader.choose(&[("wait_all", ())]);
            reader.finish(0)?;
            CopyStep::WaitAll
        }
        Some("wait_group") => {
            reader.choose(&[("wait_group", ())]);
            reader.finish(1)?;
            CopyStep::Wait(u32::try_from(reader.integer(0)?).unwrap_or(0))
        }
        _ => CopyStep::Start(Box::new(copy(reader)?)),
    };
    Ok(Kind::Copy(step))
}

fn copy(reader: &mut Reader) -> Result<AsyncCopy, LoadError> {
    let is_past_first_cache = reader.require(&[("ca", false), ("cg", true)])?;
    reader.require(&[("shared", ()), ("shared::cta", ())])?;
    reader.require(&[("global", ())])?;
    take_all(reader, &ADVICE);
    reader.finish_between(3, 4)?;
    let bytes = match reader.integer(2)? {
        bytes @ (4 | 8 | 16) if !is_past_first_cache || bytes == 16 => bytes as u32,
        bytes => return reader.error(format!("cp.async does not copy {bytes} bytes")),
    };
    let place = |reader: &mut Reader, number: usize, space: Space| {
        let (base, offset, of_variable) = reader.address(number)?;
        checked_space(reader, Some(space), of_variable)?;
        Ok(Access::plain(Some(space), bytes, base, offset))
    };
    let (to, from) = (place(reader, 0, Space::Shared)?, place(reader, 1, Space::Global)?);
    let has_size = reader.instruction.operands.len() == 4;
    let read_bytes = if has_size { Some(reader.source(3, Type::U(32))?) } else { None };
    Ok(AsyncCopy { to, from, read_bytes })
}
