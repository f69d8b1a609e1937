//! The exports of a plugin library: a note, a list of emitters and a root module. The host reads
//! the note and the list from the library's file. `abi_stable` checks the root module when the host
//! opens the library.
//!
//! The names of all exported symbols end in the package's name, so that several emitter crates can
//! also be linked into one program.

use abi_stable::StableAbi;
use abi_stable::library::RootModule;
use abi_stable::package_version_strings;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::{RSlice, RVec};

use crate::emitter::{INTERFACE_VERSION, StaticDescriptor};

/// Prefix of the symbol names of notes.
pub const NOTE_PREFIX: &str = "fusebox_note_";
/// Prefix of the symbol names of root modules. The rest of the name is the same as in the note's
/// symbol name.
pub const ROOT_PREFIX: &str = "fusebox_root_";

/// Prefix of the symbol names of lists of emitters. The rest of the name is the same as in the
/// note's symbol name. Older libraries have no list.
pub const LISTING_PREFIX: &str = "fusebox_emitters_";

/// Returns the size of the [listing] of these emitters, in bytes.
pub const fn listing_size(emitters: &[StaticDescriptor]) -> usize {
    let (mut size, mut i) = (0, 0);
    while i < emitters.len() {
        size += emitters[i].kind.len() + emitters[i].name.len() + emitters[i].version.len() + 3;
        i += 1;
    }
    size
}

/// Returns a text that lists the emitters of a library, one line `kind name version` per emitter.
/// The library's file contains the bytes of this text unchanged.
pub const fn listing<const SIZE: usize>(emitters: &[StaticDescriptor]) -> [u8; SIZE] {
    let mut text = [0; SIZE];
    let (mut length, mut i) = (0, 0);
    while i < emitters.len() {
        length = append(&mut text, length, emitters[i].kind.as_bytes());
        length = append(&mut text, length, b" ");
        length = append(&mut text, length, emitters[i].name.as_bytes());
        length = append(&mut text, length, b" ");
        length = append(&mut text, length, emitters[i].version.as_bytes());
        length = append(&mut text, length, b"\n");
        i += 1;
    }
    text
}

/// Suffix that follows the version of `fusebox-core` in the note of a plugin built without
/// optimisation.
pub const UNOPTIMISED: &str = "+unoptimised";

/// Facts about a plugin that the host reads from the file before it opens the library. A note
/// consists of plain bytes without pointers, so that the file contains the whole note.
#[repr(C)]
pub struct Note {
    /// [`Note::MAGIC`].
    pub magic: [u8; 16],
    /// The [`INTERFACE_VERSION`] against which the plugin was built, little-endian.
    pub interface: [u8; 4],
    /// Number of bytes of `text` in use, little-endian.
    pub length: [u8; 4],
    /// `package version core-version`, separated by spaces. [`UNOPTIMISED`] may follow.
    pub text: [u8; 232],
}

impl Note {
    /// First bytes of every note.
    pub const MAGIC: [u8; 16] = *b"fusebox plugin 1";
    /// Size of a note in bytes.
    pub const SIZE: usize = size_of::<Note>();

    /// Creates the note of a package. `package` consists of the package's name, a space and the
    /// package's version.
    pub const fn new(package: &str) -> Note {
        let mut text = [0; 232];
        let length = append(&mut text, 0, package.as_bytes());
        let length = append(&mut text, length, b" ");
        let mut length = append(&mut text, length, env!("CARGO_PKG_VERSION").as_bytes());
        if cfg!(debug_assertions) {
            length = append(&mut text, length, UNOPTIMISED.as_bytes());
        }
        Note {
            magic: Self::MAGIC,
            interface: INTERFACE_VERSION.to_le_bytes(),
            length: (length as u32).to_le_bytes(),
            text,
        }
    }
}

/// Appends `bytes` to `text`, as far as they fit. Returns the new length.
const fn append(text: &mut [u8], mut length: usize, bytes: &[u8]) -> usize {
    let mut i = 0;
    while i < bytes.len() && length < text.len() {
        text[length] = bytes[i];
        length += 1;
        i += 1;
    }
    length
}

/// The root module of a plugin library. The only function of the root module takes the bytes of a
/// [`Request`](super::schema::Request) and returns the bytes of a
/// [`Response`](super::schema::Response). Later versions of the interface extend the schema, but do
/// not change the root module.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRef)))]
pub struct Plugin {
    /// Function that answers a request. The function must not unwind.
    #[sabi(last_prefix_field)]
    pub call: extern "C" fn(request: RSlice<'_, u8>) -> RVec<u8>,
}

impl RootModule for PluginRef {
    abi_stable::declare_root_module_statics! {PluginRef}
    const BASE_NAME: &'static str = "fusebox_plugin";
    const NAME: &'static str = "fusebox_plugin";
    // The host checks the version in the note. This version only guards the layout of this module.
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}
