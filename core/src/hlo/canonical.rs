//! A module as text, without everything that does not affect the computation.

use super::Module;
use super::text::print_nameless;

/// Returns a text that is equal exactly for modules that compute the same in the same way. It
/// contains shapes, layouts, literals and attributes, but no names, source locations or metadata.
pub fn canonical_text(module: &Module) -> String {
    print_nameless(module)
}
