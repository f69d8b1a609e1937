//! Creates a crate for a new emitter. The crate is a copy of one of the crates in `examples`, with
//! other names.

use std::path::{Path, PathBuf};
use std::process::Command;

use fusebox_files::{SizeLimit, WriteError, read, write};
use thiserror::Error;

/// An example from which new crates are copied. The tests of fusebox also build and test the
/// example itself.
struct Template {
    /// Kind of the example's emitter.
    kind: &'static str,
    /// All kinds for which the emitter accepts some fusions. Each kind has the text of a fusion,
    /// with which the benchmark of the new crate measures the emitter.
    measured_on: &'static [(&'static str, &'static str)],
    manifest: &'static str,
    emitter: &'static str,
    tests: &'static str,
}

/// Includes the files of an example, and fusions of `benches/fusions`. The paths are links inside
/// the folder of this crate, because a published package contains only files from its own folder.
macro_rules! template {
    ($kind:literal, $folder:literal, $($measured:literal on $fusion:literal),*) => {
        Template {
            kind: $kind,
            measured_on: &[$(($measured, include_str!(concat!("../templates/fusions/", $fusion, ".hlo")))),*],
            manifest: include_str!(concat!("../templates/", $folder, "/manifest.toml")),
            emitter: include_str!(concat!("../templates/", $folder, "/emitter.rs")),
            tests: include_str!(concat!("../templates/", $folder, "/tests.rs")),
        }
    };
}

/// The word by which the command line asks for a new kind. The new kind gets the name of the
/// emitter.
pub const OWN: &str = "own";

const TEMPLATES: [Template; 4] = [
    template!(
        "loop",
        "out-of-tree-emitter",
        "loop" on "loop_gelu",
        "concatenate" on "concatenate_computed",
        "dynamic-update-slice" on "dynamic-update-slice_row",
        "input-slices" on "input-slices_halves"
    ),
    template!("reduce", "reduce-emitter", "reduce" on "reduce_rows"),
    template!("transpose", "transpose-emitter", "transpose" on "transpose_2d"),
    template!("own", "own-kind-emitter", "own" on "reduce_softmax"),
];

/// Source of the new crate's benchmark.
const BENCH: &str = include_str!("../templates/bundled.rs");
const BENCH_IN_MANIFEST: &str = "\n[[bench]]\nname = \"bundled\"\nharness = false\n";

/// Length of the dimensions in the fusions, and a length with which the arrays are larger than a
/// core's cache.
const SMALL: &str = "256";
const LARGE: &str = "2048";

/// The line in the manifests of the examples that states their dependency on fusebox-core.
const CORE: &str = "fusebox-core = { path = \"../../core\" }";

/// The crate to write.
#[derive(Clone, Debug)]
pub struct NewEmitter {
    /// Name of the package and the emitter: at least two words of lower-case letters and digits,
    /// separated by hyphens.
    pub name: String,
    /// Kind of the emitter: one of [`kinds`].
    pub kind: String,
    /// Folder of the crate. The folder must be empty, or must not exist yet.
    pub folder: PathBuf,
    /// The folder with the sources of fusebox-core. With `None`, the crate depends on the release
    /// of fusebox-core that has this program's version.
    pub core: Option<PathBuf>,
}

/// The reason why no crate was written.
#[derive(Debug, Error)]
pub enum NewEmitterError {
    /// The name is invalid for Cargo or for emitters.
    #[error(
        "`{0}` is no name for an emitter: that is two or more words of lower-case letters and digits, like my-loop"
    )]
    Name(String),
    /// There is no template of this kind.
    #[error("there is no template of kind `{kind}`, but of {known}; docs/writing-an-emitter.md says how emitters of other kinds ask for fusions", known = kinds().join(", "))]
    Kind {
        /// The user's text.
        kind: String,
    },
    /// The folder is not empty; nothing is overwritten.
    #[error("{} is there already; give the new crate another name or --path", .0.display())]
    Occupied(PathBuf),
    /// The folder does not contain fusebox-core.
    #[error("{} is no folder of fusebox-core: it has no Cargo.toml of that package", .0.display())]
    Core(PathBuf),
    /// A folder cannot be created or read.
    #[error("{path}: {source}", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Returns all kinds for which a template exists.
pub fn kinds() -> Vec<&'static str> {
    TEMPLATES.iter().flat_map(|template| template.measured_on).map(|(kind, _)| *kind).collect()
}

