//! Creates the registry of bundled emitters.

use fusebox_plugins::Registry;

use crate::exit::Failure;

/// Returns all bundled emitters. Fails with `Failure::Bug` if a bundled emitter cannot describe
/// itself.
pub fn emitters() -> Result<Registry, Failure> {
    Registry::new(fusebox_bundle::emitters()).map_err(|error| Failure::Bug(error.to_string()))
}
