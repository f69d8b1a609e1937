//! The registry of all emitters.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fusebox_core::emitter::{Descriptor, Emitter};
use semver::Version;

use crate::failure::{Failure, LoadError};
use crate::file::{PluginFile, canonical};
use crate::library::PluginLibrary;
use crate::loaded_emitter::{Answers, ByteTransport, LoadedEmitter};
use crate::origin::Origin;
use crate::process::{PluginProcess, ProcessLimits};
use crate::spec::is_name;

/// Environment variable with directories and libraries to load emitters from, separated by `:`.
pub const SEARCH_PATH: &str = "FUSEBOX_EMITTER_PATH";

/// A file that should be a library of emitters, because a search path names the file or its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLibrary {
    pub path: PathBuf,
    /// Whether the search path names only the file's folder. If the search path names only the
    /// folder, the file need not be a library of emitters; see [`LoadError::is_of_another_kind`].
    pub in_folder: bool,
}

/// Facts about a library that were read from the library's file.
#[derive(Default)]
struct LibraryFileFacts {
    /// The library's emitters, if the file lists them.
    listed: Option<Vec<Descriptor>>,
    sha256: Option<Arc<str>>,
    is_unoptimised: bool,
}

impl LibraryFileFacts {
    fn of(file: &PluginFile) -> LibraryFileFacts {
        let note = file.note();
        LibraryFileFacts {
            listed: note.emitters.clone(),
            sha256: Some(file.sha256().into()),
            is_unoptimised: !note.is_optimised,
        }
    }
}

/// The emitters in a fixed order: linked emitters first, then the emitters of libraries in the
/// order of loading.
///
/// A registry must not contain two emitters with the same name and version. There is one exception:
/// a linked emitter may have the same name and version as an emitter from a library. The linked
/// emitter is preferred to an emitter with the same name and version from a library, unless the
/// user names the library's file.
#[derive(Clone, Default)]
pub struct Registry {
    emitters: Vec<LoadedEmitter>,
    /// Files of libraries that were built without optimisation.
    unoptimised: Vec<PathBuf>,
}

impl Registry {
    /// Creates a registry of the emitters that are linked in.
    ///
    /// # Errors
    /// If an emitter fails to describe itself.
    pub fn new(linked: Vec<Box<dyn Emitter>>) -> Result<Self, Failure> {
        let emitters = linked.into_iter().map(LoadedEmitter::linked).collect::<Result<_, _>>()?;
        Ok(Registry { emitters, unoptimised: Vec::new() })
    }

    /// Returns the emitters, in order.
    pub fn emitters(&self) -> &[LoadedEmitter] {
        &self.emitters
    }

    /// Loads a library into this process, unless it is loaded already.
    ///
    /// # Errors
    /// See [`LoadError`]. After an error the registry is unchanged.
    pub fn load_library(&mut self, path: &Path) -> Result<(), LoadError> {
        if self.has(&Origin::Library(canonical(path)?)) {
            return Ok(());
        }
        self.load_file(PluginFile::read(path)?)
    }

    /// Loads a library into this process, from bytes that were already read. Does nothing if the
    /// library's file is loaded already.
    ///
    /// # Errors
    /// See [`LoadError`]. After an error the registry is unchanged.
    pub fn load_file(&mut self, file: PluginFile) -> Result<(), LoadError> {
        let origin = Origin::Library(file.path().to_path_buf());
        if self.has(&origin) {
            return Ok(());
        }
        let read = LibraryFileFacts::of(&file);
        let library = PluginLibrary::open(file)?;
        self.add(origin, ByteTransport::Library(library), read)
    }

    /// Loads a library in a separate process. The separate process runs `program`, which must serve
    /// the library if its first argument is [`SERVE_COMMAND`](crate::SERVE_COMMAND).
    ///
    /// # Errors
    /// See [`LoadError`]. After an error the registry is unchanged.
    pub fn load_isolated(&mut self, path: &Path, program: &Path, limits: ProcessLimits) -> Result<(), LoadError> {
        if self.has(&Origin::Process(canonical(path)?)) {
            return Ok(());
        }
        // This process checks the library first. So errors are the same as without isolation, and
        // no process is started for a bad file.
        self.load_file_isolated(PluginFile::read(path)?, program, limits)
    }

    /// Loads a library like [`load_isolated`](Self::load_isolated), but from bytes that were
    /// already read.
    ///
    /// # Errors
    /// See [`LoadError`]. After an error the registry is unchanged.
    pub fn load_file_isolated(
        &mut self,
        file: PluginFile,
        program: &Path,
        limits: ProcessLimits,
    ) -> Result<(), LoadError> {
        let origin = Origin::Process(file.path().to_path_buf());
        if self.has(&origin) {
            return Ok(());
        }
        let read = LibraryFileFacts::of(&file);
        let process = PluginProcess::new(program.into(), file, limits);
        self.add(origin, ByteTransport::Process(Arc::new(process)), read)
    }

