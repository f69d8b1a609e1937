//! The parts of an array that the devices of a program hold.

use std::fmt;
use std::ops::Range;

use super::axes::AxisSharding;
use super::mesh::Mesh;
use super::{MOST_DEVICES, expect, integer, list, unexpected};
use crate::text::lexer::Cursor;

/// A division of an array into tiles. All tiles have equal sizes, except at the end of a dimension.
/// Each device holds one tile, and several devices may hold the same tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// For each dimension, the number of tiles.
    tiles: Vec<i64>,
    /// For each device, the index of its tile in each dimension.
    tile_of: Vec<Vec<i64>>,
    /// For each device, the number of the term that the device holds, if the array is a sum of
    /// several terms. If the array is not a sum of several terms, the number is 0 for every device.
    term_of: Vec<i64>,
}

impl Tiling {
    /// Returns the tiling of an array that every device holds as a whole.
    pub fn whole(devices: usize, rank: usize) -> Tiling {
        Tiling { tiles: vec![1; rank], tile_of: vec![vec![0; rank]; devices], term_of: vec![0; devices] }
    }

    /// Returns the tiling that the axes of a mesh define.
    ///
    /// # Errors
    /// Fails if the mesh lacks an axis of the sharding.
    pub fn of_axes(sharding: &AxisSharding) -> Result<Tiling, String> {
        let mesh: &Mesh = &sharding.mesh;
        let mut tiling = Tiling::whole(mesh.size() as usize, sharding.dims.len());
        for position in 0..mesh.size() {
            let coordinates = mesh.coordinates(position);
            for axis in &sharding.unreduced {
                let (size, coordinate) = axis.place(mesh, &coordinates)?;
                let term = &mut tiling.term_of[mesh.device(position) as usize];
                *term = *term * size + coordinate;
            }
            for (dimension, axes) in sharding.dims.iter().enumerate() {
                let (mut tiles, mut tile) = (1, 0);
                for axis in axes {
                    let (size, coordinate) = axis.place(mesh, &coordinates)?;
                    (tiles, tile) = (tiles * size, tile * size + coordinate);
                }
                tiling.tiles[dimension] = tiles;
                tiling.tile_of[mesh.device(position) as usize][dimension] = tile;
            }
        }
        Ok(tiling)
    }

    /// Reads the value of the attribute `sharding` of an array.
    ///
    /// # Errors
    /// Fails if the text is malformed, or if the sharding is not a tiling.
    pub fn parse(text: &str, devices: usize, rank: usize) -> Result<Tiling, String> {
        let mut cursor = Cursor::new(text);
        expect(&mut cursor, "{")?;
        if cursor.eat_word("replicated") || cursor.eat_word("maximal") {
            return Ok(Tiling::whole(devices, rank));
        }
        if cursor.eat_word("unreduced") {
            let term_of = (0..devices as i64).collect();
            return Ok(Tiling { term_of, ..Tiling::whole(devices, rank) });
        }
        expect(&mut cursor, "devices=[")?;
        let grid = list(&mut cursor, b']', integer)?;
        let count = grid.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
        let Some(count) = count.filter(|count| (1..=MOST_DEVICES).contains(count)) else {
            return Err(format!("the sharding {text} has too many tiles"));
        };
        let ids = if cursor.eat_symbol("<=[") { iota(&mut cursor)? } else { listed(&mut cursor)? };
        let kinds = last_dims(&mut cursor, grid.len().saturating_sub(rank));
        let is_grid = kinds.as_ref().is_some_and(|kinds| kinds.len() + rank == grid.len());
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        if !is_grid || !sorted.iter().copied().eq(0..count) || count != devices as i64 {
            return Err(format!(
                "the sharding {text} of an array of rank {rank} on {devices} devices is not supported"
            ));
        }
        let mut tiling = Tiling::whole(devices, rank);
        tiling.tiles.copy_from_slice(&grid[..rank]);
        for (position, device) in (0..).zip(ids) {
            let (mut rest, mut terms): (i64, i64) = (position, 1);
            for (dimension, size) in grid.iter().enumerate().rev() {
                let coordinate = rest % size;
                rest /= size;
                if dimension < rank {
                    tiling.tile_of[device as usize][dimension] = coordinate;
                } else if kinds.as_ref().is_some_and(|kinds| kinds[dimension - rank]) {
                    tiling.term_of[device as usize] += coordinate * terms;
                    terms *= size;
                }
            }
        }
        Ok(tiling)
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.tile_of.len()
    }

    /// Whether every device holds the whole array.
    pub fn is_whole(&self) -> bool {
        self.tiles.iter().all(|&tiles| tiles == 1) && self.terms() == 1
    }

    /// Returns the number of terms whose sum is the array.
    pub fn terms(&self) -> i64 {
        self.term_of.iter().max().map_or(1, |last| last + 1)
    }

    /// Returns the number of the term that a device holds. If a program computes the whole array,
    /// term 0 is the array, and all other terms are zeros.
    pub fn term(&self, device: usize) -> i64 {
        self.term_of[device]
    }

