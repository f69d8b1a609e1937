//! The part of a tile that a block of one thread transposes in registers at a time.

use fusebox_core::builder::{FunctionBuilder, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Decline;

use crate::problem::TransposeProblem;
use crate::rows_turn;

/// Number of bytes of a lane of a vector register. For every vector width, one instruction shuffles
/// elements of any size within each lane.
const LANE_BYTES: i64 = 16;

/// A unit of `line` rows by `lane` columns. The kernel transposes a unit in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterUnit {
    /// Number of elements in [`LANE_BYTES`].
    pub lane: i64,
    /// Number of elements of a cache line.
    pub line: i64,
}

impl RegisterUnit {
    /// Returns the unit that fits a problem. All arrays must have one element size that vectors
    /// support. The results must be the transposes themselves, with rows of whole cache lines.
    pub fn of(problem: &TransposeProblem, device: &DeviceDescription) -> Result<RegisterUnit, Decline> {
        rows_turn(problem)?;
        let form = &problem.form;
        let bytes = problem.widest();
        let (lane, line) = (LANE_BYTES / bytes, i64::from(device.cache_line_bytes) / bytes);
        let powers = [lane, line].iter().all(|&count| count > 1 && (count as u64).is_power_of_two());
        let vectors = problem.moved.iter().all(|moved| moved.bytes == bytes && moved.fits_vectors());
        if !powers || lane > line || !vectors {
            return Err(Decline::new("the moved elements do not have one common size that vectors support"));
        }
        let long = form.permutation.last().map_or(1, |&dim| form.dims[dim]);
        if long % line != 0 || !problem.results_are_lines(line) {
            let reason =
                format!("the results are not plain transposes whose rows are whole cache lines of {line} elements");
            return Err(Decline::new(reason));
        }
        Ok(RegisterUnit { lane, line })
    }

    /// Returns the columns of a unit. Each column is a vector that fills one cache line. The unit's
    /// first element is at index `place` of a tile.
    ///
    /// At first, 16-byte lane `l` of register `k` holds row `k + l * lane` of the unit. Each
    /// iteration interleaves elements of the first half of the registers with elements of the
    /// second half, within each 16-byte lane (a perfect shuffle). After `log2(lane)` iterations,
    /// register `k` holds column `k` with its rows in order.
    pub fn columns(&self, b: &mut FunctionBuilder, tile: Value, place: &[Value]) -> Vec<Value> {
        let (lane, line) = (self.lane, self.line);
        let mut registers: Vec<Value> = (0..lane).map(|first| self.rows(b, tile, place, first)).collect();
        let half = |second: bool| -> Vec<i64> {
            let within = if second { lane / 2..lane } else { 0..lane / 2 };
            let lanes = (0..line / lane).map(|number| number * lane);
            lanes.flat_map(|start| within.clone().flat_map(move |at| [start + at, line + start + at])).collect()
        };
        let halves = [half(false), half(true)];
        for _ in 0..lane.ilog2() {
            let (first, second) = registers.split_at(registers.len() / 2);
            let pairs = first.iter().zip(second);
            registers = pairs.flat_map(|(&x, &y)| halves.each_ref().map(|half| b.vector_shuffle(x, y, half))).collect();
        }
        registers
    }

    /// Returns a vector with the rows `first`, `first + lane`, … of a unit, each row in one 16-byte
    /// lane.
    fn rows(&self, b: &mut FunctionBuilder, tile: Value, place: &[Value], first: i64) -> Value {
        let row = |b: &mut FunctionBuilder, number: i64| {
            let offset = b.index(number);
            let row = b.addi(place[0], offset);
            b.vector_read(tile, &[row, place[1]], self.lane)
        };
        let numbers = (first..self.line).step_by(self.lane as usize);
        let mut parts: Vec<Value> = numbers.map(|number| row(b, number)).collect();
        let mut width = self.lane;
        while parts.len() > 1 {
            width *= 2;
            let all: Vec<i64> = (0..width).collect();
            parts = parts.chunks(2).map(|pair| b.vector_shuffle(pair[0], pair[1], &all)).collect();
        }
        parts[0]
    }
}
