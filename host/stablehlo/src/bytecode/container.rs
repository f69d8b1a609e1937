//! The sections of an artifact: strings, names of operations, and the positions of attributes,
//! types and properties.

use std::sync::Arc;

use super::cursor::{Artifact, Cursor, Read};
use crate::StablehloError;

/// The first bytes of MLIR's bytecode.
pub(super) const MAGIC: [u8; 4] = [0x4D, 0x4C, 0xEF, 0x52];
/// The newest version of the format that this reader knows.
const NEWEST: u64 = 6;

/// An artifact's tables, and its section of operations.
pub(super) struct Container<'a> {
    /// Version of MLIR's bytecode.
    pub version: u64,
    pub strings: Vec<Arc<str>>,
    pub operations: Vec<OperationName>,
    pub attributes: Vec<Entry<'a>>,
    pub types: Vec<Entry<'a>>,
    /// For each set of properties of an operation, the bytes that encode the set.
    pub properties: Vec<Cursor<'a>>,
    pub body: Cursor<'a>,
}

/// Name of an operation.
pub(super) struct OperationName {
    pub dialect: Arc<str>,
    pub name: Arc<str>,
    /// Whether the operation was registered when the artifact was written. The attributes of a
    /// registered operation are stored as properties.
    pub is_registered: bool,
}

/// An attribute or a type, as the artifact stores it.
pub(super) struct Entry<'a> {
    pub dialect: Arc<str>,
    /// Whether the dialect defines the encoding. Otherwise the artifact stores the entry as text.
    pub is_encoded: bool,
    pub bytes: Cursor<'a>,
}

/// The ids of the sections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Strings = 0,
    Dialects = 1,
    Data = 2,
    Offsets = 3,
    Body = 4,
    DialectVersion = 7,
    Properties = 8,
}

/// Number of section ids that the format defines.
const SECTIONS: usize = 9;

/// The sections of an artifact, by id.
struct Sections<'a>([Option<Cursor<'a>>; SECTIONS]);

impl<'a> Container<'a> {
    pub(super) fn read(artifact: &'a Artifact<'a>) -> Read<Container<'a>> {
        let mut file = artifact.cursor();
        if file.bytes(MAGIC.len())? != MAGIC {
            return Err(file.error("this is not a portable artifact: its first bytes are not those of MLIR's bytecode"));
        }
        let version = file.number()?;
        if version > NEWEST {
            return Err(file.error(format!("version {version} of the format; {NEWEST} is the newest that can be read")));
        }
        let _producer = file.until_zero()?;
        let sections = Sections::read(&mut file)?;
        let strings = strings(sections.needed(Section::Strings, &file)?)?;
        let (dialects, operations) = dialects(sections.needed(Section::Dialects, &file)?, version, &strings)?;
        let (attributes, types) =
            entries(sections.needed(Section::Offsets, &file)?, sections.needed(Section::Data, &file)?, &dialects)?;
        let properties = match sections.get(Section::Properties) {
            Some(section) => properties(section)?,
            None => Vec::new(),
        };
        let body = sections.needed(Section::Body, &file)?;
        Ok(Container { version, strings, operations, attributes, types, properties, body })
    }
}

impl<'a> Sections<'a> {
    fn read(file: &mut Cursor<'a>) -> Read<Sections<'a>> {
        let mut sections = Sections([None; SECTIONS]);
        while !file.is_empty() {
            let (id, section) = section(file)?;
            let place =
                sections.0.get_mut(id).ok_or_else(|| file.error(format!("a section with the unknown id {id}")))?;
            if place.replace(section).is_some() {
                return Err(file.error(format!("a second section with the id {id}")));
            }
        }
        Ok(sections)
    }

    fn get(&self, section: Section) -> Option<Cursor<'a>> {
        self.0[section as usize]
    }

    fn needed(&self, section: Section, file: &Cursor) -> Read<Cursor<'a>> {
        self.get(section).ok_or_else(|| file.error(format!("there is no section with the id {}", section as usize)))
    }
}

