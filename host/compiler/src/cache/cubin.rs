//! Machine code for GPUs, as stored in the cache.

use fusebox_runtime::Cubin;

use super::key;
use crate::{Assembler, AssemblerError, Options};

/// Returns the machine code of PTX from the cache, or assembles it. If the machine code cannot be
/// written to the cache, adds the reason to `warnings`.
///
/// # Errors
/// If the assembler cannot be started or refuses the code.
pub fn cached_or_assembled(
    ptx: &str,
    assembler: &Assembler,
    options: &Options,
    warnings: &mut Vec<String>,
) -> Result<Cubin, AssemblerError> {
    let store = options.store();
    // `compile_or_load` reports why a key cannot be computed.
    let entry = store.and_then(|store| Some((store, key::of_cubin(ptx, assembler, &options.target).ok()?)));
    let found = entry.as_ref().and_then(|(store, key)| postcard::from_bytes(&store.get(key)?).ok());
    if let Some(cubin) = found {
        return Ok(cubin);
    }
    let made = assembler.assemble(ptx, &options.target.to_string())?;
    let cubin = Cubin { architecture: made.architecture, bytes: made.cubin };
    if let Some((store, key)) = entry
        && let Ok(bytes) = postcard::to_stdvec(&cubin)
        && let Err(reason) = store.keep(&[(key, bytes)])
    {
        warnings.push(format!("the machine code is not in the cache: {reason}"));
    }
    Ok(cubin)
}
