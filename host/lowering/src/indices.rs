//! Index arithmetic: while a kernel is translated, its `index` values are not computed but remembered as expressions over
//! the block, the thread, loop variables and values read at run time. One is written out only where something needs its
//! value, and by then divisions of what was multiplied just before, bounds that always hold and the like are gone.

use fusebox_core::indexing::IndexingMap;
pub(crate) use fusebox_core::indexing::{Algebra as Indices, Ix, Kind, Sum};

/// Reads an indexing map.
pub(crate) fn parse_map(text: &str) -> Result<IndexingMap, String> {
    IndexingMap::parse(text).map_err(|error| error.to_string())
}