/// Reads a section's header. Returns the section's id and content.
fn section<'a>(file: &mut Cursor<'a>) -> Read<(usize, Cursor<'a>)> {
    const IS_ALIGNED: u8 = 0x80;
    let id = file.byte()?;
    let size = file.number()?;
    if id & IS_ALIGNED != 0 {
        let alignment = file.number()?;
        file.align(alignment)?;
    }
    let size = file.checked_count(size, 1)?;
    Ok(((id & !IS_ALIGNED) as usize, file.part(size)?))
}

/// Reads the section that wraps the regions of an isolated operation.
pub(super) fn nested_body<'a>(operations: &mut Cursor<'a>) -> Read<Cursor<'a>> {
    match section(operations)? {
        (id, body) if id == Section::Body as usize => Ok(body),
        (id, _) => Err(operations.error(format!("a section with the id {id} instead of an isolated region"))),
    }
}

/// Reads all strings. The section contains the lengths of the strings in reverse order, followed by
/// the strings.
fn strings(mut section: Cursor) -> Read<Vec<Arc<str>>> {
    let mut lengths = section.list(Cursor::number)?;
    lengths.reverse();
    let texts = lengths.into_iter().map(|length| {
        let length = section.checked_count(length, 1)?;
        let Some((&0, text)) = section.bytes(length)?.split_last() else {
            return Err(section.error("a string does not end with a zero byte"));
        };
        // Locations and names may contain any bytes.
        Ok(Arc::from(String::from_utf8_lossy(text)))
    });
    let texts = texts.collect::<Read<_>>()?;
    section.finish("the strings")?;
    Ok(texts)
}

/// Reads the names of all dialects, and of all operations with their dialects.
fn dialects(mut section: Cursor, version: u64, strings: &[Arc<str>]) -> Read<(Vec<Arc<str>>, Vec<OperationName>)> {
    let name = |section: &Cursor, index| Ok(strings[section.checked_index(index, strings.len(), "strings")?].clone());
    let names = section.list(|section| {
        if version < 1 {
            let index = section.number()?;
            return name(section, index);
        }
        let (index, has_version) = section.flagged()?;
        if has_version {
            match self::section(section)? {
                (id, _) if id == Section::DialectVersion as usize => {}
                (id, _) => return Err(section.error(format!("a section with the id {id} instead of a version"))),
            }
        }
        name(section, index)
    })?;
    if version >= 4 {
        let _number_of_operations = section.number()?;
    }
    let mut operations = Vec::new();
    while !section.is_empty() {
        let dialect = &names[section.index(names.len(), "dialects")?];
        for _ in 0..section.count_of(1)? {
            let (index, is_registered) = if version >= 5 { section.flagged()? } else { (section.number()?, true) };
            let name = name(&section, index)?;
            operations.push(OperationName { dialect: dialect.clone(), name, is_registered });
        }
    }
    Ok((names, operations))
}

/// Reads the position of each attribute and each type.
fn entries<'a>(
    mut offsets: Cursor,
    mut data: Cursor<'a>,
    dialects: &[Arc<str>],
) -> Read<(Vec<Entry<'a>>, Vec<Entry<'a>>)> {
    let (attributes, types) = (offsets.number()?, offsets.number()?);
    let mut group = |count: u64| {
        let mut entries = Vec::with_capacity(offsets.checked_count(count, 1)?);
        while (entries.len() as u64) < count {
            let dialect = &dialects[offsets.index(dialects.len(), "dialects")?];
            for _ in 0..offsets.count_of(1)? {
                let (size, is_encoded) = offsets.flagged()?;
                let bytes = data.part(data.checked_count(size, 1)?)?;
                entries.push(Entry { dialect: dialect.clone(), is_encoded, bytes });
            }
        }
        Ok::<_, StablehloError>(entries)
    };
    let entries = (group(attributes)?, group(types)?);
    offsets.finish("the offsets")?;
    data.finish("the attributes and types")?;
    Ok(entries)
}

/// Reads the position of each set of properties.
fn properties(mut section: Cursor) -> Read<Vec<Cursor>> {
    let sets = section.list(|section| {
        let size = section.count_of(1)?;
        section.part(size)
    })?;
    section.finish("the properties")?;
    Ok(sets)
}
