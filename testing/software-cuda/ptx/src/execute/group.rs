//! Products of matrices by a group of four warps. Each warp computes 16 of the 64 rows of the
//! product when it executes the instruction.

use super::access::{Reach, Stop};
use super::matrix::{gathered, value};
use super::warp::Warp;
use crate::code::{Access, Element, GroupLeft, GroupProduct, Lanes};
use crate::fault::{FaultKind, Space};
use crate::numbers::integer::{extend, mask};
use crate::numbers::{F32, Float};

/// Number of rows of the product that one warp computes.
const ROWS: usize = 16;
/// A matrix in shared memory consists of squares. Number of lines of a square, and number of bytes
/// of a line of a square.
const LINES: usize = 8;
const LINE_BYTES: usize = 16;

/// The place of a matrix in shared memory, as a register describes it.
#[derive(Clone, Copy)]
struct Descriptor {
    start: u64,
    /// Bytes between squares that are adjacent along the contracted dimension.
    along: u64,
    /// Bytes between squares that are adjacent across lines.
    across: u64,
}

fn undefined(message: impl Into<String>) -> Stop {
    Stop { lane: 0, kind: FaultKind::Undefined { message: message.into() } }
}

impl Descriptor {
    fn read(warp: &Warp, register: u32) -> Result<Descriptor, Stop> {
        let lanes = warp.registers.get(register);
        let bits = lanes[0];
        if lanes.iter().any(|lane| *lane != bits) {
            return Err(undefined("lanes of wgmma have different descriptors"));
        }
        if bits >> 62 != 0 || bits >> 49 & 7 != 0 {
            return Err(undefined("only matrices without swizzling are supported in wgmma"));
        }
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        Ok(Descriptor { start: field(0), along: field(16), across: field(32) })
    }
}

/// A matrix in shared memory.
struct Tile {
    place: Descriptor,
    element: Element,
    /// Whether adjacent elements in memory belong to adjacent lines.
    is_transposed: bool,
}

/// Reads lines of a matrix from shared memory, with all elements of each line along the contracted
/// dimension.
fn tile(tile: &Tile, first: usize, lines: usize, steps: usize, reach: &mut Reach) -> Result<Vec<f64>, Stop> {
    let Tile { place, element, is_transposed } = tile;
    let bytes = element.bits() / 8;
    let in_line = LINE_BYTES / bytes;
    let mut all = vec![0.0; lines * steps];
    let access = Access::plain(Some(Space::Shared), 1, 0, 0);
    // Squares, and rows of 16 bytes in them.
    let (line_squares, step_squares) =
        if *is_transposed { (lines / in_line, steps / LINES) } else { (lines / LINES, steps / in_line) };
    let first_square = if *is_transposed { first / in_line } else { first / LINES };
    for line_square in 0..line_squares {
        for step_square in 0..step_squares {
            let start =
                place.start + (first_square + line_square) as u64 * place.across + step_square as u64 * place.along;
            let mut square = [0; LINES * LINE_BYTES];
            reach.read_shared_asynchronously(start, &mut square, &access)?;
            for (row, bytes_of_row) in square.chunks(LINE_BYTES).enumerate() {
                for (column, place) in bytes_of_row.chunks(bytes).enumerate() {
                    let bits = place.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
                    let (line, step) = if *is_transposed {
                        (line_square * in_line + column, step_square * LINES + row)
                    } else {
                        (line_square * LINES + row, step_square * in_line + column)
                    };
                    all[line * steps + step] = value(bits, *element);
                }
            }
        }
    }
    Ok(all)
}

/// Executes `wgmma.mma_async`.
pub fn multiply(warp: &mut Warp, product: &GroupProduct, reach: &mut Reach) -> Result<(), Stop> {
    let GroupProduct { columns, steps, left, right, sums, .. } = product;
    let (columns, steps) = (*columns, *steps);
    if !warp.flights.start(product.registers()) {
        return Err(undefined("wgmma.fence must come between other writes of the registers of a wgmma and the wgmma"));
    }
    let rows = match &product.left_from {
        GroupLeft::Registers(registers) => {
            let lanes: Vec<Lanes> = registers.iter().map(|it| *warp.registers.get(*it)).collect();
            gathered(&lanes, *left, ROWS, steps)
        }
        GroupLeft::Descriptor(register) => {
            let place = Descriptor::read(warp, *register)?;
            let first = reach.place.warp as usize % 4 * ROWS;
            let left = Tile { place, element: *left, is_transposed: product.transposed[0] };
            tile(&left, first, ROWS, steps, reach)?
        }
    };
    let place = Descriptor::read(warp, product.right_descriptor)?;
    let right = Tile { place, element: *right, is_transposed: product.transposed[1] };
    let lines = tile(&right, 0, columns, steps, reach)?;
    let adds = warp.registers.predicate(product.adds.predicate);
    let adds = if product.adds.is_negated { !adds } else { adds };
    let sign = if product.negates[0] == product.negates[1] { 1.0 } else { -1.0 };
    for (number, register) in sums.iter().enumerate() {
        let old = *warp.registers.get(*register);
        warp.registers.values[*register as usize] = std::array::from_fn(|lane| {
            let row = lane / 4 + number / 2 % 2 * 8;
            let column = number / 4 * 8 + lane % 4 * 2 + number % 2;
            let (row, column) = (&rows[row * steps..(row + 1) * steps], &lines[column * steps..(column + 1) * steps]);
            let exact: f64 = row.iter().zip(column).map(|(a, b)| a * b).sum();
            let is_added = adds >> lane & 1 == 1;
            if product.result == Element::S32 {
                let old = if is_added { extend(old[lane], 32, true) as i64 } else { 0 };
                (exact as i64 + old) as u64 & mask(32)
            } else {
                let old = if is_added { F32::decode(old[lane]) } else { 0.0 };
                F32::encode(sign * exact + old)
            }
        });
    }
    Ok(())
}
