//! What an emitter says about itself.

use fusebox_core::emitter::Descriptor;
use fusebox_core::hlo::Opcode;

/// The description of an emitter.
#[derive(Clone)]
pub(crate) struct EmitterDescription {
    pub descriptor: Descriptor,
    pub anchors: Vec<Opcode>,
    pub heroes: Vec<Opcode>,
}
