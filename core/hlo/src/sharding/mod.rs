//! How arrays are divided among the devices of a program.
//!
//! ```text
//! mesh      devices in a grid with named axes
//! axes      the axes of a mesh that divide each dimension of an array; text of the dialect `sdy`
//! tiling    for each device, its part of an array; text of `sharding={…}`
//! manual    computations that every device executes with its own parts of arrays
//! propagation  how results are divided if the program does not say so
//! groups    the devices that a collective operation connects
//! ```
//!
//! The device with number `n` executes partition `n` of a program.

mod axes;
mod groups;
mod manual;
mod mesh;
mod propagation;
#[cfg(test)]
mod tests;
mod tiling;

pub use axes::{AxisSharding, MeshAxis, axis_shardings};
pub use groups::{Collective, CollectiveKind};
pub use manual::ManualComputation;
pub use mesh::{Mesh, Meshes};
pub use tiling::Tiling;

use crate::Module;
use crate::text::lexer::Cursor;

impl Meshes {
    /// Returns a sharding of each result of the entry, derived from the shardings of the program's
    /// parameters, constraints and manual computations. Returns an empty list if the program has no
    /// mesh.
    pub fn of_results(&self, module: &Module) -> Vec<AxisSharding> {
        propagation::of_results(module, self)
    }
}

/// Largest number of devices that a mesh may have. The limit bounds the memory for tables of
/// devices.
const MOST_DEVICES: i64 = 1 << 16;

/// Reads comma-separated items up to and including the closing byte. The caller has read the
/// opening byte.
fn list<T>(
    cursor: &mut Cursor,
    close: u8,
    mut item: impl FnMut(&mut Cursor) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let mut items = Vec::new();
    if cursor.eat(close) {
        return Ok(items);
    }
    loop {
        items.push(item(cursor)?);
        if cursor.eat(close) {
            return Ok(items);
        }
        expect(cursor, ",")?;
    }
}

fn expect(cursor: &mut Cursor, symbol: &str) -> Result<(), String> {
    if cursor.eat_symbol(symbol) { Ok(()) } else { Err(unexpected(cursor, symbol)) }
}

fn unexpected(cursor: &Cursor, wanted: &str) -> String {
    let rest: String = cursor.rest().chars().take(24).collect();
    format!("a sharding needs `{wanted}` before `{rest}`")
}

fn integer(cursor: &mut Cursor) -> Result<i64, String> {
    cursor.integer("a number").map_err(|_| unexpected(cursor, "a number"))
}

fn string(cursor: &mut Cursor) -> Result<String, String> {
    cursor.string("a name").map_err(|_| unexpected(cursor, "a name in quotes"))
}
