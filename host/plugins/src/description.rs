//! The answers of an emitter about itself: its kind, its name, its version and its operations.

use fusebox_core::emitter::Descriptor;
use fusebox_core::hlo::Opcode;

/// The description of an emitter.
#[derive(Clone)]
pub(crate) struct EmitterDescription {
    pub descriptor: Descriptor,
    pub anchors: Vec<Opcode>,
    pub heroes: Vec<Opcode>,
}
