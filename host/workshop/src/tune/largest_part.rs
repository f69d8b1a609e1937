//! The largest part of a predicted time.

use std::collections::BTreeMap;

use fusebox_prediction::Times;

/// The largest part of each contender's predicted time, as the name of this part. The key is the
/// name of the contender. The map has no entry for a cut.
pub type LargestParts = BTreeMap<String, &'static str>;

/// Returns the name of the largest part of a predicted time.
pub fn longest(times: &Times) -> &'static str {
    let Times { launch, computing, memory, waiting, .. } = *times;
    let parts = [(launch, "launch"), (computing, "computing"), (memory, "memory"), (waiting, "waiting")];
    parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, name)| name)
}
