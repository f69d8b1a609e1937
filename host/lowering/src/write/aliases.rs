//! Selects the buffers that are marked `noalias` for LLVM.

/// A kernel's buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) no_alias: bool,
    pub(super) read_only: bool,
}

/// Decides for each buffer whether to mark it `noalias`, which means that the buffer overlaps no
/// other buffer.
///
/// Reads never conflict. If no written buffer overlaps another buffer, it suffices to mark the
/// written buffers. LLVM attaches a list to each access, with the marked buffers that the access
/// does not touch. LLVM then compares the lists of each pair of accesses. If all buffers are
/// marked, the time of these comparisons grows with the cube of the number of buffers.
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
