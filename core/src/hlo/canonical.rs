//! Prints a module without the parts that do not affect its computation.

use super::Module;
use super::text::print_nameless;

/// Returns a text that is equal for two modules exactly if they compute the same results by the
/// same instructions. It contains shapes, layouts, literals and attributes, but no names, source
/// locations or metadata.
pub fn canonical_text(module: &Module) -> String {
    print_nameless(module)
}
