//! Operands and results of operations.

use super::buffer::Buffer;

/// A value. The type of a value determines the meaning of the value's bits.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The bits of an integer, an index or a float.
    Word(u128),
    /// The lanes of a vector, both parts of a complex number, or the elements of a tile, row by
    /// row.
    Words(Vec<u128>),
    /// The memory of a tensor, or the memory that a pointer points to.
    Memory(Buffer),
}

impl Value {
    /// Returns the bits of a single number.
    pub(super) fn word(&self) -> u128 {
        self.words().first().copied().unwrap_or(0)
    }

    /// Returns the bits of all elements of the value.
    pub(super) fn words(&self) -> &[u128] {
        match self {
            Value::Word(word) => std::slice::from_ref(word),
            Value::Words(words) => words,
            Value::Memory(_) => &[],
        }
    }

    /// Returns the value as an index.
    pub(super) fn index(&self) -> i64 {
        self.word() as i64
    }

    pub(super) fn of_index(index: i64) -> Value {
        Value::Word(u128::from(index as u64))
    }

    /// Creates a value from one word or from several words.
    pub(super) fn of_words(mut words: Vec<u128>, is_scalar: bool) -> Value {
        match words.pop() {
            Some(word) if is_scalar && words.is_empty() => Value::Word(word),
            last => {
                words.extend(last);
                Value::Words(words)
            }
        }
    }
}
