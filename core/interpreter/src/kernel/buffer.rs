//! Memory of a kernel, accessible to all its threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fusebox_core::ir::Scalar;

use super::word::unsigned;

/// Value of every byte that no thread has written. Numbers that consist of unwritten bytes are
/// large, and are not valid results.
const UNWRITTEN: u8 = 0xa5;

/// Bytes in memory. Clones of a buffer refer to the same bytes.
#[derive(Clone, Debug)]
pub(super) struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    pub(super) fn of(bytes: Vec<u8>) -> Buffer {
        Buffer(Arc::new(Mutex::new(bytes)))
    }

    pub(super) fn unwritten(bytes: usize) -> Buffer {
        Buffer::of(vec![UNWRITTEN; bytes])
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the current bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.lock().clone()
    }

    /// Reads `count` contiguous elements, the first at byte `at`. The error describes an access out
    /// of bounds.
    pub(super) fn read(&self, at: i64, element: Scalar, count: usize) -> Result<Vec<u128>, String> {
        let bytes = self.lock();
        let range = range(bytes.len(), at, element, count)?;
        let size = element.byte_size() / parts(element);
        let words = bytes[range].chunks(size.max(1));
        Ok(words
            .map(|bytes| taken(bytes.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte)), element))
            .collect())
    }

    /// Writes contiguous elements, the first at byte `at`.
    pub(super) fn write(&self, at: i64, element: Scalar, words: &[u128]) -> Result<(), String> {
        let mut bytes = self.lock();
        let range = range(bytes.len(), at, element, words.len() / parts(element))?;
        let size = element.byte_size() / parts(element);
        for (bytes, word) in bytes[range].chunks_mut(size.max(1)).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes()[..size]);
        }
        Ok(())
    }
}

/// Returns the number of words that hold an element: two for complex numbers.
pub(super) fn parts(element: Scalar) -> usize {
    if matches!(element, Scalar::Complex(_)) { 2 } else { 1 }
}

/// Clears the unused bits of an element that does not fill its bytes. An `i1` is true if any bit of
/// its byte is set.
fn taken(word: u128, element: Scalar) -> u128 {
    match element {
        Scalar::Int(1) => u128::from(word != 0),
        Scalar::Int(bits) => unsigned(word, bits),
        _ => word,
    }
}

fn range(size: usize, at: i64, element: Scalar, count: usize) -> Result<std::ops::Range<usize>, String> {
    let bytes = count.checked_mul(element.byte_size());
    let range = usize::try_from(at).ok().and_then(|start| Some(start..start.checked_add(bytes?)?));
    match range {
        Some(range) if range.end <= size => Ok(range),
        _ => Err(format!("{count} {element} from byte {at} on are not in memory of {size} bytes")),
    }
}
