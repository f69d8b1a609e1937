//! Products in blocks of many threads.
//!
//! ```text
//! grid.rs       tiles of the results -> blocks
//! tile_copy.rs  operands -> tiles in shared memory
//! pipeline.rs   the loop over steps: multiplies one part while it reads the next
//! tiled.rs      tiles multiplied element by element
//! mma.rs        tiles multiplied by the matrix instructions of a warp
//! wgmma.rs      tiles multiplied by the matrix instructions of a group of warps
//! thin.rs       products with few vectors: a matrix read from memory to registers
//! passes.rs     sums -> results, through shared memory
//! ```

mod grid;
mod mma;
mod passes;
mod pipeline;
mod thin;
mod tile_copy;
mod tiled;
mod wgmma;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Decline};
use fusebox_core::indexing::{Expr, IndexingMap};

pub use self::mma::MmaContraction;
pub use self::thin::ThinContraction;
pub use self::tiled::BlockContraction;
pub use self::wgmma::WgmmaContraction;
use crate::problem::{ProductProblem, ProductSizes};
use crate::strategy::ProductStrategy;

/// Largest number of products that the emitters accept. No machine computes more products, and
/// counts up to `MOST_PRODUCTS` do not overflow.
const MOST_PRODUCTS: i64 = 1 << 48;
/// Largest number of results that the emitters accept. The limit is the largest number of blocks of
/// a launch. Each block computes at least one result.
const MOST_RESULTS: i64 = (1 << 31) - 1;
/// Least number of products that the emitters accept. A kernel that computes fewer products takes
/// only the time of its launch.
const LEAST_PRODUCTS: i64 = 1 << 11;
/// Least number of products per result element for which tiles pay. With fewer products, a loop
/// over the results reads no more elements than a kernel with tiles.
const LEAST_STEPS: i64 = 4;

/// Checks that a kernel with tiles pays.
///
/// # Errors
/// If a loop over the results is as fast, or the number of products is too large.
fn check(problem: &ProductProblem) -> Result<(), Decline> {
    let ProductSizes { batch, rows, columns, steps } = problem.sizes;
    let results = [batch, rows, columns].iter().fold(1i64, |n, &size| n.saturating_mul(size));
    let products = results.saturating_mul(steps);
    match () {
        _ if products > MOST_PRODUCTS || results > MOST_RESULTS => {
            Err(Decline::new("there are more products than any machine computes"))
        }
        _ if products < LEAST_PRODUCTS => Err(Decline::new(format!(
            "below {LEAST_PRODUCTS} products, a loop over the results is as fast, and is less code"
        ))),
        _ if steps < LEAST_STEPS => {
            Err(Decline::new(format!("an element is a sum of {steps} products: tiles pay from {LEAST_STEPS} on")))
        }
        _ if problem.operands.iter().any(|operand| operand.runs.is_some()) => {
            Err(Decline::new("a loop computes operands that are read through a convolution's window"))
        }
        _ if problem.sum.is_complex() => Err(Decline::new("a loop computes products of complex numbers")),
        _ => Ok(()),
    }
}

/// Returns for each operand the number of elements that the kernel reads per element of the result.
/// Also returns the number of all products.
pub fn claimed(problem: &ProductProblem, device: &DeviceDescription) -> Option<([f64; 2], f64)> {
    check(problem).ok()?;
    let tiles = BlockContraction::new(problem, device, &Configuration::default()).ok()?;
    let ProductSizes { batch, rows, columns, steps } = problem.sizes;
    let products = [batch, rows, columns, steps].iter().map(|&size| size as f64).product();
    Some((tiles.grid.reads_per_result(), products))
}

/// Returns the map with its range variables changed to dimensions.
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
