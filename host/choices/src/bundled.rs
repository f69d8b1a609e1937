//! Creates the registry of bundled emitters.

use fusebox_plugins::Registry;

use crate::ChoiceError;

/// Returns all bundled emitters.
///
/// # Errors
/// Fails with [`ChoiceError::Bug`] if a bundled emitter cannot describe itself.
pub fn bundled() -> Result<Registry, ChoiceError> {
    Registry::new(fusebox_bundle::emitters()).map_err(|error| ChoiceError::Bug(error.to_string()))
}
