//! Opens the cache of compiled programs, as options of the command line state.

use std::path::Path;

use fusebox_compiler::Cache;

use crate::arguments::{CacheChoice, EmitterChoice};
use crate::emitters;
use crate::exit::Failure;

/// Opens the cache for a module. `folder` is the folder of the module.
pub fn open(choice: &CacheChoice, emitters: &EmitterChoice, folder: &Path) -> Result<Cache, Failure> {
    let CacheChoice { cache, cache_limit, no_cache } = choice.clone();
    let choice = fusebox_choices::CacheChoice { cache, cache_limit, no_cache };
    Ok(fusebox_choices::cache(&choice, &emitters::plain(emitters), folder)?)
}
