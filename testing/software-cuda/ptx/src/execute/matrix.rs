//! Products of matrices by a warp, and moves of matrices between shared memory and registers.

use super::access::{Reach, Stop, addresses};
use super::warp::Warp;
use crate::code::{Access, Element, LANES, Lanes, Matrix, Product};
use crate::fault::{FaultKind, Space};
use crate::numbers::integer::{extend, mask};
use crate::numbers::{Bf16, F16, F32, Float, Format, decode};

/// Executes `mma`, `ldmatrix` or `stmatrix`, which all lanes execute together.
pub fn execute(warp: &mut Warp, matrix: &Matrix, reach: &mut Reach) -> Result<(), Stop> {
    match matrix {
        Matrix::Product(product) => {
            multiply(warp, product);
            Ok(())
        }
        Matrix::Move { stores, transposed, count, registers, access } => {
            let at = Moved { transposed: *transposed, count: *count, registers, access };
            if *stores { store(warp, &at, reach) } else { load(warp, &at, reach) }
        }
    }
}

/// Returns the value of an element that is a float or a small integer.
pub fn value(bits: u64, element: Element) -> f64 {
    match element {
        Element::F16 => F16::decode(bits),
        Element::Bf16 => Bf16::decode(bits),
        // The lowest 13 bits are not read.
        Element::Tf32 => F32::decode(bits & !0x1fff),
        Element::F32 => F32::decode(bits),
        Element::F64 => f64::from_bits(bits),
        Element::E4m3 => decode(bits as u32, Format::E4M3),
        Element::E5m2 => decode(bits as u32, Format::E5M2),
        Element::S8 => extend(bits, 8, true) as i64 as f64,
        Element::S4 => extend(bits, 4, true) as i64 as f64,
        Element::S32 => extend(bits, 32, true) as i64 as f64,
        Element::U8 | Element::U4 | Element::Bit => bits as f64,
    }
}

/// Reads a matrix from the registers of a warp. A register of a lane contains elements that are
/// adjacent along the contracted dimension. `across` is the number of rows of the left operand, or
/// of columns of the right operand. In the result, the elements of each row of the left operand, or
/// of each column of the right operand, are contiguous.
pub fn gathered(registers: &[Lanes], element: Element, across: usize, steps: usize) -> Vec<f64> {
    let register_bits = if element == Element::F64 { 64 } else { 32 };
    let in_register = register_bits / element.bits();
    let mut all = vec![0.0; across * steps];
    for (number, lanes) in registers.iter().enumerate() {
        let groups = across / 8;
        let (line, part) = (number % groups * 8, number / groups);
        for (lane, bits) in lanes.iter().enumerate() {
            let line = line + lane / 4;
            let step = (part * 4 + lane % 4) * in_register;
            for place in 0..in_register {
                let bits = bits >> (place * element.bits()) & mask(element.bits() as u32);
                all[line * steps + step + place] = value(bits, element);
            }
        }
    }
    all
}

/// Returns the row and the first column of the sums in a register of a lane.
fn place_of_sums(number: usize, lane: usize, in_register: usize) -> (usize, usize) {
    let pair = number * in_register / 2;
    let column = lane % 4 * 2 + number * in_register % 2;
    (pair * 8 + lane / 4, column)
}

fn multiply(warp: &mut Warp, product: &Product) {
    let [m, n, k] = product.shape;
    let lanes = |registers: &[u32]| registers.iter().map(|it| *warp.registers.get(*it)).collect::<Vec<Lanes>>();
    let [left, right, sums] = [0, 1, 2].map(|operand| lanes(&product.operands[operand]));
    let left = gathered(&left, product.left, m, k);
    let right = gathered(&right, product.right, n, k);
    let in_register = if product.sum == Element::F16 { 2 } else { 1 };
    for (number, (to, sums)) in product.to.iter().zip(&sums).enumerate() {
        let results: Lanes = std::array::from_fn(|lane| {
            let (row, column) = place_of_sums(number, lane, in_register);
            (0..in_register).fold(0, |all, place| {
                let column = column + place;
                let (row, column) = (&left[row * k..(row + 1) * k], &right[column * k..(column + 1) * k]);
                let bits = sums[lane] >> (place * product.sum.bits()) & mask(product.sum.bits() as u32);
                all | added(row, column, bits, product) << (place * product.result.bits())
            })
        });
        warp.registers.values[*to as usize] = results;
    }
}

