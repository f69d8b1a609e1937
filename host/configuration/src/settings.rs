//! Reads `fusebox.toml`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use fusebox_files::SizeLimit;
use fusebox_plugins::{Spec, Subject, Target};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::{FileError, FilePosition, text};

/// The content of a `fusebox.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Path of the file.
    pub path: PathBuf,
    /// Libraries to load. The plugins come first, in the file's order. Libraries that are not
    /// plugins, but that a choice of an emitter names, come after the plugins. A library that is
    /// not a plugin has its path as its name.
    pub plugins: Vec<Plugin>,
    /// Choices of emitters. The choices for kinds come first, then the choices for fusions by name,
    /// then the choices for fusions by fingerprint. The choices of one group, for example all
    /// choices for kinds, are in the file's order.
    pub choices: Vec<LocatedSpec>,
    /// Settings of the cache of compiled programs.
    pub cache: CacheSettings,
}

/// Settings of the cache of compiled programs. A setting that the file lacks is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// Folder of the cache.
    pub path: Option<PathBuf>,
    /// Maximum number of bytes of all entries together.
    pub limit: Option<SizeLimit>,
}

/// A library of emitters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Name of the plugin in the file.
    pub name: String,
    /// Path of the library. The path includes the folder of `fusebox.toml`, so that the path is
    /// valid in the working directory.
    pub library: PathBuf,
    /// Isolation of the library.
    pub isolation: Isolation,
    /// Position of the library's path in the file.
    pub place: FilePosition,
}

/// Isolation and limits of a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Whether the library runs in a separate process.
    pub isolate: bool,
    /// Memory limit of the separate process, if the file sets this limit.
    pub memory: Option<SizeLimit>,
    /// Time limit for each answer of the separate process, if the file sets this limit.
    pub time: Option<Duration>,
}

