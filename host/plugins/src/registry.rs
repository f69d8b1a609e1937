//! All emitters there are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fusebox_core::emitter::{Descriptor, Emitter};
use semver::Version;

use crate::carrier::{Answers, ByteCarrier, LoadedEmitter};
use crate::failure::{Failure, LoadError};
use crate::file::PluginFile;
use crate::library::{PluginLibrary, canonical};
use crate::process::{PluginProcess, ProcessLimits};
use crate::spec::is_name;

/// Environment variable with directories and libraries to load emitters from, separated by `:`.
pub const SEARCH_PATH: &str = "FUSEBOX_EMITTER_PATH";

/// Where an emitter is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Linked into this program.
    Linked,
    /// A library in this process.
    Library(PathBuf),
    /// A library in a process of its own.
    Process(PathBuf),
}

impl Origin {
    /// The library, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Origin::Linked => None,
            Origin::Library(path) | Origin::Process(path) => Some(path),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Linked => f.write_str("linked in"),
            Origin::Library(path) => write!(f, "{}", path.display()),
            Origin::Process(path) => write!(f, "{}, isolated", path.display()),
        }
    }
}

/// A file of a search path that should be a library of emitters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLibrary {
    pub path: PathBuf,
    /// Whether the path names only the folder that it is in. Then it may be something else; see
    /// [`LoadError::is_of_another_kind`].
    pub in_folder: bool,
}

/// The facts about a library that its file tells.
#[derive(Default)]
struct Read {
    /// Its emitters, if the file names them.
    listed: Option<Vec<Descriptor>>,
    sha256: Option<Arc<str>>,
    is_unoptimised: bool,
}

impl Read {
    fn of(file: &PluginFile) -> Read {
        let note = file.note();
        Read { listed: note.emitters.clone(), sha256: Some(file.sha256().into()), is_unoptimised: !note.is_optimised }
    }
}

/// The emitters, in a fixed order: those linked in, in their order, then libraries as they were loaded.
///
/// Two emitters of one name and version are an error, unless one is linked in and the other comes from a library:
/// then the linked one is preferred wherever the user does not name the file.
#[derive(Clone, Default)]
pub struct Registry {
    emitters: Vec<LoadedEmitter>,
    /// Files of libraries that were built without optimisation.
    unoptimised: Vec<PathBuf>,
}

impl Registry {
    /// The emitters that are linked in.
    ///
    /// # Errors
    /// If one cannot even describe itself.
    pub fn new(linked: Vec<Box<dyn Emitter>>) -> Result<Self, Failure> {
        let emitters = linked.into_iter().map(LoadedEmitter::linked).collect::<Result<_, _>>()?;
        Ok(Registry { emitters, unoptimised: Vec::new() })
    }

    /// The emitters, in order.
    pub fn emitters(&self) -> &[LoadedEmitter] {
        &self.emitters
    }

    /// Loads a library into this process. One that is loaded already is not loaded again.
    ///
    /// # Errors
    /// See [`LoadError`]; the registry is as before.
    pub fn load_library(&mut self, path: &Path) -> Result<(), LoadError> {
        if self.has(&Origin::Library(canonical(path)?)) {
            return Ok(());
        }
        self.load_file(PluginFile::read(path)?)
    }

    /// Loads a library that was read into this process, as it was read. One of a file that is loaded already is not loaded again.
    ///
    /// # Errors
    /// See [`LoadError`]; the registry is as before.
    pub fn load_file(&mut self, file: PluginFile) -> Result<(), LoadError> {
        let origin = Origin::Library(file.path().to_path_buf());
        if self.has(&origin) {
            return Ok(());
        }
        let read = Read::of(&file);
        let library = PluginLibrary::open(file)?;
        self.add(origin, ByteCarrier::Library(library), read)
    }

    /// Loads a library in a process of its own: `program` must serve it, see
    /// [`SERVE_COMMAND`](crate::SERVE_COMMAND).
    ///
    /// # Errors
    /// See [`LoadError`]; the registry is as before.
    pub fn load_isolated(&mut self, path: &Path, program: &Path, limits: ProcessLimits) -> Result<(), LoadError> {
        if self.has(&Origin::Process(canonical(path)?)) {
            return Ok(());
        }
        // Refusals are those of this process, and no process is started in vain.
        self.load_file_isolated(PluginFile::read(path)?, program, limits)
    }

    /// Loads a library that was read in a process of its own, as [`load_isolated`](Self::load_isolated) does, as it was read.
    ///
    /// # Errors
    /// See [`LoadError`]; the registry is as before.
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
        let read = Read::of(&file);
        let process = PluginProcess::new(program.into(), file, limits);
        self.add(origin, ByteCarrier::Process(Arc::new(process)), read)
    }

    /// Adds what answers like the library of that path would, without a library: for tests and fuzzing.
    ///
    /// # Errors
    /// See [`LoadError`]; the registry is as before.
    pub fn add_answers(&mut self, path: &Path, answers: Answers) -> Result<(), LoadError> {
        self.add(Origin::Library(path.into()), ByteCarrier::Answers(answers), Read::default())
    }

    /// The libraries that a search path in the form of [`SEARCH_PATH`] names: files as they are, of
    /// directories the files ending in `.so`, by name.
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

    /// Files of libraries that were built without optimisation: their emitters answer slowly, their
    /// kernels are what they are.
    pub fn unoptimised(&self) -> &[PathBuf] {
        &self.unoptimised
    }

    fn has(&self, origin: &Origin) -> bool {
        self.emitters.iter().any(|emitter| emitter.origin() == origin)
    }

    fn add(&mut self, origin: Origin, bytes: ByteCarrier, read: Read) -> Result<(), LoadError> {
        let path = origin.path().map(Path::to_path_buf).unwrap_or_default();
        let wrong = |reason: String| LoadError::Description { path: path.clone(), reason };
        let descriptions = bytes.describe().map_err(|kind| wrong(format!("cannot describe itself: {kind}")))?;
        if descriptions.is_empty() {
            return Err(LoadError::NoEmitters { path });
        }
        if let Some(listed) = read.listed
            && !listed.iter().eq(descriptions.iter().map(|description| &description.descriptor))
        {
            let reason = "its emitters call themselves otherwise than `export_emitters!` does, which stands in the file; \
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
        // The same file in and out of this process is one plugin, loaded twice to compare.
        let other_carrier = old.origin() != new.origin() && old.origin().path() == new.origin().path();
        old.descriptor().name == *name
            && old.descriptor().version == *version
            && *old.origin() != Origin::Linked
            && !other_carrier
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
