//! Reads a plugin's note from its file without executing any code of the plugin.

use std::path::Path;

use fusebox_core::emitter::{Descriptor, INTERFACE_VERSION, KernelKind};
use fusebox_core::plugin::{LISTING_PREFIX, NOTE_PREFIX, Note, ROOT_PREFIX, UNOPTIMISED};
use fusebox_files::{ReadError, SizeLimit};
use object::elf;
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{Object, ObjectSection, ObjectSymbol};
use sha2::{Digest, Sha256};

use crate::failure::LoadError;
use crate::fingerprint::hexadecimal;

/// Maximum number of bytes of a library. A library with debug information has some ten million
/// bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The description of a library that the library's file contains.
#[derive(Clone, Debug)]
pub struct PluginNote {
    /// Name and version of the package.
    pub package: String,
    /// The release of fusebox-core that the library was built with.
    pub core: String,
    /// Whether the library was built with optimisation.
    pub is_optimised: bool,
    /// The version of the interface that the library was built with.
    pub interface: u32,
    /// The library's emitters. `None` if the file has no list of emitters, as in older releases.
    pub emitters: Option<Vec<Descriptor>>,
    pub(crate) root_symbol: String,
}

impl PluginNote {
    /// Checks that this host supports the library's interface version.
    ///
    /// # Errors
    /// If the host does not support this version. `path` is the path of the library.
    pub fn check(&self, path: &Path) -> Result<(), LoadError> {
        if accepts(self.interface) {
            Ok(())
        } else {
            Err(LoadError::Interface {
                path: path.into(),
                package: self.package.clone(),
                core: self.core.clone(),
                found: self.interface,
            })
        }
    }
}

/// Returns a library's note and its SHA-256, as hexadecimal digits. Runs none of the library's
/// code, and does not check the library's interface version.
///
/// # Errors
/// If the file is not a complete library, or has no note.
pub fn inspect(path: &Path) -> Result<(PluginNote, String), LoadError> {
    let data = bytes(path)?;
    Ok((find(path, &data)?, digest(&data)))
}

/// Computes the SHA-256 as hexadecimal digits.
pub(crate) fn digest(data: &[u8]) -> String {
    hexadecimal(&Sha256::digest(data))
}

/// Reads the bytes of a file that may be a library.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, LoadError> {
    fusebox_files::read(path, SizeLimit::bytes(MOST_BYTES)).map_err(unreadable)
}

/// Finds the note in the bytes of a library. Error messages name `path`.
pub(crate) fn find(path: &Path, data: &[u8]) -> Result<PluginNote, LoadError> {
    let not_a_library = |reason: String| LoadError::NotALibrary { path: path.into(), reason };
    if !data.is_empty() && !data.starts_with(&object::elf::ELFMAG) {
        let content = if std::str::from_utf8(data).is_ok() { "text" } else { "other data" };
        return Err(LoadError::NotElf { path: path.into(), content });
    }
    let file: ElfFile64 = ElfFile64::parse(data).map_err(|error| not_a_library(error.to_string()))?;
    check_kind(&file).map_err(&not_a_library)?;
    check_extent(&file, data.len() as u64).map_err(&not_a_library)?;

    let no_emitters = || LoadError::NoEmitters { path: path.into() };
    let any = |name: &str| name.starts_with(NOTE_PREFIX);
    let (name, symbol) = defined(&file, any).ok_or_else(no_emitters)?;
    let suffix = &name[NOTE_PREFIX.len()..];
    let note = bytes_at(&file, symbol.address(), Note::SIZE as u64);
    let note = note.ok_or_else(|| not_a_library("its note is cut off".into()))?;
    let (interface, text) = parse(note).ok_or_else(no_emitters)?;
    let (package, core) = text.rsplit_once(' ').unwrap_or((&text, "unknown"));
    let unoptimised = core.strip_suffix(UNOPTIMISED);
    let own = |name: &str| name.strip_prefix(LISTING_PREFIX) == Some(suffix);
    let emitters = defined(&file, own).map(|(_, symbol)| {
        let bytes = bytes_at(&file, symbol.address(), symbol.size()).unwrap_or_default();
        listed(bytes).ok_or_else(|| not_a_library("its list of emitters makes no sense".into()))
    });
    Ok(PluginNote {
        package: package.into(),
        core: unoptimised.unwrap_or(core).into(),
        is_optimised: unoptimised.is_none(),
        interface,
        emitters: emitters.transpose()?,
        root_symbol: format!("{ROOT_PREFIX}{suffix}"),
    })
}

/// Returns the first defined symbol whose name `is_meant` accepts.
fn defined<'data, 'file>(
    file: &'file ElfFile64<'data>,
    is_meant: impl Fn(&str) -> bool,
) -> Option<(&'data str, ElfSymbol64<'data, 'file>)> {
    let mut symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    symbols.find_map(|symbol| Some((symbol.name().ok().filter(|name| is_meant(name))?, symbol)))
}

/// Parses a list of emitters. Each line has the form `kind name version`.
fn listed(bytes: &[u8]) -> Option<Vec<Descriptor>> {
    let descriptor = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [kind, name, version] => {
            Some(Descriptor { kind: KernelKind(kind.into()), name: name.into(), version: version.into() })
        }
        _ => None,
    };
    std::str::from_utf8(bytes).ok()?.lines().map(descriptor).collect()
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

/// Whether this host supports an interface version. Within a major version the interface only
/// grows, so the host accepts older plugins of the same major version. The host refuses newer
/// plugins, because newer plugins may need functions that this host lacks.
fn accepts(found: u32) -> bool {
    found / 1000 == INTERFACE_VERSION / 1000 && found <= INTERFACE_VERSION
}

fn check_kind(file: &ElfFile64) -> Result<(), String> {
    let machine = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };
    let header = file.elf_header();
    if header.e_type.get(file.endian()) != elf::ET_DYN {
        return Err("it is an ELF file of another kind".into());
    }
    if header.e_machine.get(file.endian()) == machine { Ok(()) } else { Err("it is for another processor".into()) }
}

/// Detects truncated files. The loader maps segments without checking the file's length, and a read
/// beyond the end of the file causes a bus error.
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

fn bytes_at<'data>(file: &ElfFile64<'data>, address: u64, size: u64) -> Option<&'data [u8]> {
    file.sections().find_map(|section| section.data_range(address, size).ok().flatten())
}

fn parse(bytes: &[u8]) -> Option<(u32, String)> {
    let rest = bytes.strip_prefix(&Note::MAGIC)?;
    let (interface, rest) = rest.split_first_chunk()?;
    let (length, text) = rest.split_first_chunk()?;
    let text = text.get(..u32::from_le_bytes(*length) as usize)?;
    Some((u32::from_le_bytes(*interface), String::from_utf8_lossy(text).into_owned()))
}
