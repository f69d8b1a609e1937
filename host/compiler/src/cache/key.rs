//! Keys of cache entries: hashes of everything that an entry depends on.

use std::path::Path;
use std::sync::OnceLock;

use fusebox_files::{Key, SizeLimit};
use fusebox_lowering::{Batch, Target};
use fusebox_plugins::Fingerprint;
use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};

use crate::{Assembler, Emitters, Options, Source};

/// Path of the running program.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Computes the key of a program from all inputs of its compilation.
///
/// # Errors
/// If this build of fusebox or a plugin cannot be identified.
pub fn of_program(source: &Source, options: &Options) -> Result<Key, String> {
    let Source { name: _, bytes, format, elided, module, sizes } = source;
    let Options { target, device, emitters, threads, departures, memory_limit, assembler, .. } = options;
    let passes = &departures.without_passes;
    let compilation =
        format!("{format:?} {elided:?} {module:?} {sizes:?} {device:?} {threads} {passes:?} {memory_limit:?}");
    let assembler = assembler.as_ref().map(Assembler::version);
    let key = begun("program", target)?.and(bytes).and(compilation).and(format!("{assembler:?}"));
    with_emitters(key, emitters)
}

/// Computes the key of machine code from its kernels and composites.
///
/// # Errors
/// If this build of fusebox cannot be identified.
pub fn of_code(batch: &Batch<'_>, target: &Target) -> Result<Key, String> {
    let mut key = begun("code", target)?.and(format!("{:?}", batch.composites));
    for kernel in batch.kernels {
        let is_inner = batch.inner.contains(&kernel.entry);
        let launch = (kernel.launch, kernel.shared_bytes, is_inner);
        key = key.and(&kernel.entry).and(format!("{:?} {launch:?} {:?}", kernel.arguments, kernel.origins));
        // `{:#}` also prints source locations, which the simulator reports.
        key = kernel.functions.iter().fold(key, |key, function| key.and(format!("{function:#}")));
    }
    Ok(key)
}

/// Computes the key of machine code from its PTX, its target and its assembler.
///
/// # Errors
/// If this build of fusebox cannot be identified.
pub fn of_cubin(ptx: &str, assembler: &Assembler, target: &Target) -> Result<Key, String> {
    Ok(begun("cubin", target)?.and(assembler.version()).and(ptx))
}

fn begun(sort: &str, target: &Target) -> Result<Key, String> {
    Ok(Key::of(sort).and(build()?).and(target.identity()))
}

/// Adds to the key the registered emitters, and the choices of the user and of the tuner.
fn with_emitters(mut key: Key, emitters: &Emitters) -> Result<Key, String> {
    let Emitters { registry, overrides, tuned, cuts, of_part } = emitters;
    for emitter in registry.emitters() {
        key = key.and(emitter.identity());
        let Some(path) = emitter.origin().path() else { continue };
        // Uses the hash of the bytes that were loaded, because the file may have changed since.
        key = key.and(emitter.sha256().ok_or_else(|| format!("{} is no library that was read", path.display()))?);
    }
    let knobs = |of: &Fingerprint| tuned.get(of).map(|tuned| (tuned.emitter, &tuned.knobs));
    let mut decided: Vec<String> = tuned.keys().map(|of| format!("emitter {of} {:?}", knobs(of))).collect();
    decided.extend(cuts.iter().map(|(of, way)| format!("cut {of} {way}")));
    decided.sort();
    Ok(key.and(format!("{overrides:?} {of_part}")).and(decided.join("\n")))
}

/// Returns bytes that identify this build of fusebox.
fn build() -> Result<&'static [u8], String> {
    static BUILD: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let build = BUILD.get_or_init(|| linkers_id().map_or_else(digest_of_this_program, Ok));
    build.as_deref().map_err(Clone::clone)
}

/// Returns the linker's build id, if the program has one.
fn linkers_id() -> Option<Vec<u8>> {
    let file = fusebox_files::open(Path::new(THIS_PROGRAM), SizeLimit::none()).ok()?;
    // Reads only the program headers. The rest of the file is large, above all its symbols.
    let data = ReadCache::new(file);
    let header = FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let mut segments = header.program_headers(endian, &data).ok()?.iter();
    segments.find_map(|segment| {
        let mut notes = segment.notes(endian, &data).ok()??;
        while let Ok(Some(note)) = notes.next() {
            if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
        None
    })
}

fn digest_of_this_program() -> Result<Vec<u8>, String> {
    let bytes = fusebox_files::read(Path::new(THIS_PROGRAM), SizeLimit::none());
    let bytes = bytes.map_err(|error| format!("this build of fusebox cannot be identified: {error}"))?;
    Ok(Key::of("build").and(bytes).to_string().into_bytes())
}
