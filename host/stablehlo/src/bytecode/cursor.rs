//! Reads numbers of MLIR's bytecode from a range of bytes.

use crate::StablehloError;

/// Reads from a range of an artifact. Offsets in errors count from the start of the artifact.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    artifact: &'a Artifact<'a>,
    position: usize,
    end: usize,
}

/// The bytes of an artifact and the name of its file.
pub(super) struct Artifact<'a> {
    pub bytes: &'a [u8],
    pub file: &'a str,
}

pub(super) type Read<T> = Result<T, StablehloError>;

impl<'a> Artifact<'a> {
    pub(super) fn cursor(&'a self) -> Cursor<'a> {
        Cursor { artifact: self, position: 0, end: self.bytes.len() }
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.position == self.end
    }

    pub(super) fn remaining(&self) -> usize {
        self.end - self.position
    }

    pub(super) fn error(&self, message: impl Into<String>) -> StablehloError {
        StablehloError::Damaged { file: self.artifact.file.to_owned(), offset: self.position, message: message.into() }
    }

    /// Returns a cursor over the next `size` bytes, and skips these bytes.
    pub(super) fn part(&mut self, size: usize) -> Read<Cursor<'a>> {
        if size > self.remaining() {
            return Err(self.error(format!("{size} bytes follow, but {} are left", self.remaining())));
        }
        let part = Cursor { position: self.position, end: self.position + size, ..*self };
        self.position = part.end;
        Ok(part)
    }

    pub(super) fn bytes(&mut self, size: usize) -> Read<&'a [u8]> {
        let part = self.part(size)?;
        Ok(&self.artifact.bytes[part.position..part.end])
    }

    /// Reads the bytes before the next zero byte, and skips that byte.
    pub(super) fn until_zero(&mut self) -> Read<&'a [u8]> {
        let rest = &self.artifact.bytes[self.position..self.end];
        let size = rest.iter().position(|&byte| byte == 0).ok_or_else(|| self.error("the text has no end"))?;
        self.position += size + 1;
        Ok(&rest[..size])
    }

    pub(super) fn byte(&mut self) -> Read<u8> {
        Ok(self.bytes(1)?[0])
    }

    /// Skips bytes until the position is a multiple of `alignment`.
    pub(super) fn align(&mut self, alignment: u64) -> Read<()> {
        const PADDING: u8 = 0xCB;
        if alignment == 0 {
            return Err(self.error("an alignment of zero"));
        }
        while !(self.position as u64).is_multiple_of(alignment) {
            if self.byte()? != PADDING {
                return Err(self.error("the padding before an aligned section has another byte than 0xCB"));
            }
        }
        Ok(())
    }

    /// Reads a number of variable length. The number of trailing zero bits in the first byte is the
    /// number of further bytes. If the first byte is zero, the next eight bytes are the number.
    pub(super) fn number(&mut self) -> Read<u64> {
        let first = self.byte()?;
        let further = if first == 0 { 8 } else { first.trailing_zeros() as usize };
        let mut value = [0u8; 8];
        let rest = self.bytes(further)?;
        if first == 0 {
            value.copy_from_slice(rest);
            return Ok(u64::from_le_bytes(value));
        }
        value[0] = first;
        value[1..=further].copy_from_slice(rest);
        Ok(u64::from_le_bytes(value) >> (further + 1))
    }

    /// Reads a signed number. The lowest bit of its encoding is the sign.
    pub(super) fn signed(&mut self) -> Read<i64> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a number whose lowest bit is a flag. Returns the number without the flag, and the
    /// flag.
    pub(super) fn flagged(&mut self) -> Read<(u64, bool)> {
        let value = self.number()?;
        Ok((value >> 1, value & 1 == 1))
    }

    /// Reads the number of the items that follow, each of at least `bytes` bytes. Fails if the
    /// following bytes are too few for this number of items, so that a damaged count cannot reserve
    /// much memory.
    pub(super) fn count_of(&mut self, bytes: usize) -> Read<usize> {
        let count = self.number()?;
        self.checked_count(count, bytes)
    }

    pub(super) fn checked_count(&self, count: u64, bytes: usize) -> Read<usize> {
        let most = self.remaining() / bytes.max(1);
        match usize::try_from(count) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(self.error(format!("{count} items follow, but there is room for {most}"))),
        }
    }

    /// Reads an index into a list of `count` items.
    pub(super) fn index(&mut self, count: usize, list: &str) -> Read<usize> {
        let index = self.number()?;
        self.checked_index(index, count, list)
    }

    pub(super) fn checked_index(&self, index: u64, count: usize, list: &str) -> Read<usize> {
        usize::try_from(index)
            .ok()
            .filter(|&index| index < count)
            .ok_or_else(|| self.error(format!("item {index} of {count} {list}")))
    }

    /// Reads a list whose items take at least one byte each.
    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.count_of(1)?;
        (0..count).map(|_| item(self)).collect()
    }

    pub(super) fn signed_list(&mut self) -> Read<Vec<i64>> {
        self.list(Cursor::signed)
    }

    /// Checks that the cursor has read all its bytes.
    pub(super) fn finish(&self, content: &str) -> Read<()> {
        if self.is_empty() { Ok(()) } else { Err(self.error(format!("{} bytes follow {content}", self.remaining()))) }
    }
}
