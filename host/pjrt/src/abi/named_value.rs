//! Values with names: attributes, options, properties.

use super::types::{Header, List, Text};
use crate::error::{Answer, Error};

/// A name with a value. The memory of a text or list must stay valid for as long as the interface
/// requires.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NamedValue {
    header: Header,
    name: Text,
    kind: i32,
    /// The value itself, or the address of a text or a list.
    value: u64,
    /// Length of a text or a list, else 1.
    count: usize,
}

// SAFETY: the library makes named values only from data that lives as long as the library, or as
// long as the named values.
unsafe impl Send for NamedValue {}
// SAFETY: as above, and named values do not change.
unsafe impl Sync for NamedValue {}

/// A value that a caller passes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Integers(Vec<i64>),
    Float(f32),
    Bool(bool),
}

impl NamedValue {
    fn new(name: &'static str, kind: i32, value: u64, count: usize) -> NamedValue {
        NamedValue { header: Header::of(size_of::<NamedValue>()), name: Text::of(name), kind, value, count }
    }

    /// Returns an integer with a name.
    pub fn integer(name: &'static str, value: i64) -> NamedValue {
        NamedValue::new(name, 1, value as u64, 1)
    }

    /// Returns integers with a name.
    pub fn integers(name: &'static str, values: &'static [i64]) -> NamedValue {
        NamedValue::new(name, 2, values.as_ptr() as u64, values.len())
    }

    /// Returns a float with a name.
    pub fn float(name: &'static str, value: f32) -> NamedValue {
        NamedValue::new(name, 3, value.to_bits().into(), 1)
    }

    /// Reads a caller's name and value.
    pub fn read(&self) -> Answer<(String, Value)> {
        let name = self.name.text()?;
        let value = match self.kind {
            0 => Value::Text(self.as_text().text()?),
            1 => Value::Integer(self.value as i64),
            2 => Value::Integers(self.as_list().elements()?.to_vec()),
            3 => Value::Float(f32::from_bits(self.value as u32)),
            4 => Value::Bool(self.value & 0xFF != 0),
            kind => return Err(Error::misuse(format!("the value {name} has the unknown kind {kind}"))),
        };
        Ok((name, value))
    }

    fn as_text(&self) -> Text {
        Text::at(self.value as *const u8, self.count)
    }

    fn as_list(&self) -> List<i64> {
        List::at(self.value as *const i64, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::{NamedValue, Value};

    #[test]
    fn values_are_read_as_they_are_written() {
        assert_eq!(size_of::<NamedValue>(), 56);
        let read = |value: NamedValue| value.read().unwrap().1;
        assert_eq!(read(NamedValue::new("a", 0, "b".as_ptr() as u64, 1)), Value::Text("b".into()));
        assert_eq!(read(NamedValue::integer("a", -3)), Value::Integer(-3));
        assert_eq!(read(NamedValue::integers("a", &[1, 2])), Value::Integers(vec![1, 2]));
        assert_eq!(read(NamedValue::float("a", 0.5)), Value::Float(0.5));
    }
}
