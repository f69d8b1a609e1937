//! Converts locations in the user's program to metadata of HLO, and to text in errors.

use fusebox_core::hlo::Metadata;

use crate::StablehloError;
use crate::program::{Location, Operation, Place};

/// Largest number of parts of a location. Locations with more parts are truncated, because a
/// damaged artifact may nest locations without limit.
const MOST_PARTS: usize = 1000;

/// Returns the HLO metadata for the instructions of an operation at this location.
pub(super) fn metadata(location: &Location) -> Option<Metadata> {
    let mut found = Metadata::default();
    // Names and files, the innermost place first.
    let mut open = vec![location];
    for _ in 0..MOST_PARTS {
        let Some(next) = open.pop() else { break };
        match next.0.as_deref() {
            None => {}
            Some(Place::Name { name, at }) => {
                if found.op_name.is_empty() {
                    found.op_name = name.to_string();
                }
                open.push(at);
            }
            Some(Place::Call { callee, caller }) => open.extend([caller, callee]),
            Some(Place::Fused(places)) => open.extend(places.iter().rev()),
            Some(Place::File { name, line, .. }) => {
                found.source_file = name.to_string();
                found.source_line = *line;
                break;
            }
        }
    }
    // The last part of a name, such as `jit(f)/jit(main)/add`, is JAX's name of the operation.
    found.op_type = found.op_name.rsplit('/').next().unwrap_or_default().to_owned();
    (found != Metadata::default()).then_some(found)
}

/// Returns an error that names an operation and its location.
pub(super) fn unsupported(operation: &Operation, message: impl Into<String>) -> StablehloError {
    let place = metadata(&operation.location).unwrap_or_default();
    let location = match (place.source_file.is_empty(), place.op_name.is_empty()) {
        (false, _) => format!("{}:{}", place.source_file, place.source_line),
        (true, false) => place.op_name,
        (true, true) => "<module>".to_owned(),
    };
    StablehloError::Unsupported { location, operation: operation.name.to_string(), message: message.into() }
}
