//! Immutable bytes, which all clones share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Immutable bytes. A clone refers to the same memory. This type wraps a vector without copying its
/// elements. A conversion of the vector to `Arc<[u8]>` would copy the elements and need further
/// memory.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(Arc<Vec<u8>>);

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(Arc::new(bytes))
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl<const N: usize> From<[u8; N]> for Bytes {
    fn from(bytes: [u8; N]) -> Self {
        bytes.to_vec().into()
    }
}

impl FromIterator<u8> for Bytes {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        bytes.into_iter().collect::<Vec<u8>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn a_vector_is_taken_over_and_shared() {
        let vector = vec![1u8, 2, 3];
        let place = vector.as_ptr();
        let bytes = Bytes::from(vector);
        assert_eq!((bytes.as_ptr(), bytes.clone().as_ptr()), (place, place));
        assert_eq!(bytes[..], [1, 2, 3]);
    }
}
