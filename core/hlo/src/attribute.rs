//! Describes how attributes are written in HLO text and in protobuf messages. The table of
//! operations consists of these descriptions.
//!
//! ```text
//! dimension: i64 = needed("iota_dimension", |m| …),   // `iota_dimension=0`, and a field of the message
//! to_apply: ComputationId = Callee("to_apply"),       // `to_apply=sum`, and the message's next computation
//! ```
//!
//! Each description implements [`Describes`]. A [`Reader`] reads operations; a [`Writer`] writes or
//! inspects them.

use super::ids::ComputationId;
use super::literal::Literal;
use super::message::Instruction as Message;
use super::text::lexer::Cursor;
use super::text::source::Parse;

/// Whether an attribute is written, and its default value.
pub(crate) enum Presence<T> {
    /// Always written. Reading fails if the attribute is missing.
    Needed,
    /// Always written. This value is the default if the attribute is missing.
    Assumed(T),
    /// The attribute is written unless the value equals this default.
    Unless(T),
    /// Not written as an attribute. HLO text contains the value between the operation's
    /// parentheses.
    Content,
}

/// A value that HLO text can contain.
pub(crate) trait InText: Sized {
    /// Reads the value of the attribute `name`.
    fn read(value: &mut Cursor, name: &str) -> Parse<Self>;
    fn write(&self, out: &mut String);
}

/// A value that a message can hold in a field, or in a part of a field.
#[cfg(feature = "proto")]
pub(crate) trait InField<Field>: Sized {
    fn get(field: &mut Field) -> Result<Self, String>;
    fn set(&self, field: &mut Field);
}

/// Without the feature `proto`, no code reads or writes fields of messages.
#[cfg(not(feature = "proto"))]
pub(crate) trait InField<Field> {}

#[cfg(not(feature = "proto"))]
impl<T, Field> InField<Field> for T {}

/// A function that returns a reference to the place where a message stores a value: a field, or a
/// part of a field.
pub(crate) type Place<F> = fn(&mut Message) -> &mut F;

