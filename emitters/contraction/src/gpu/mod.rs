//! Products in blocks of many threads.
//!
//! ```text
//! grid.rs      tiles of the results -> blocks
//! fill.rs      operands -> tiles in shared memory
//! pipeline.rs  the loop over steps: one part is multiplied while the next is read
//! tiled.rs     tiles multiplied number by number
//! matrices.rs  tiles multiplied by instructions for whole matrices
//! squares.rs   tiles multiplied by groups of warps
//! thin.rs      few vectors, from memory to registers
//! way.rs       what they have in common as emitters
//! results.rs   sums -> results
//! ```

mod fill;
mod grid;
mod matrices;
mod pipeline;
mod results;
mod squares;
mod thin;
mod tiled;
mod way;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Configuration;
use fusebox_core::indexing::{Expr, IndexingMap};

pub use self::matrices::Tiles as Matrices;
pub use self::squares::Tiles as Squares;
pub use self::thin::Thin;
pub use self::tiled::Tiles;
pub use self::way::By;
use self::way::Way;
use crate::problem::{Problem, Sizes};

/// Reads of each operand for an element of the result, and all products.
pub fn claimed(problem: &Problem, device: &DeviceDescription) -> Option<([f64; 2], f64)> {
    way::check(problem).ok()?;
    let tiles = Tiles::new(problem, device, &Configuration::default()).ok()?;
    let Sizes { batch, rows, columns, steps } = problem.sizes;
    let products = [batch, rows, columns, steps].iter().map(|&size| size as f64).product();
    Some((tiles.grid.reads_per_result(), products))
}

/// The same map with its range variables as dimensions.
fn ranges_as_dims(map: &IndexingMap) -> IndexingMap {
    let dims = map.dims.len() as u32;
    let ranges: Vec<Expr> = (0..map.ranges.len() as u32).map(|range| Expr::dim(dims + range)).collect();
    let own: Vec<Expr> = (0..dims).map(Expr::dim).collect();
    IndexingMap {
        dims: map.dims.iter().chain(&map.ranges).cloned().collect(),
        results: map.results.iter().map(|expr| expr.substitute(&own, &ranges, &[])).collect(),
        ..IndexingMap::default()
    }
    .simplify()
}