impl NewEmitter {
    /// Writes the crate. Returns the paths of the files, relative to the folder.
    ///
    /// # Errors
    /// See [`NewEmitterError`]. If an error occurs, files that are already written remain.
    pub fn write(&self) -> Result<Vec<&'static str>, NewEmitterError> {
        if !is_name(&self.name) {
            return Err(NewEmitterError::Name(self.name.clone()));
        }
        let measured_on =
            |it: &Template| it.measured_on.iter().find(|(kind, _)| *kind == self.kind).map(|(_, text)| *text);
        let template = TEMPLATES.iter().find_map(|it| Some((it, measured_on(it)?)));
        let (template, fusion) = template.ok_or_else(|| NewEmitterError::Kind { kind: self.kind.clone() })?;
        let files = [
            (".gitignore", "/target\n".to_owned()),
            ("Cargo.toml", self.manifest(template)?),
            ("src/lib.rs", self.renamed(template, template.emitter)),
            ("tests/plans.rs", self.renamed(template, template.tests)),
            ("benches/bundled.rs", BENCH.to_owned()),
            ("benches/small.hlo", fusion.to_owned()),
            ("benches/large.hlo", fusion.replace(SMALL, LARGE)),
        ];
        self.make_folders()?;
        for (file, text) in &files {
            write(&self.folder.join(file), text.as_bytes())?;
        }
        let sources = files.iter().map(|(file, _)| *file).filter(|file| file.ends_with(".rs"));
        format(&sources.map(|file| self.folder.join(file)).collect::<Vec<_>>());
        Ok(files.map(|(file, _)| file).to_vec())
    }

    fn manifest(&self, template: &Template) -> Result<String, NewEmitterError> {
        let manifest = self.renamed(template, template.manifest).replace(CORE, &self.dependency()?);
        // The author of the new crate chooses its licence.
        let kept = manifest.lines().filter(|line| !line.starts_with("license"));
        Ok(kept.chain(BENCH_IN_MANIFEST.lines()).flat_map(|line| [line, "\n"]).collect())
    }

    /// Returns the dependency on fusebox-core as a line of the manifest.
    fn dependency(&self) -> Result<String, NewEmitterError> {
        let Some(core) = &self.core else {
            return Ok(format!("fusebox-core = \"{}\"", env!("CARGO_PKG_VERSION")));
        };
        let wrong = || NewEmitterError::Core(core.clone());
        let core = core.canonicalize().map_err(|_| wrong())?;
        let path = core.to_str().filter(|_| is_core(&core)).ok_or_else(wrong)?;
        // `{:?}` writes a string without control characters as a valid TOML string.
        Ok(format!("fusebox-core = {{ path = {path:?} }}"))
    }

    /// Returns the text of an example, with the names of the new emitter instead of the example's
    /// names.
    fn renamed(&self, template: &Template, text: &str) -> String {
        let example = format!("simple-{}", template.kind);
        text.replace(&type_name(&example), &type_name(&self.name))
            .replace(&example.replace('-', "_"), &self.name.replace('-', "_"))
            .replace(&constant_name(&example), &constant_name(&self.name))
            .replace(&example, &self.name)
            .replace(&kind(template.kind), &kind(self.kind()))
    }

    /// Returns the kind of the new emitter.
    pub fn kind(&self) -> &str {
        if self.kind == OWN { &self.name } else { &self.kind }
    }

    fn make_folders(&self) -> Result<(), NewEmitterError> {
        let failed = |source| NewEmitterError::Folder { path: self.folder.clone(), source };
        if self.folder.exists() {
            let mut inside = self.folder.read_dir().map_err(failed)?;
            if inside.next().is_some() {
                return Err(NewEmitterError::Occupied(self.folder.clone()));
            }
        }
        ["src", "tests", "benches"]
            .into_iter()
            .try_for_each(|name| std::fs::create_dir_all(self.folder.join(name)))
            .map_err(failed)
    }
}

/// Returns the folder with the sources of fusebox-core, if the program is still in the source tree
/// from which it was built, like `target/release/fusebox`.
pub fn core_sources_of(program: &Path) -> Option<PathBuf> {
    program.ancestors().map(|folder| folder.join("core")).find(|folder| is_core(folder))
}

/// Whether a folder holds the sources of fusebox-core.
fn is_core(folder: &Path) -> bool {
    let manifest = read(&folder.join("Cargo.toml"), SizeLimit::default()).unwrap_or_default();
    String::from_utf8_lossy(&manifest).contains("name = \"fusebox-core\"")
}

/// Formats sources like `cargo fmt`, because the new names change the lengths of lines. Ignores
/// errors: if rustfmt is missing, the author cannot run `cargo fmt --check` either.
fn format(sources: &[PathBuf]) {
    _ = Command::new("rustfmt").args(["--edition", "2024"]).args(sources).output();
}

/// Returns the text with which the descriptor of an emitter states this kind.
fn kind(kind: &str) -> String {
    format!("kind: \"{kind}\"")
}

/// Whether a name is valid. A valid name has several words, so that it is neither a keyword of Rust
/// nor the name of a built-in crate.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let fits = (3..=64).contains(&name.len()) && name.starts_with(|c: char| c.is_ascii_lowercase());
    fits && name.contains('-') && name.split('-').all(is_word) && !["proc-macro", "fusebox-core"].contains(&name)
}

/// Turns `my-loop` into the name of a constant, `MY_LOOP`.
fn constant_name(name: &str) -> String {
    name.replace('-', "_").to_uppercase()
}

/// Turns `my-loop` into the name of a type, `MyLoop`.
fn type_name(name: &str) -> String {
    let word = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('-').map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_above_the_program() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("target/release/fusebox");
        assert_eq!(core_sources_of(&program), None);
        std::fs::create_dir_all(root.path().join("core")).unwrap();
        write(&root.path().join("core/Cargo.toml"), b"[package]\nname = \"other\"\n").unwrap();
        assert_eq!(core_sources_of(&program), None);
        write(&root.path().join("core/Cargo.toml"), b"[package]\nname = \"fusebox-core\"\n").unwrap();
        assert_eq!(core_sources_of(&program), Some(root.path().join("core")));
    }

    #[test]
    fn without_sources_a_crate_asks_for_the_release_of_this_version() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("my-loop");
        NewEmitter { name: "my-loop".into(), kind: "loop".into(), folder: folder.clone(), core: None }.write().unwrap();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("fusebox-core = \"{}\"\n", env!("CARGO_PKG_VERSION"))), "{manifest}");
        assert!(!manifest.contains("license") && !manifest.contains("simple"), "{manifest}");
    }
}
