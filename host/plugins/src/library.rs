//! Opens plugin libraries.

use abi_stable::library::AbiHeaderRef;
use abi_stable::std_types::RSlice;
use fusebox_core::plugin::PluginRef;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::failure::LoadError;
use crate::file::PluginFile;

/// An open library. The library stays open until the program ends, because any part of the program
/// may hold pointers into the library.
#[derive(Clone, Copy)]
pub struct PluginLibrary {
    root: PluginRef,
}

impl PluginLibrary {
    /// Opens a library that was read and checked.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn open(file: PluginFile) -> Result<Self, LoadError> {
        let (path, note) = (file.path().to_path_buf(), file.note().clone());
        let (name, copy) = file.into_copy();
        // The loader identifies libraries by their paths. While the copy exists, no other library
        // has the copy's path, and debuggers find the copy.
        std::mem::forget(copy);
        let refused = |reason: String| {
            let reason = reason.replace(&name.display().to_string(), &path.display().to_string());
            LoadError::Refused { path: path.clone(), reason }
        };
        // SAFETY: opening runs the library's constructors, and the user named the file as a plugin
        // to run.
        let library = unsafe { Library::open(Some(&name), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| refused(in_full(&error)))?;
        // SAFETY: the symbol is the root that `export_emitters!` defines together with the note
        // that was just read. `upgrade` checks the header before any other part of the root is
        // used.
        let header = unsafe { library.get::<AbiHeaderRef>(note.root_symbol.as_bytes()) };
        let header = header.map(|symbol| *symbol).map_err(|error| refused(in_full(&error)));
        // The library is never unloaded, even if the next steps refuse it, because its constructors
        // have run.
        std::mem::forget(library);
        let root = header?.upgrade().and_then(|header| header.init_root_module::<PluginRef>());
        let root = root.map_err(|error| refused(layout_message(&note.package, &error.to_string())))?;
        Ok(PluginLibrary { root })
    }

    /// Calls the plugin. Code of fusebox-core in the plugin catches panics.
    pub fn call(self, request: &[u8]) -> Vec<u8> {
        self.root.call()(RSlice::from_slice(request)).into_vec()
    }
}

/// Returns the attempted action followed by the loader's message.
fn in_full(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |reason| format!("{error}: {reason}"))
}

/// Shortens the message with which `abi_stable` reports that two layouts differ. The message has a
/// thousand lines, most of which report no errors.
fn layout_message(package: &str, text: &str) -> String {
    let telling = |line: &&str| !line.trim().is_empty() && !line.contains("0 error(s)");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(telling).take(6).collect();
    format!(
        "{package} does not have the root module of this release ({}); build it again against this fusebox-core: \
         `cargo build --release`",
        lines.join("; ")
    )
}
