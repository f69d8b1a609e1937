//! Buffers that LLVM is told to overlap no others.

/// A kernel's buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) no_alias: bool,
    pub(super) read_only: bool,
}

/// Per buffer, whether LLVM is told that it overlaps no others.
///
/// Reads never conflict: where all written buffers are known to overlap no others, that says all.
/// Each access carries a list of the buffers named here that it does not touch, and LLVM compares the
/// lists of pairs of accesses: naming all takes time that grows with the cube of their number.
pub(super) fn named(buffers: &[Buffer]) -> Vec<bool> {
    let writes_suffice = buffers.iter().all(|it| it.read_only || it.no_alias);
    buffers.iter().map(|it| it.no_alias && !(it.read_only && writes_suffice)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Buffer = Buffer { no_alias: true, read_only: true };
    const WRITTEN: Buffer = Buffer { no_alias: true, read_only: false };
    const SHARED: Buffer = Buffer { no_alias: false, read_only: false };

    #[test]
    fn what_is_only_read_is_named_where_a_write_is_not() {
        assert_eq!(named(&[READ, READ, WRITTEN]), [false, false, true]);
        assert_eq!(named(&[READ, SHARED, WRITTEN]), [true, false, true]);
        assert_eq!(named(&[READ, READ]), [false, false]);
    }
}
