//! Builds libraries for tests. They are libraries of crates outside of the workspace, bundled
//! emitters as libraries, and libraries that the host must refuse.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use fusebox_core::emitter::INTERFACE_VERSION;
use fusebox_core::plugin::Note;

/// Returns the library of `examples/out-of-tree-emitter`.
pub fn simple_loop() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("examples/out-of-tree-emitter", "simple_loop", "")).clone()
}

/// Returns the library of `examples/reduce-emitter`.
pub fn simple_reduce() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("examples/reduce-emitter", "simple_reduce", "")).clone()
}

/// Returns the library of `examples/transpose-emitter`.
pub fn simple_transpose() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("examples/transpose-emitter", "simple_transpose", "")).clone()
}

/// Returns the library of `examples/attention-emitter`.
pub fn attention() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("examples/attention-emitter", "attention_emitter", "")).clone()
}

/// Returns the library of the bundled loop emitter.
pub fn bundled_loop() -> PathBuf {
    // Cargo has built this library for this test, because the bundle depends on the crate, and a
    // cdylib is one of the crate's types.
    let own = std::env::current_exe().unwrap();
    own.with_file_name("libfusebox_emitter_loop.so")
}

/// Returns the library of the bundled reduce emitters.
pub fn bundled_reduce() -> PathBuf {
    bundled_loop().with_file_name("libfusebox_emitter_reduce.so")
}

/// Returns the library of a variant of `testing/hostile-emitter`. The empty string names the usual
/// variant.
pub fn hostile(variant: &str) -> PathBuf {
    static BUILT: Mutex<Vec<(String, PathBuf)>> = Mutex::new(Vec::new());
    let mut built = BUILT.lock().unwrap();
    if let Some((_, library)) = built.iter().find(|(known, _)| known == variant) {
        return library.clone();
    }
    let library = build("testing/hostile-emitter", "hostile_emitter", variant);
    built.push((variant.into(), library.clone()));
    library
}

/// Returns the bytes of the library with another interface version in its note.
pub fn with_interface(mut library: Vec<u8>, version: u32) -> Vec<u8> {
    let known = INTERFACE_VERSION.to_le_bytes();
    let note = [&Note::MAGIC[..], &known].concat();
    let places: Vec<usize> = (0..library.len() - note.len()).filter(|&at| library[at..].starts_with(&note)).collect();
    for at in places {
        library[at + Note::MAGIC.len()..at + note.len()].copy_from_slice(&version.to_le_bytes());
    }
    library
}

/// Returns a shared library that is not a plugin.
pub fn procedural_macro() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let files = std::fs::read_dir(own.parent().unwrap()).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.filter(|path| path.extension().is_some_and(|extension| extension == "so"));
    files.find(|path| path.to_string_lossy().contains("derive")).unwrap()
}

/// Builds the library of a crate and copies it, because the build of another variant would
/// overwrite it.
fn build(folder: &str, library: &str, variant: &str) -> PathBuf {
    // One build at a time: all builds use one target folder, which is kept between runs.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--lib", "--manifest-path"]).arg(root.join(folder).join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    // Crates that tests create in empty folders have no flags of a `.cargo/config.toml`. Without
    // the flags of this workspace, cargo builds the dependencies of both once.
    cargo.current_dir("/");
    match variant {
        "" => cargo.env_remove("HOSTILE"),
        variant => cargo.env("HOSTILE", variant),
    };
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{folder}: {}", String::from_utf8_lossy(&output.stderr));
    let copies = target.join("copies");
    std::fs::create_dir_all(&copies).unwrap();
    let (new, copy) = (format!("{library}-{variant}.{}", std::process::id()), format!("{library}-{variant}.so"));
    let (new, copy) = (copies.join(new), copies.join(copy));
    std::fs::copy(target.join(format!("debug/lib{library}.so")), &new).unwrap();
    // Replace an old copy by a rename, because another process may have the old file open.
    std::fs::rename(&new, &copy).unwrap();
    copy
}