    /// Returns the dimensions of a tile of an array; `None` if the tiles do not have equal sizes.
    pub fn tile_dims(&self, dims: &[i64]) -> Option<Vec<i64>> {
        if dims.len() != self.tiles.len() {
            return None;
        }
        dims.iter().zip(&self.tiles).map(|(&size, &tiles)| (size % tiles == 0).then_some(size / tiles)).collect()
    }

    /// Returns the part of an array that a device holds: a range in each dimension. The last tiles
    /// along a dimension may be smaller than the other tiles, or empty.
    pub fn part(&self, device: usize, dims: &[i64]) -> Vec<Range<i64>> {
        let places = dims.iter().zip(&self.tiles).zip(&self.tile_of[device]);
        let range = |((&size, &tiles), &tile): ((&i64, &i64), &i64)| {
            let step = (size + tiles - 1) / tiles;
            (tile * step).min(size)..((tile + 1) * step).min(size)
        };
        places.map(range).collect()
    }

    /// Whether a device is the first of all devices that hold the same tile of the same term.
    pub fn is_first(&self, device: usize) -> bool {
        let own = (&self.tile_of[device], self.term_of[device]);
        !self.tile_of[..device].iter().zip(self.term_of.iter().copied()).any(|other| other == own)
    }

    /// Returns the dimensions of the grid of tiles, and the device at each position of the grid.
    /// The last dimension but one enumerates the terms. The last dimension enumerates the devices
    /// that hold the same tile of the same term.
    pub fn grid(&self) -> (Vec<i64>, Vec<i64>) {
        let mut devices: Vec<i64> = (0..self.tile_of.len() as i64).collect();
        devices.sort_by_key(|&device| (&self.tile_of[device as usize], self.term_of[device as usize]));
        let (tiles, terms) = (self.tiles.iter().product::<i64>(), self.terms());
        let copies = (self.tile_of.len() as i64 / (tiles * terms).max(1)).max(1);
        (self.tiles.iter().copied().chain([terms, copies]).collect(), devices)
    }

    /// Whether each device holds one term of the whole array, and no two devices hold the same
    /// term.
    pub fn is_sum(&self) -> bool {
        self.terms() > 1 && self.terms() == self.tile_of.len() as i64 && self.term_of.is_sorted()
    }
}

/// Reads the meaning of the last dimensions of a grid: `true` for a dimension that enumerates
/// terms, `false` for a dimension that enumerates copies. Returns `None` if a dimension has another
/// meaning.
fn last_dims(cursor: &mut Cursor, count: usize) -> Option<Vec<bool>> {
    if cursor.eat_word("last_tile_dim_replicate") {
        return cursor.eat(b'}').then(|| vec![false]);
    }
    if cursor.eat(b'}') {
        return (count == 0).then(Vec::new);
    }
    (cursor.eat_word("last_tile_dims") && cursor.eat_symbol("={")).then_some(())?;
    let kind = |cursor: &mut Cursor| match cursor.word() {
        Some("replicated") => Ok(false),
        Some("unreduced") => Ok(true),
        _ => Err(String::new()),
    };
    list(cursor, b'}', kind).ok()
}

/// Reads device numbers.
fn listed(cursor: &mut Cursor) -> Result<Vec<i64>, String> {
    let mut ids = vec![integer(cursor)?];
    while cursor.eat(b',') {
        ids.push(integer(cursor)?);
    }
    Ok(ids)
}

/// Reads `2,4]T(1,0)`, which means an array with dimensions `[2,4]` of the numbers 0, 1, 2, …,
/// transposed by `(1,0)`. Returns the numbers of the transposed array.
pub(super) fn iota(cursor: &mut Cursor) -> Result<Vec<i64>, String> {
    let dims = list(cursor, b']', integer)?;
    let order = if cursor.eat_symbol("T(") { list(cursor, b')', integer)? } else { (0..dims.len() as i64).collect() };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let count = dims.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
    let count =
        count.filter(|count| (1..=MOST_DEVICES).contains(count) && sorted.iter().copied().eq(0..dims.len() as i64));
    let count = count.ok_or_else(|| unexpected(cursor, "dimensions of devices"))?;
    let strides: Vec<i64> = (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect();
    let number = |position: i64| {
        let mut rest = position;
        order.iter().rev().fold(0, |number, &d| {
            let (size, stride) = (dims[d as usize], strides[d as usize]);
            let coordinate = rest % size;
            rest /= size;
            number + coordinate * stride
        })
    };
    Ok((0..count).map(number).collect())
}

impl fmt::Display for Tiling {
    /// Writes the value of the attribute `sharding`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() {
            return f.write_str("{replicated}");
        }
        let joined = |list: &[i64]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        if self.is_sum() {
            return f.write_str("{unreduced}");
        }
        let (mut grid, devices) = self.grid();
        let (copies, terms) = (grid.pop().unwrap_or(1), grid.pop().unwrap_or(1));
        let suffix = match (terms > 1, copies > 1) {
            (true, true) => " last_tile_dims={unreduced, replicated}",
            (true, false) => " last_tile_dims={unreduced}",
            (false, true) => " last_tile_dim_replicate",
            (false, false) => "",
        };
        grid.extend([terms, copies].into_iter().filter(|&size| size > 1));
        write!(f, "{{devices=[{}]{}{suffix}}}", joined(&grid), joined(&devices))
    }
}