/// Adds the products of a row and a column to a sum.
fn added(row: &[f64], column: &[f64], sum: u64, product: &Product) -> u64 {
    let pairs = row.iter().zip(column);
    match product.sum {
        Element::F64 => pairs.fold(f64::from_bits(sum), |sum, (a, b)| a.mul_add(*b, sum)).to_bits(),
        Element::S32 => {
            // Products and their sum are exact in `f64`.
            let exact: f64 = pairs.map(|(a, b)| a * b).sum();
            let all = exact as i64 + extend(sum, 32, true) as i64;
            let all = if product.saturates { all.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { all };
            all as u64 & mask(32)
        }
        of => {
            let exact: f64 = pairs.map(|(a, b)| a * b).sum();
            let all = exact + value(sum, of);
            if product.result == Element::F16 { F16::encode(all) } else { F32::encode(all) }
        }
    }
}

struct Moved<'m> {
    transposed: bool,
    count: usize,
    registers: &'m [u32],
    access: &'m Access,
}

/// Bytes of a row of a matrix of 8 by 8 elements of 16 bits.
const ROW: usize = 16;

/// Returns the address of a row of a matrix, and the lane whose register contains this address.
fn row_address(warp: &Warp, at: &Moved, matrix: usize, row: usize) -> Result<(usize, u64), Stop> {
    let lane = matrix * 8 + row;
    let mut address = addresses(warp, at.access)[lane % LANES];
    if at.access.space.is_none() {
        address = address.wrapping_sub(crate::code::SHARED_WINDOW);
    }
    if !address.is_multiple_of(ROW as u64) {
        let kind = FaultKind::Misaligned { space: Space::Shared, address, alignment: ROW as u64 };
        return Err(Stop { lane, kind });
    }
    Ok((lane, address))
}

fn load(warp: &mut Warp, at: &Moved, reach: &mut Reach) -> Result<(), Stop> {
    reach.counts.shared_accesses += at.count as u64;
    for matrix in 0..at.count {
        let mut rows = [[0; ROW]; 8];
        for (row, bytes) in rows.iter_mut().enumerate() {
            let (lane, address) = row_address(warp, at, matrix, row)?;
            reach.read_shared(lane, address, bytes, at.access)?;
        }
        let element = |row: usize, column: usize| {
            let (row, column) = if at.transposed { (column, row) } else { (row, column) };
            u64::from(u16::from_le_bytes([rows[row][2 * column], rows[row][2 * column + 1]]))
        };
        warp.registers.values[at.registers[matrix] as usize] = std::array::from_fn(|lane| {
            let (row, column) = (lane / 4, lane % 4 * 2);
            element(row, column) | element(row, column + 1) << 16
        });
    }
    Ok(())
}

fn store(warp: &Warp, at: &Moved, reach: &mut Reach) -> Result<(), Stop> {
    reach.counts.shared_accesses += at.count as u64;
    for matrix in 0..at.count {
        let mut rows = [[0; ROW]; 8];
        let values = warp.registers.get(at.registers[matrix]);
        for (lane, value) in values.iter().enumerate() {
            for place in 0..2 {
                let (row, column) = (lane / 4, lane % 4 * 2 + place);
                let (row, column) = if at.transposed { (column, row) } else { (row, column) };
                let bytes = ((value >> (16 * place)) as u16).to_le_bytes();
                rows[row][2 * column..2 * column + 2].copy_from_slice(&bytes);
            }
        }
        for (row, bytes) in rows.iter().enumerate() {
            let (lane, address) = row_address(warp, at, matrix, row)?;
            reach.write_shared(lane, address, bytes, at.access)?;
        }
    }
    Ok(())
}
