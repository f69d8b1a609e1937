//! What operations take and give.

use super::buffer::Buffer;

/// A value. Its type says what its bits mean.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The bits of an integer, an index or a float.
    Word(u128),
    /// Lanes of a vector, both parts of a complex number, or a tile row by row.
    Words(Vec<u128>),
    /// The memory of a tensor, or where a pointer points.
    Memory(Buffer),
}

impl Value {
    /// The bits of one number.
    pub(super) fn word(&self) -> u128 {
        self.words().first().copied().unwrap_or(0)
    }

    /// The bits of all that it is made of.
    pub(super) fn words(&self) -> &[u128] {
        match self {
            Value::Word(word) => std::slice::from_ref(word),
            Value::Words(words) => words,
            Value::Memory(_) => &[],
        }
    }

    /// An index.
    pub(super) fn index(&self) -> i64 {
        self.word() as i64
    }

    pub(super) fn of_index(index: i64) -> Value {
        Value::Word(u128::from(index as u64))
    }

    /// One word, or several.
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
