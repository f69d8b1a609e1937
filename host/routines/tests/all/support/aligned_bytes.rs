//! Memory for arguments and results.

use fusebox_routines::ALIGNMENT;

/// Bytes with the alignment that routines require.
pub struct AlignedBytes {
    /// Holds the bytes from its first aligned address on.
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBytes {
    /// Copies bytes to aligned memory.
    pub fn new(bytes: &[u8]) -> AlignedBytes {
        let memory = vec![0; bytes.len() + ALIGNMENT - 1];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        let mut aligned = AlignedBytes { memory, start, length: bytes.len() };
        aligned.bytes_mut().copy_from_slice(bytes);
        aligned
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..self.length]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.length]
    }
}
