//! Reads a plugin's note from the file: nothing of the file is executed.

use std::path::Path;

use fusebox_core::emitter::INTERFACE_VERSION;
use fusebox_core::plugin::{NOTE_PREFIX, Note, ROOT_PREFIX};
use fusebox_files::{ReadError, SizeLimit};
use object::elf;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol};

use crate::failure::LoadError;

/// Largest library that is looked at. One with debug information has some ten million.
const MOST_BYTES: u64 = 1 << 30;

/// What a note says.
pub struct PluginNote {
    /// Name and version of the package.
    pub package: String,
    pub root_symbol: String,
}

/// Reads and judges the note of a library.
///
/// # Errors
/// If the file is no complete library, has no note, or is of another interface version.
pub fn read(path: &Path) -> Result<PluginNote, LoadError> {
    let data = fusebox_files::read(path, SizeLimit::bytes(MOST_BYTES)).map_err(unreadable)?;
    let not_a_library = |reason: String| LoadError::NotALibrary { path: path.into(), reason };
    let file: ElfFile64 = ElfFile64::parse(&*data).map_err(|error| not_a_library(error.to_string()))?;
    check_kind(&file).map_err(&not_a_library)?;
    check_extent(&file, data.len() as u64).map_err(&not_a_library)?;

    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.is_definition() && symbol.name().is_ok_and(|name| name.starts_with(NOTE_PREFIX)));
    let no_emitters = || LoadError::NoEmitters { path: path.into() };
    let symbol = symbol.ok_or_else(no_emitters)?;
    let suffix = symbol.name().ok().and_then(|name| name.strip_prefix(NOTE_PREFIX)).ok_or_else(no_emitters)?;
    let bytes = bytes_at(&file, symbol.address()).ok_or_else(|| not_a_library("its note is cut off".into()))?;
    let (interface, text) = parse(bytes).ok_or_else(no_emitters)?;

    let (package, core) = text.rsplit_once(' ').unwrap_or((&text, "unknown"));
    if !accepts(interface) {
        return Err(LoadError::Interface {
            path: path.into(),
            package: package.into(),
            core: core.into(),
            found: interface,
        });
    }
    Ok(PluginNote { package: package.into(), root_symbol: format!("{ROOT_PREFIX}{suffix}") })
}

fn unreadable(error: ReadError) -> LoadError {
    match error {
        ReadError::NotRegular { path, kind } => LoadError::NotRegular { path, kind },
        ReadError::TooLarge { path, limit } => {
            LoadError::NotALibrary { path, reason: format!("it is larger than {limit} bytes") }
        }
        ReadError::Io { path, source } => LoadError::Unreadable { path, reason: source.to_string() },
        ReadError::NotFound { path } => LoadError::Unreadable { path, reason: "there is no such file".into() },
        ReadError::Memory { path, .. } => LoadError::Unreadable { path, reason: "memory is short".into() },
    }
}

/// Within a major version the interface only grows: an older plugin is welcome, a newer one may want what is
/// not there.
fn accepts(found: u32) -> bool {
    found / 1000 == INTERFACE_VERSION / 1000 && found <= INTERFACE_VERSION
}

fn check_kind(file: &ElfFile64) -> Result<(), String> {
    let machine = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };
    let header = file.elf_header();
    if header.e_type.get(file.endian()) != elf::ET_DYN {
        return Err("it is an ELF file of another kind".into());
    }
    match header.e_machine.get(file.endian()) == machine {
        true => Ok(()),
        false => Err("it is for another processor".into()),
    }
}

/// The loader maps segments without looking at the file's length; a read beyond its end is a bus error. So a
/// truncated file must be recognised before.
fn check_extent(file: &ElfFile64, length: u64) -> Result<(), String> {
    let endian = file.endian();
    let ends = file
        .elf_program_headers()
        .iter()
        .map(|segment| segment.p_offset.get(endian).saturating_add(segment.p_filesz.get(endian)));
    match ends.max() {
        Some(end) if end > length => Err(format!("it ends after {length} of {end} bytes")),
        Some(_) => Ok(()),
        None => Err("it has no segments".into()),
    }
}

fn bytes_at<'data>(file: &ElfFile64<'data>, address: u64) -> Option<&'data [u8]> {
    file.sections().find_map(|section| section.data_range(address, Note::SIZE as u64).ok().flatten())
}

fn parse(bytes: &[u8]) -> Option<(u32, String)> {
    let rest = bytes.strip_prefix(&Note::MAGIC)?;
    let (interface, rest) = rest.split_first_chunk()?;
    let (length, text) = rest.split_first_chunk()?;
    let text = text.get(..u32::from_le_bytes(*length) as usize)?;
    Some((u32::from_le_bytes(*interface), String::from_utf8_lossy(text).into_owned()))
}