/// An attribute that is neither a computation nor a group of other attributes.
pub(crate) struct Attribute<T, Field> {
    pub name: &'static str,
    pub presence: Presence<T>,
    pub read: fn(&mut Cursor<'_>, &str) -> Parse<T>,
    pub write: fn(&T, &mut String),
    #[cfg_attr(not(feature = "proto"), expect(dead_code, reason = "only protobuf reads it"))]
    pub field: Place<Field>,
}

/// An attribute whose value is one computation. Field 0 is the attribute's name.
pub(crate) struct Callee(pub &'static str);

/// An attribute whose value is a list of computations. Field 0 is the attribute's name. Field 1 is
/// true if the list must have at least one entry.
pub(crate) struct Callees(pub &'static str, pub bool);

/// Description of a struct that consists of attributes.
pub(crate) struct All;

/// All attributes of one operation, for operations whose attributes fusebox keeps as text.
pub(crate) struct Kept {
    /// The computations that the attributes name, with the attributes' names.
    pub called: Vec<(String, Vec<ComputationId>)>,
    /// All other attributes, as pairs of name and raw text.
    pub attributes: Vec<(String, String)>,
}

/// Builds operations from attributes.
pub(crate) trait Reader {
    type Error;
    fn attribute<T: InField<F>, F>(&mut self, attribute: Attribute<T, F>) -> Result<T, Self::Error>;
    fn computation(&mut self, name: &'static str) -> Result<ComputationId, Self::Error>;
    fn computations(&mut self, name: &'static str, is_needed: bool) -> Result<Vec<ComputationId>, Self::Error>;
    fn literal(&mut self) -> Result<Literal, Self::Error>;
    /// Reads all attributes of an operation, if fusebox keeps them as text.
    fn kept(&mut self) -> Result<Kept, Self::Error>;
}

/// Visits the attributes of an operation.
pub(crate) trait Writer {
    fn attribute<T: InField<F> + PartialEq, F>(&mut self, attribute: Attribute<T, F>, value: &T);
    fn computation(&mut self, name: &str, id: ComputationId);
    fn computations(&mut self, name: &str, ids: &[ComputationId]);
    /// Visits attributes that are kept as text. The operation may also call computations. The
    /// caller has already passed these computations to [`Writer::computation`] or
    /// [`Writer::computations`].
    fn kept(&mut self, _attributes: &[(String, String)]) {}
}

/// Describes how a value is read and written.
pub(crate) trait Describes<T> {
    fn read<R: Reader>(self, reader: &mut R) -> Result<T, R::Error>;
    fn write<W: Writer>(self, value: &T, writer: &mut W);
    /// Returns the computations that the value contains.
    fn callees(self, _value: &mut T) -> Vec<&mut ComputationId>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

impl<T: InField<F> + PartialEq, F> Describes<T> for Attribute<T, F> {
    fn read<R: Reader>(self, reader: &mut R) -> Result<T, R::Error> {
        reader.attribute(self)
    }

    fn write<W: Writer>(self, value: &T, writer: &mut W) {
        writer.attribute(self, value);
    }
}

impl Describes<ComputationId> for Callee {
    fn read<R: Reader>(self, reader: &mut R) -> Result<ComputationId, R::Error> {
        reader.computation(self.0)
    }

    fn write<W: Writer>(self, value: &ComputationId, writer: &mut W) {
        writer.computation(self.0, *value);
    }

    fn callees(self, value: &mut ComputationId) -> Vec<&mut ComputationId> {
        vec![value]
    }
}

impl Describes<Vec<ComputationId>> for Callees {
    fn read<R: Reader>(self, reader: &mut R) -> Result<Vec<ComputationId>, R::Error> {
        reader.computations(self.0, self.1)
    }

    fn write<W: Writer>(self, value: &Vec<ComputationId>, writer: &mut W) {
        if self.1 || !value.is_empty() {
            writer.computations(self.0, value);
        }
    }

    fn callees(self, value: &mut Vec<ComputationId>) -> Vec<&mut ComputationId> {
        value.iter_mut().collect()
    }
}

impl<T> Describes<Box<T>> for All
where
    All: Describes<T>,
{
    fn read<R: Reader>(self, reader: &mut R) -> Result<Box<T>, R::Error> {
        self.read(reader).map(Box::new)
    }

    fn write<W: Writer>(self, value: &Box<T>, writer: &mut W) {
        self.write(&**value, writer);
    }

    fn callees(self, value: &mut Box<T>) -> Vec<&mut ComputationId> {
        self.callees(&mut **value)
    }
}

/// Printers write a literal between the operation's parentheses, so the literal is not written as
/// an attribute.
impl Describes<Literal> for All {
    fn read<R: Reader>(self, reader: &mut R) -> Result<Literal, R::Error> {
        reader.literal()
    }

    fn write<W: Writer>(self, _value: &Literal, _writer: &mut W) {}
}

fn of<T: InText, F>(name: &'static str, presence: Presence<T>, field: Place<F>) -> Attribute<T, F> {
    Attribute { name, presence, read: T::read, write: T::write, field }
}

/// A required attribute.
pub(crate) fn needed<T: InText, F>(name: &'static str, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Needed, field)
}

/// An attribute that is always written. If the attribute is missing, its value is `usual`.
pub(crate) fn assumed<T: InText, F>(name: &'static str, usual: T, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Assumed(usual), field)
}

/// An attribute that is written if its value differs from the default.
pub(crate) fn unless<T: InText, F>(name: &'static str, usual: T, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Unless(usual), field)
}

/// An attribute that is written unless its value is empty or false.
pub(crate) fn optional<T: InText + Default, F>(name: &'static str, field: Place<F>) -> Attribute<T, F> {
    unless(name, T::default(), field)
}

/// A value that HLO text contains between the operation's parentheses.
pub(crate) fn content<T: InText, F>(name: &'static str, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Content, field)
}

/// One dimension, written as a list of one element.
pub(crate) fn one_of_list(name: &'static str, field: Place<Vec<i64>>) -> Attribute<i64, Vec<i64>> {
    let read = |value: &mut Cursor<'_>, name: &str| value.only_integer(name);
    Attribute { read, write: |one, out| vec![*one].write(out), ..needed(name, field) }
}

/// An integer that messages store in 32 bits.
pub(crate) fn number32(name: &'static str, field: Place<i32>) -> Attribute<i64, i32> {
    Attribute { read: |value, name| value.integer32(name), ..needed(name, field) }
}

/// A quoted string.
pub(crate) fn quoted(name: &'static str, field: Place<String>) -> Attribute<String, String> {
    let write = |text: &String, out: &mut String| out.push_str(&super::text::pieces::quoted(text));
    Attribute { read: |value, name| value.string(name), write, ..needed(name, field) }
}
