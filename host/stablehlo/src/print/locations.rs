//! Prints locations in the user's program.

use super::attributes::quoted;
use crate::program::{Location, Place};

/// Maximum nesting depth of a printed location. Deeper parts are printed as `unknown`, so that the
/// printer's recursion needs a bounded stack.
const MAX_DEPTH: usize = 32;

/// Returns the text between the parentheses of `loc(…)`. Returns `None` for an unknown location.
pub(super) fn location(of: &Location) -> Option<String> {
    of.0.as_deref().map(|place| self::place(place, 0))
}

fn place(of: &Place, depth: usize) -> String {
    let inner = |location: &Location| match &location.0 {
        Some(place) if depth < MAX_DEPTH => self::place(place, depth + 1),
        _ => "unknown".to_owned(),
    };
    match of {
        Place::File { name, line, column } => format!("{}:{line}:{column}", quoted(name)),
        Place::Name { name, at: Location(None) } => quoted(name),
        Place::Name { name, at } => format!("{}({})", quoted(name), inner(at)),
        Place::Call { callee, caller } => format!("callsite({} at {})", inner(callee), inner(caller)),
        Place::Fused(places) => format!("fused[{}]", places.iter().map(inner).collect::<Vec<_>>().join(", ")),
    }
}
