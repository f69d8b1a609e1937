//! What the fusebox host and every emitter share.
//!
//! `core` knows HLO, indexing maps, the kernel IR, the emitter interface and the plugin boundary. It knows no
//! MLIR, no LLVM, no CUDA and no emitter; an emitter crate depends on this crate alone.
//!
//! The modules stand in the order in which data passes through them.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// Leaves the function with a message, as an error, unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*).into());
        }
    };
}

pub mod analysis;
pub mod builder;
pub mod cost;
pub mod device;
pub mod emitter;
pub mod hlo;
pub mod indexing;
pub mod ir;
pub mod launch;
pub mod plugin;
pub mod random;
pub mod times;
