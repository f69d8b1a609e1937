//! Opens the cache of compiled programs. The folder of the cache comes from the command line.
//! Without this option, the variable `FUSEBOX_CACHE` names the folder; without the variable,
//! `fusebox.toml` names the folder. By default there is no cache.

use std::path::Path;

use fusebox_compiler::Cache;
use fusebox_configuration::CacheSettings;
use fusebox_files::{SizeLimit, Store};

use crate::arguments::{CacheChoice, EmitterChoice};
use crate::exit::Failure;
use crate::{emitters, environment};

/// Environment variable that names the folder of the cache.
const VARIABLE: &str = "FUSEBOX_CACHE";
/// Default size limit of the cache.
const LIMIT: SizeLimit = SizeLimit::bytes(2 << 30);

/// Opens the cache for a module. `folder` is the folder of the module.
pub fn open(choice: &CacheChoice, emitters: &EmitterChoice, folder: &Path) -> Result<Cache, Failure> {
    if choice.no_cache {
        return Ok(Cache::default());
    }
    let settings = emitters::settings_of(emitters, folder)?.map(|settings| settings.cache).unwrap_or_default();
    let CacheSettings { path, limit } = settings;
    let named = choice.cache.clone().or_else(|| environment::path(VARIABLE));
    let Some(path) = named.or(path) else { return Ok(Cache::default()) };
    let limit = choice.cache_limit.or(limit).unwrap_or(LIMIT);
    Ok(Cache::of(Store::open(&path, limit).map_err(Failure::input)?))
}
