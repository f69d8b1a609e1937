//! The emitters that come with fusebox.

use fusebox_plugins::Registry;

use crate::exit::Failure;

/// Returns all bundled emitters. A bundled emitter that cannot describe itself is a bug.
pub fn emitters() -> Result<Registry, Failure> {
    Registry::new(fusebox_bundle::emitters()).map_err(|error| Failure::Bug(error.to_string()))
}
