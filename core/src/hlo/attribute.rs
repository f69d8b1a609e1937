//! How the attributes of operations stand in text and in messages: what the table of operations is written in.
//!
//! ```text
//! dimension: i64 = needed("iota_dimension", |m| …),   // `iota_dimension=0`, and the field of a message
//! to_apply: ComputationId = Callee("to_apply"),       // `to_apply=sum`, and the next of a message's computations
//! ```
//!
//! Each entry is a [`Describes`]. Who reads operations is a [`Reader`], who writes or inspects them a [`Writer`].

use super::proto::module::Instruction as Message;
use super::text::lexer::Cursor;
use super::text::source::Parse;
use super::{ComputationId, Literal, Opcode};

/// What is done about an attribute that has a usual value.
pub(crate) enum Presence<T> {
    /// Always written; it is an error not to have it.
    Needed,
    /// Always written, this if it is missing.
    Assumed(T),
    /// Written unless it is this, which it is if it is missing.
    Unless(T),
    /// Not an attribute in text: it stands between the parentheses.
    Content,
}

/// A value as HLO text writes it.
pub(crate) trait InText: Sized {
    /// Reads the value of the attribute of that name.
    fn read(value: &mut Cursor, name: &str) -> Parse<Self>;
    fn write(&self, out: &mut String);
}

/// A value as a message holds it in (part of) a field.
pub(crate) trait InField<Field>: Sized {
    fn get(field: &mut Field) -> Result<Self, String>;
    fn set(&self, field: &mut Field);
}

/// The (part of a) field of a message that holds a value.
pub(crate) type Place<F> = fn(&mut Message) -> &mut F;

/// An attribute that is neither a computation nor a group of others.
pub(crate) struct Attribute<T, Field> {
    pub name: &'static str,
    pub presence: Presence<T>,
    pub read: fn(&mut Cursor<'_>, &str) -> Parse<T>,
    pub write: fn(&T, &mut String),
    pub field: Place<Field>,
}

/// The attribute of this name that is one computation.
pub(crate) struct Callee(pub &'static str);

/// The attribute of this name that is a list of computations, and whether there has to be one.
pub(crate) struct Callees(pub &'static str, pub bool);

/// All attributes of a struct.
pub(crate) struct All;

/// Makes operations out of attributes.
pub(crate) trait Reader {
    type Error;
    fn attribute<T: InField<F>, F>(&mut self, attribute: Attribute<T, F>) -> Result<T, Self::Error>;
    fn computation(&mut self, name: &'static str) -> Result<ComputationId, Self::Error>;
    fn computations(&mut self, name: &'static str, is_needed: bool) -> Result<Vec<ComputationId>, Self::Error>;
    fn literal(&mut self) -> Result<Literal, Self::Error>;
    /// An operation that is kept as it stands.
    fn other(&mut self, opcode: Opcode) -> Result<super::Op, Self::Error>;
}

/// Visits the attributes of an operation.
pub(crate) trait Writer {
    fn attribute<T: InField<F> + PartialEq, F>(&mut self, attribute: Attribute<T, F>, value: &T);
    fn computation(&mut self, name: &str, id: ComputationId);
    fn computations(&mut self, name: &str, ids: &[ComputationId]);
    /// What is kept as it stands; its computations are visited before.
    fn kept(&mut self, _attributes: &[(String, String)]) {}
}

/// Says how a value is read and written.
pub(crate) trait Describes<T> {
    fn read<R: Reader>(self, reader: &mut R) -> Result<T, R::Error>;
    fn write<W: Writer>(self, value: &T, writer: &mut W);
    /// The computations it names.
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

/// A literal stands between the parentheses; printers write it there.
impl Describes<Literal> for All {
    fn read<R: Reader>(self, reader: &mut R) -> Result<Literal, R::Error> {
        reader.literal()
    }

    fn write<W: Writer>(self, _value: &Literal, _writer: &mut W) {}
}

fn of<T: InText, F>(name: &'static str, presence: Presence<T>, field: Place<F>) -> Attribute<T, F> {
    Attribute { name, presence, read: T::read, write: T::write, field }
}

/// An attribute without which the operation means nothing.
pub(crate) fn needed<T: InText, F>(name: &'static str, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Needed, field)
}

/// An attribute that is always written and need not be.
pub(crate) fn assumed<T: InText, F>(name: &'static str, usual: T, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Assumed(usual), field)
}

/// An attribute that is written unless it is the usual.
pub(crate) fn unless<T: InText, F>(name: &'static str, usual: T, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Unless(usual), field)
}

/// An attribute that is written unless it is empty or false.
pub(crate) fn optional<T: InText + Default, F>(name: &'static str, field: Place<F>) -> Attribute<T, F> {
    unless(name, T::default(), field)
}

/// What text writes between the parentheses.
pub(crate) fn content<T: InText, F>(name: &'static str, field: Place<F>) -> Attribute<T, F> {
    of(name, Presence::Content, field)
}

/// One dimension, written as a list of it.
pub(crate) fn one_of_list(name: &'static str, field: Place<Vec<i64>>) -> Attribute<i64, Vec<i64>> {
    let read = |value: &mut Cursor<'_>, name: &str| value.only_integer(name);
    Attribute { read, write: |one, out| vec![*one].write(out), ..needed(name, field) }
}

/// An integer that messages have 32 bits for.
pub(crate) fn number32(name: &'static str, field: Place<i32>) -> Attribute<i64, i32> {
    Attribute { read: |value, name| value.integer32(name), ..needed(name, field) }
}

/// A text in quotes.
pub(crate) fn quoted(name: &'static str, field: Place<String>) -> Attribute<String, String> {
    let write = |text: &String, out: &mut String| out.push_str(&super::text::print::quoted(text));
    Attribute { read: |value, name| value.string(name), write, ..needed(name, field) }
}
