//! Decodes an attribute or a type of an artifact when an operation first needs it, and stores the
//! result for later uses.

use std::cell::RefCell;
use std::sync::Arc;

use fusebox_core::hlo::ElementType;

use super::container::{Container, Entry};
use super::cursor::{Cursor, Read};
use crate::program::{Attribute, Location, Place, Type};

/// Maximum nesting depth of attributes in attributes, and of types in types. The reader refuses
/// artifacts with a deeper nesting, so that decoding needs a bounded stack.
const MAX_DEPTH: usize = 64;

/// Attributes, types and locations of an artifact.
pub(super) struct Entities<'c, 'a> {
    container: &'c Container<'a>,
    dialects: &'c Dialects,
    attributes: RefCell<Vec<Option<Attribute>>>,
    types: RefCell<Vec<Option<Type>>>,
    locations: RefCell<Vec<Option<Location>>>,
}

/// The decoders of each dialect. An attribute may contain attributes of any dialect. So each
/// decoder decodes nested attributes through [`Entities`], which holds the decoders of all
/// dialects.
pub(super) struct Dialects {
    pub attributes: &'static [(&'static str, Decode<Attribute>)],
    pub types: &'static [(&'static str, Decode<Type>)],
    pub locations: &'static [(&'static str, Decode<Option<Place>>)],
}

/// Decodes an attribute, a type or a location of one dialect.
pub(super) type Decode<T> = fn(Decoder, &mut Cursor) -> Read<T>;

/// The attributes, types and locations of an artifact, and the current depth of nested decoding.
#[derive(Clone, Copy)]
pub(super) struct Decoder<'d, 'c, 'a> {
    entities: &'d Entities<'c, 'a>,
    depth: usize,
}

impl<'c, 'a> Entities<'c, 'a> {
    pub(super) fn new(container: &'c Container<'a>, dialects: &'c Dialects) -> Self {
        Entities {
            container,
            dialects,
            attributes: RefCell::new(vec![None; container.attributes.len()]),
            types: RefCell::new(vec![None; container.types.len()]),
            locations: RefCell::new(vec![None; container.attributes.len()]),
        }
    }

    pub(super) fn decoder(&self) -> Decoder<'_, 'c, 'a> {
        Decoder { entities: self, depth: 0 }
    }
}

impl<'d, 'c, 'a> Decoder<'d, 'c, 'a> {
    /// Reads an index, and returns the string with this index.
    pub(super) fn string(&self, cursor: &mut Cursor) -> Read<Arc<str>> {
        let strings = &self.entities.container.strings;
        Ok(strings[cursor.index(strings.len(), "strings")?].clone())
    }

    /// Reads an index, and returns the attribute with this index.
    pub(super) fn attribute(&self, cursor: &mut Cursor) -> Read<Attribute> {
        let index = cursor.number()?;
        self.attribute_at(cursor, index)
    }

    /// Returns the attribute with an index that the caller has read.
    pub(super) fn attribute_at(&self, cursor: &Cursor, index: u64) -> Read<Attribute> {
        let index = cursor.checked_index(index, self.entities.container.attributes.len(), "attributes")?;
        if let Some(known) = &self.entities.attributes.borrow()[index] {
            return Ok(known.clone());
        }
        let entry = &self.entities.container.attributes[index];
        let attribute = self.decoded(entry, |decoder, cursor| {
            let dialect = &entry.dialect;
            let decode = decoder_of(self.entities.dialects.attributes, dialect);
            let decode =
                decode.ok_or_else(|| cursor.error(format!("attributes of the dialect {dialect} are not supported")))?;
            decode(decoder, cursor)
        })?;
        self.entities.attributes.borrow_mut()[index] = Some(attribute.clone());
        Ok(attribute)
    }

    /// Reads a list of attributes.
    pub(super) fn attributes(&self, cursor: &mut Cursor) -> Read<Vec<Attribute>> {
        cursor.list(|cursor| self.attribute(cursor))
    }

