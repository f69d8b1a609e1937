//! The `xla_gpu` dialect: its operations, their effects, and what makes a use of one valid.
//!
//! | operation | effects |
//! | --- | --- |
//! | `pure_call`, `apply_indexing`, `predicated_extract`, `predicated_insert` | none: merged if equal, dropped if unused |
//! | `loop` | those of its body |
//! | `yield` | ends a region |
//! | `allocate_shared` | allocates: never merged |
//! | `sync_threads`, `shuffle_reduce`, `atomic_rmw` | reads and writes: never merged, dropped or moved |

mod registration;
mod verify;

pub(crate) use verify::map_of;

use melior::Context;
use registration::{Definition, Effect, Trait};

const OPERATIONS: [Definition; 10] = [
    Definition::new("xla_gpu.pure_call", &[], &[], verify::pure_call),
    Definition::new("xla_gpu.apply_indexing", &[], &[], verify::apply_indexing),
    Definition::new("xla_gpu.predicated_extract", &[], &[], verify::predicated_extract),
    Definition::new("xla_gpu.predicated_insert", &[], &[], verify::predicated_insert),
    Definition::new("xla_gpu.loop", &[Trait::SingleBlock, Trait::RecursiveEffects], &[Effect::Unknown], verify::loops),
    Definition::new("xla_gpu.yield", &[Trait::Terminator], &[], verify::yields),
    Definition::new("xla_gpu.allocate_shared", &[], &[Effect::Allocate], verify::allocate_shared),
    Definition::new("xla_gpu.sync_threads", &[], &[Effect::Read, Effect::Write], verify::sync_threads),
    Definition::new("xla_gpu.shuffle_reduce", &[], &[Effect::Read, Effect::Write], verify::shuffle_reduce),
    Definition::new("xla_gpu.atomic_rmw", &[Trait::SingleBlock], &[Effect::Read, Effect::Write], verify::atomic_rmw),
];

/// Adds the dialect to a context, once.
pub(crate) fn register(context: &Context) {
    registration::register(context, "xla_gpu", &OPERATIONS);
}
