//! Turns the computation of a text without `ENTRY` into a fusion, and adds an entry computation
//! that calls this fusion.

use fusebox_core::hlo::{FusionKind, Module, Op};
use fusebox_edit::{append, calling};

/// Adds an entry computation that calls the module's computation as a fusion.
pub fn wrap(module: &mut Module) {
    let Some(calls) = module.entry else { return };
    let entry = calling(module, calls, "entry", Op::Fusion { kind: FusionKind::Loop, calls });
    module.entry = Some(append(module, entry));
    module.bare = false;
}
