//! Functions for tests. Each function of this file panics if its check fails. The panic message
//! names the line of the test that calls the function.

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