/// A choice of an emitter, with its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedSpec {
    /// The choice. If the choice names a library, the library's path includes the folder of
    /// `fusebox.toml`, so that the path is valid in the working directory.
    pub spec: Spec,
    /// Position of the choice in the file.
    pub place: FilePosition,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigurationFile {
    plugins: BTreeMap<String, Spanned<PluginTable>>,
    emitters: BTreeMap<String, Spanned<String>>,
    fusions: BTreeMap<String, Spanned<String>>,
    fingerprints: BTreeMap<String, Spanned<String>>,
    cache: CacheTable,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CacheTable {
    path: Option<PathBuf>,
    #[serde(deserialize_with = "size")]
    limit: Option<SizeLimit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginTable {
    path: Spanned<PathBuf>,
    #[serde(default)]
    isolate: bool,
    #[serde(default, deserialize_with = "size")]
    memory: Option<SizeLimit>,
    time: Option<NonZeroU32>,
}

fn size<'de, D: Deserializer<'de>>(source: D) -> Result<Option<SizeLimit>, D::Error> {
    String::deserialize(source)?.parse().map(Some).map_err(D::Error::custom)
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, a key is unknown, or a value is invalid.
    pub fn read(path: &Path) -> Result<Settings, FileError> {
        Settings::of(path, &text::read(path)?)
    }

    fn of(path: &Path, text: &str) -> Result<Settings, FileError> {
        let place = |byte| FilePosition::at(path, text, byte);
        let written: ConfigurationFile = text::parse(path, text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let plugin = |(name, _, plugin): (String, usize, PluginTable)| {
            let PluginTable { path, isolate, memory, time } = plugin;
            let time = time.map(|seconds| Duration::from_secs(seconds.get().into()));
            let isolation = Isolation { isolate, memory, time };
            let place = place(path.span().start);
            Plugin { name, library: folder.join(path.into_inner()), isolation, place }
        };
        let mut plugins: Vec<Plugin> = in_order(written.plugins).map(plugin).collect();
        let mut choices = Vec::new();
        type Meaning = fn(&str) -> Result<Subject, String>;
        for (table, meaning) in [
            (written.emitters, Subject::kind as Meaning),
            (written.fusions, Subject::named),
            (written.fingerprints, Subject::fingerprinted),
        ] {
            for (key, byte, text) in in_order(table) {
                let invalid = |message| FileError::Invalid { place: place(byte), message };
                let subject = meaning(&key).map_err(invalid)?;
                let mut spec = Spec::about(Some(subject), &text).map_err(|error| invalid(error.to_string()))?;
                if let Target::File(library) = &mut spec.target {
                    let name = library.display().to_string();
                    *library = folder.join(&library);
                    if !plugins.iter().any(|plugin| is_same(&plugin.library, library)) {
                        let (library, isolation) = (library.clone(), Isolation::default());
                        plugins.push(Plugin { name, library, isolation, place: place(byte) });
                    }
                }
                choices.push(LocatedSpec { spec, place: place(byte) });
            }
        }
        let CacheTable { path: kept_in, limit } = written.cache;
        let cache = CacheSettings { path: kept_in.map(|path| folder.join(path)), limit };
        Ok(Settings { path: path.into(), plugins, choices, cache })
    }
}

/// Whether two paths are equal, ignoring `.` components. Does not access files.
fn is_same(a: &Path, b: &Path) -> bool {
    let parts = |path: &Path| path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
    parts(a) == parts(b)
}

/// Returns the entries of a table in the file's order. Each entry is a key, the offset of the
/// value's first byte in the file, and the value.
fn in_order<T>(table: BTreeMap<String, Spanned<T>>) -> impl Iterator<Item = (String, usize, T)> {
    let entry = |(key, value): (String, Spanned<T>)| (key, value.span().start, value.into_inner());
    let mut entries: Vec<_> = table.into_iter().map(entry).collect();
    entries.sort_by_key(|(_, start, _)| *start);
    entries.into_iter()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        Settings::of(Path::new("there/fusebox.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn all_keys() {
        let text = r#"
[plugins.mine]
path = "libmine.so"
isolate = true
memory = "512M"
time = 5

[plugins.a-second]
path = "/abs/lib.so"

[emitters]
transpose = "tiles@1.0.0{tile=64}"
loop = "./lib.so"

[fusions]
"fused_*" = "././libmine.so"

[fingerprints]
"0a*" = "another{x=1}"

[cache]
path = "kept"
limit = "64M"
"#;
        let settings = read(text).unwrap();
        let names: Vec<&str> = settings.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, ["mine", "a-second", "./lib.so"], "in the file's order, each once");
        let isolation =
            Isolation { isolate: true, memory: Some(SizeLimit::bytes(512 << 20)), time: Some(Duration::from_secs(5)) };
        assert_eq!(settings.plugins[0].isolation, isolation);
        assert_eq!(settings.plugins[1].isolation, Isolation::default());
        let cache = CacheSettings { path: Some("there/kept".into()), limit: Some(SizeLimit::bytes(64 << 20)) };
        assert_eq!(settings.cache, cache);
        let libraries: Vec<&Path> = settings.plugins.iter().map(|plugin| plugin.library.as_path()).collect();
        let wanted = ["there/libmine.so", "/abs/lib.so", "there/./lib.so"];
        assert_eq!(libraries, wanted.map(Path::new));
        let choices: Vec<String> =
            settings.choices.iter().map(|choice| format!("{} {}", choice.place, choice.spec)).collect();
        assert_eq!(
            choices,
            [
                "there/fusebox.toml:12:13 transpose=tiles@1.0.0{tile=64}",
                "there/fusebox.toml:13:8 loop=there/./lib.so",
                "there/fusebox.toml:16:13 fusion:fused_*=there/././libmine.so",
                "there/fusebox.toml:19:9 fingerprint:0a*=another{x=1}",
            ]
        );
    }

    #[test]
    fn faults_have_a_place_and_say_what_to_write() {
        for (text, wanted) in [
            ("[plugin.a]\n", "there/fusebox.toml:1:2: error: unknown key `plugin`; did you mean `plugins`?"),
            (
                "[plugins.a]\npath = \"a\"\nisolated = true\n",
                "fusebox.toml:3:1: error: unknown key `isolated`; did you mean `isolate`? The keys here are path, isolate, memory, time",
            ),
            ("[plugins.a]\nisolate = true\n", "fusebox.toml:1:1: error: missing field `path`"),
            ("[plugins.a]\npath = \"a\"\nmemory = \"much\"\n", "fusebox.toml:3:10: error: `much` is not a size"),
            ("[plugins.a]\npath = \"a\"\ntime = 0\n", "fusebox.toml:3:8: error: invalid value"),
            ("[plugins.a]\npath = \"a\"\nisolate = \"yes\"\n", "fusebox.toml:3:11: error: invalid type"),
            ("[cache]\nlimit = \"much\"\n", "there/fusebox.toml:2:9: error: `much` is not a size"),
            ("[cache]\nfolder = \"a\"\n", "there/fusebox.toml:2:1: error: unknown key `folder`"),
            ("[emitters]\nloop = \"a b\"\n", "fusebox.toml:2:8: error: emitter spec `loop=a b`: `a b` is not a name"),
            ("[emitters]\n\"a b\" = \"x\"\n", "fusebox.toml:2:9: error: the kind `a b` is not a name"),
            ("[fusions]\n\"[\" = \"x\"\n", "fusebox.toml:2:7: error: `[` is no pattern"),
            ("[emitters]\nloop = \"a\"\nloop = \"b\"\n", "fusebox.toml:3:1: error: duplicate key"),
            ("[emitters\n", "fusebox.toml:1:10: error: "),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(wanted), "{error}\nlacks\n{wanted}");
        }
    }
}
