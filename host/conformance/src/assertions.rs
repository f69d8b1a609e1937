//! Functions for tests. The functions of this file fail a test by panicking, at the line of the
//! test that calls them.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use fusebox_core::emitter::Fusion;

use crate::plans;

/// [Parses](plans::parsed) the text of a fusion.
///
/// # Panics
/// If the text is invalid HLO.
#[track_caller]
pub fn fusion(text: &str) -> Fusion {
    plans::parsed(text).unwrap_or_else(|failure| panic!("{failure}"))
}
