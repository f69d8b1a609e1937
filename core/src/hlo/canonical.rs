//! What a module computes, as text without anything that does not matter for that.

use super::Module;
use super::text::print_nameless;

/// A text that is equal exactly for modules that compute the same in the same way: shapes, layouts, literals and attributes,
/// without names, places and metadata.
pub fn canonical_text(module: &Module) -> String {
    print_nameless(module)
}
