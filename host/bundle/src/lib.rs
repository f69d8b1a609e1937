//! Links the bundled emitters into the program. No other crate names the crates of the bundled
//! emitters.
//!
//! If no crate names an emitter's crate, the linker silently drops the crate, and its emitters are
//! not registered. So this crate names each emitter crate, and `tests/list.rs` checks that all
//! emitters are registered.

#![forbid(unsafe_code)]

use fusebox_emitter_concatenate as _;
use fusebox_emitter_contraction as _;
use fusebox_emitter_dynamic_update_slice as _;
use fusebox_emitter_input_slices as _;
use fusebox_emitter_loop as _;
use fusebox_emitter_reduce as _;
use fusebox_emitter_scan as _;
use fusebox_emitter_scatter as _;
use fusebox_emitter_transpose as _;

use fusebox_core::emitter::Emitter;

/// The order of emitters in listings. Emitters that this list does not name come last.
pub const ORDER: &[&str] = &[
    "loop",
    "concatenate",
    "dynamic-update-slice",
    "input-slices",
    "row-reduce",
    "multi-row-reduce",
    "column-reduce",
    "small-column-reduce",
    "scalar-reduce",
    "serial-reduce",
    "row-normalise",
    "warp-normalise",
    "block-normalise",
    "slab-scatter",
    "atomic-scatter",
    "run-scatter",
    "gathered-scatter",
    "owned-scatter",
    "scatter-in-order",
    "row-transpose",
    "tiled-transpose",
    "packed-transpose",
    "serial-row-transpose",
    "thin-transpose",
    "line-transpose",
    "panel-transpose",
    "contraction",
    "direct-convolution",
    "depthwise",
    "library-product",
    "block-contraction",
    "mma-contraction",
    "wgmma-contraction",
    "thin-contraction",
    "line-scan",
    "column-scan",
];

/// Returns the bundled emitters in the order of [`ORDER`].
pub fn emitters() -> Vec<Box<dyn Emitter>> {
    let mut emitters = fusebox_core::plugin::linked_emitters();
    emitters.sort_by_cached_key(|emitter| {
        let name = emitter.descriptor().name;
        (ORDER.iter().position(|&known| known == name).unwrap_or(ORDER.len()), name)
    });
    emitters
}
