//! Everything that the fusebox host and all emitters have in common.
//!
//! `core` contains HLO, indexing maps, the kernel IR, the emitter interface and the plugin
//! boundary. `core` does not depend on MLIR, LLVM, CUDA or any emitter. An emitter crate depends on
//! this crate alone.
//!
//! The modules are listed in the order in which data passes through them.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[doc(inline)]
pub use fusebox_hlo as hlo;
pub use fusebox_hlo::random;
#[doc(inline)]
pub use fusebox_indexing as indexing;
#[doc(inline)]
pub use fusebox_kernel_ir as ir;

pub mod analysis;
pub mod builder;
pub mod cost;
pub mod device;
pub mod emitter;
pub mod launch;
pub mod plugin;
pub mod times;