    /// Reads an attribute that is a string.
    pub(super) fn text(&self, cursor: &mut Cursor) -> Read<Arc<str>> {
        match self.attribute(cursor)? {
            Attribute::Text(text) | Attribute::Symbol(text) => Ok(text),
            _ => Err(cursor.error("a string is needed here")),
        }
    }

    /// Reads an index, and returns the type with this index.
    pub(super) fn r#type(&self, cursor: &mut Cursor) -> Read<Type> {
        let index = cursor.number()?;
        self.type_at(cursor, index)
    }

    /// Returns the type with an index that the caller has read.
    pub(super) fn type_at(&self, cursor: &Cursor, index: u64) -> Read<Type> {
        let index = cursor.checked_index(index, self.entities.container.types.len(), "types")?;
        if let Some(known) = &self.entities.types.borrow()[index] {
            return Ok(known.clone());
        }
        let entry = &self.entities.container.types[index];
        let decoded = self.decoded(entry, |decoder, cursor| {
            let dialect = &entry.dialect;
            let decode = decoder_of(self.entities.dialects.types, dialect);
            let decode =
                decode.ok_or_else(|| cursor.error(format!("types of the dialect {dialect} are not supported")))?;
            decode(decoder, cursor)
        })?;
        self.entities.types.borrow_mut()[index] = Some(decoded.clone());
        Ok(decoded)
    }

    pub(super) fn types(&self, cursor: &mut Cursor) -> Read<Vec<Type>> {
        cursor.list(|cursor| self.r#type(cursor))
    }

    /// Reads the type of an array's elements.
    pub(super) fn element(&self, cursor: &mut Cursor) -> Read<Result<ElementType, Arc<str>>> {
        match self.r#type(cursor)? {
            Type::Element(element) => Ok(Ok(element)),
            Type::Unsupported(name) => Ok(Err(name)),
            _ => Err(cursor.error("an element type is needed here")),
        }
    }

    /// Reads an index, and returns the location with this index.
    pub(super) fn location(&self, cursor: &mut Cursor) -> Read<Location> {
        let index = cursor.index(self.entities.container.attributes.len(), "attributes")?;
        if let Some(known) = &self.entities.locations.borrow()[index] {
            return Ok(known.clone());
        }
        // A location says where an operation comes from, so that its outermost parts matter little.
        if self.depth == MAX_DEPTH {
            return Ok(Location::UNKNOWN);
        }
        let entry = &self.entities.container.attributes[index];
        let decode = decoder_of(self.entities.dialects.locations, &entry.dialect);
        let decode = decode.ok_or_else(|| cursor.error(format!("a location of the dialect {}", entry.dialect)))?;
        let location = Location(self.decoded(entry, decode)?.map(Arc::new));
        self.entities.locations.borrow_mut()[index] = Some(location.clone());
        Ok(location)
    }

    pub(super) fn locations(&self, cursor: &mut Cursor) -> Read<Vec<Location>> {
        cursor.list(|cursor| self.location(cursor))
    }

    /// Decodes an entry, and checks that the entry has no further bytes.
    fn decoded<T>(&self, entry: &Entry<'a>, decode: impl FnOnce(Self, &mut Cursor<'a>) -> Read<T>) -> Read<T> {
        let mut cursor = entry.bytes;
        if self.depth == MAX_DEPTH {
            return Err(cursor.error(format!("attributes and types are nested more than {MAX_DEPTH} deep")));
        }
        if !entry.is_encoded {
            return Err(cursor.error("attributes and types that are stored as text are not supported"));
        }
        let decoded = decode(Decoder { depth: self.depth + 1, ..*self }, &mut cursor)?;
        cursor.finish("an attribute or a type")?;
        Ok(decoded)
    }
}

fn decoder_of<T>(decoders: &[(&str, Decode<T>)], dialect: &str) -> Option<Decode<T>> {
    decoders.iter().find(|(name, _)| *name == dialect).map(|(_, decode)| *decode)
}