    /// Adds the emitters of a function that answers requests as if it were the library `path`.
    /// Tests and fuzzing use this function.
    ///
    /// # Errors
    /// See [`LoadError`]. After an error the registry is unchanged.
    pub fn add_answers(&mut self, path: &Path, answers: Answers) -> Result<(), LoadError> {
        self.add(Origin::Library(path.into()), ByteTransport::Answers(answers), LibraryFileFacts::default())
    }

    /// Returns the libraries of a search path that has the form of [`SEARCH_PATH`]. An entry that
    /// is a file is a library. For an entry that is a directory, returns its files that end in
    /// `.so`, sorted by name.
    ///
    /// # Errors
    /// If an entry does not exist.
    pub fn libraries_of_search_path(search_path: &std::ffi::OsStr) -> Result<Vec<FoundLibrary>, LoadError> {
        let mut libraries = Vec::new();
        for entry in std::env::split_paths(search_path).filter(|entry| !entry.as_os_str().is_empty()) {
            let entry = canonical(&entry)?;
            if !entry.is_dir() {
                libraries.push(FoundLibrary { path: entry, in_folder: false });
                continue;
            }
            let unreadable =
                |error: std::io::Error| LoadError::Unreadable { path: entry.clone(), reason: error.to_string() };
            let files = std::fs::read_dir(&entry).map_err(unreadable)?;
            let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "so"));
            files.sort();
            libraries.extend(files.into_iter().map(|path| FoundLibrary { path, in_folder: true }));
        }
        Ok(libraries)
    }

    /// Returns the files of libraries that were built without optimisation. Emitters that were
    /// built without optimisation answer slowly, but build the same kernels as optimised emitters.
    pub fn unoptimised(&self) -> &[PathBuf] {
        &self.unoptimised
    }

    fn has(&self, origin: &Origin) -> bool {
        self.emitters.iter().any(|emitter| emitter.origin() == origin)
    }

    fn add(&mut self, origin: Origin, bytes: ByteTransport, read: LibraryFileFacts) -> Result<(), LoadError> {
        let path = origin.path().map(Path::to_path_buf).unwrap_or_default();
        let wrong = |reason: String| LoadError::Description { path: path.clone(), reason };
        let descriptions = bytes.describe().map_err(|kind| wrong(format!("cannot describe itself: {kind}")))?;
        if descriptions.is_empty() {
            return Err(LoadError::NoEmitters { path });
        }
        if let Some(listed) = read.listed
            && !listed.iter().eq(descriptions.iter().map(|description| &description.descriptor))
        {
            let reason = "its emitters describe themselves differently from the `export_emitters!` list in the file; \
                          use one constant for both and build it again";
            return Err(wrong(reason.into()));
        }
        let mut all = self.emitters.clone();
        for (number, description) in descriptions.into_iter().enumerate() {
            check_descriptor(&description.descriptor).map_err(&wrong)?;
            let emitter =
                LoadedEmitter::carried(description, origin.clone(), read.sha256.clone(), bytes.clone(), number as u32);
            check_unique(&all, &emitter)?;
            all.push(emitter);
        }
        self.emitters = all;
        self.unoptimised.extend(read.is_unoptimised.then_some(path));
        Ok(())
    }
}

fn check_unique(emitters: &[LoadedEmitter], new: &LoadedEmitter) -> Result<(), LoadError> {
    let (name, version) = (&new.descriptor().name, &new.descriptor().version);
    let same = emitters.iter().find(|old| {
        // For comparison, a file may be loaded into this process and also isolated. The loaded and
        // the isolated library are one plugin.
        let other_transport = old.origin() != new.origin() && old.origin().path() == new.origin().path();
        old.descriptor().name == *name
            && old.descriptor().version == *version
            && *old.origin() != Origin::Linked
            && !other_transport
    });
    match same {
        None => Ok(()),
        Some(old) => Err(LoadError::Duplicate {
            name: name.clone(),
            version: version.clone(),
            first: old.origin().to_string(),
            second: new.origin().to_string(),
        }),
    }
}

fn check_descriptor(descriptor: &Descriptor) -> Result<(), String> {
    let Descriptor { kind, name, version } = descriptor;
    if !is_name(name) || !is_name(&kind.0) {
        return Err(format!("emitter {name:?} of kind {:?}: names are letters, digits, - and _", kind.0));
    }
    match Version::parse(version) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("emitter {name}: version `{version}`: {error}")),
    }
}
