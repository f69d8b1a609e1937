//! Reads the list of attributes after an instruction.
//!
//! The parser first splits the list into the names of the attributes and the text ranges of their
//! values. The parser reads each value when it builds the operation, so that the order of
//! attributes does not matter.

use super::lexer::Cursor;
use super::source::{Fault, Parse, ensure_at};

/// Largest number of attributes of an instruction. The limit is more than twice the number of
/// attributes of any HLO operation. The limit is needed because the parser searches lists of
/// attributes linearly.
const MAX_ATTRIBUTES: usize = 64;

pub(crate) struct Attribute<'t> {
    pub name: &'t str,
    pub at: usize,
    pub value: Cursor<'t>,
}

/// The attributes, of one instruction or of the header, whose values the parser has not read yet.
pub(crate) struct Attributes<'t> {
    /// Location of the instruction or header, for faults about missing attributes.
    at: usize,
    /// Description of the instruction or header, for messages.
    owner: String,
    list: Vec<Attribute<'t>>,
}

impl<'t> Attributes<'t> {
    /// Reads all attributes, each of the form `, name=value`.
    pub(crate) fn read(cursor: &mut Cursor<'t>, at: usize, owner: &str) -> Parse<Self> {
        let mut list: Vec<Attribute> = Vec::new();
        while cursor.eat(b',') {
            let at = cursor.at();
            let name = cursor.expect_word("the name of an attribute")?;
            cursor.expect(b'=', &format!("after the attribute name `{name}`"))?;
            ensure_at!(list.iter().all(|other| other.name != name), at, "the attribute `{name}` is given twice");
            ensure_at!(list.len() < MAX_ATTRIBUTES, at, "{owner} has more than {MAX_ATTRIBUTES} attributes");
            let value = cursor.attribute_value()?;
            list.push(Attribute { name, at, value });
        }
        Ok(Attributes { at, owner: owner.to_owned(), list })
    }

    pub(crate) fn empty(at: usize, owner: &str) -> Self {
        Attributes { at, owner: owner.to_owned(), list: Vec::new() }
    }

    /// Removes an attribute from the list and returns it.
    pub(crate) fn take(&mut self, name: &str) -> Option<Attribute<'t>> {
        let position = self.list.iter().position(|attribute| attribute.name == name)?;
        Some(self.list.remove(position))
    }

    pub(crate) fn missing(&self, name: &str) -> Fault {
        Fault::new(self.at, format!("{} needs the attribute `{name}`", self.owner))
    }

    /// Removes all remaining attributes from the list and returns them in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Attribute<'t>> + '_ {
        self.list.drain(..)
    }
}

impl<'t> Attribute<'t> {
    /// Reads the value. Fails if `read` leaves part of the value unread.
    pub(crate) fn read<T>(self, read: impl FnOnce(&mut Cursor<'t>) -> Parse<T>) -> Parse<T> {
        let mut value = self.value;
        let result = read(&mut value)?;
        value.finish(&format!("the value of `{}`", self.name))?;
        Ok(result)
    }

    pub(crate) fn raw(&self) -> String {
        self.value.rest().trim().to_owned()
    }
}
