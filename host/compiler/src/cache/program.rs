//! Whole programs in the cache.

use std::time::Instant;

use fusebox_runtime::Executable;

use super::{Cached, key};
use crate::{Compilation, CompileError, Options, Source, compile};

/// Compiles a module of which only the executable is wanted, or takes that from the cache: then nothing else is in the compilation.
/// A program that comes with warnings is not kept, so that they are told each time.
///
/// # Errors
/// As [`compile`].
pub fn compile_or_load(source: &Source, options: &Options) -> Result<Compilation, CompileError> {
    let begin = Instant::now();
    let Some(store) = options.store() else { return compile(source, options) };
    let key = key::of_program(source, options);
    let found = key.as_ref().ok().and_then(|key| Executable::from_bytes(&store.get(key)?).ok());
    if let Some(executable) = found {
        let (executable, cached) = (Some(executable), Some(Cached::Program));
        return Ok(Compilation { executable, cached, elapsed: begin.elapsed(), ..Compilation::default() });
    }
    let mut made = compile(source, options)?;
    if let (Some(executable), true) = (&made.executable, made.warnings.is_empty()) {
        let kept = key.and_then(|key| {
            let bytes = executable.to_bytes().map_err(|error| error.to_string())?;
            store.keep(&[(key, bytes)]).map_err(|error| error.to_string())
        });
        made.warnings.extend(kept.err().map(|reason| format!("the program is not in the cache: {reason}")));
    }
    made.elapsed = begin.elapsed();
    Ok(made)
}
