//! Opens the cache of compiled programs. The user's choice names the folder of the cache. If the
//! user has chosen no folder, the variable `FUSEBOX_CACHE` names the folder. If the variable is not
//! set, `fusebox.toml` names the folder. By default there is no cache.

use std::path::{Path, PathBuf};

use fusebox_compiler::Cache;
use fusebox_configuration::CacheSettings;
use fusebox_files::{SizeLimit, Store};

use crate::ChoiceError;
use crate::emitters::{EmitterChoice, settings_of};
use crate::environment::path_in_variable;

/// Environment variable that names the folder of the cache.
const VARIABLE: &str = "FUSEBOX_CACHE";
/// Default size limit of the cache.
const LIMIT: SizeLimit = SizeLimit::bytes(2 << 30);

/// The user's choice of a cache, as options of the command line state it.
#[derive(Clone, Debug, Default)]
pub struct CacheChoice {
    /// Folder of the cache.
    pub cache: Option<PathBuf>,
    /// Size limit of the cache.
    pub cache_limit: Option<SizeLimit>,
    /// Whether to use no cache.
    pub no_cache: bool,
}

/// Opens the cache for a module. `folder` is the folder of the module.
///
/// # Errors
/// If a configuration file is wrong, or the folder of the cache cannot be used.
pub fn cache(choice: &CacheChoice, emitters: &EmitterChoice, folder: &Path) -> Result<Cache, ChoiceError> {
    if choice.no_cache {
        return Ok(Cache::default());
    }
    let settings = settings_of(emitters, folder)?.map(|settings| settings.cache).unwrap_or_default();
    let CacheSettings { path, limit } = settings;
    let named = choice.cache.clone().or_else(|| path_in_variable(VARIABLE));
    let Some(path) = named.or(path) else { return Ok(Cache::default()) };
    let limit = choice.cache_limit.or(limit).unwrap_or(LIMIT);
    Ok(Cache::of(Store::open(&path, limit).map_err(ChoiceError::input)?))
}
