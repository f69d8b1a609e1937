//! Prints only the parts of a module that affect its results.

use super::Module;
use super::text::print_nameless;

/// Returns a text that identifies what a module computes. Two modules have equal texts exactly if
/// they compute the same results by the same instructions. The text contains shapes, layouts,
/// literals and attributes, but no names, source locations or metadata.
pub fn canonical_text(module: &Module) -> String {
    print_nameless(module)
}
