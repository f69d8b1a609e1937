//! Whole programs in the cache.

use std::time::Instant;

use fusebox_runtime::Executable;

use super::{Cached, key};
use crate::{Compilation, CompileError, Options, Source, compile};

/// Compiles a module, or loads its executable from the cache. If the executable comes from the
/// cache, the compilation contains only the executable. A program with warnings is not stored, so
/// that each compilation of the program reports the warnings again.
///
/// # Errors
/// If [`compile`] fails.
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
