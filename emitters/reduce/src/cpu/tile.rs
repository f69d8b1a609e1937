//! Accumulators of several lanes in memory: one tensor per accumulator, one element per lane.
//!
//! LLVM vectorises every loop over lanes, because no lane depends on another. If there are few
//! lanes, LLVM keeps the whole tile in registers.

use fusebox_core::builder::{FunctionBuilder, Scalar, Value};

/// Maximum number of lanes that unrolled code combines. If there are more lanes, loops first
/// combine one half of the lanes with the other half.
const FEW_LANES: i64 = 8;

/// Tensors with the accumulators of all lanes.
#[derive(Clone)]
pub struct AccumulatorTile {
    lanes: i64,
    tensors: Vec<Value>,
}

impl AccumulatorTile {
    /// Creates a tile with the same accumulators in all lanes.
    pub fn filled(b: &mut FunctionBuilder, lanes: i64, types: &[Scalar], start: &[Value]) -> AccumulatorTile {
        let tile = AccumulatorTile::unfilled(b, lanes, types);
        tile.each_lane(b, lanes, &[], |_, _, _, _| (start.to_vec(), Vec::new())).0
    }

    /// Creates a tile without values. The caller must fill the tile before its first read.
    pub fn unfilled(b: &mut FunctionBuilder, lanes: i64, types: &[Scalar]) -> AccumulatorTile {
        let tensors = types.iter().map(|&ty| b.allocate_shared(&[lanes], ty)).collect();
        AccumulatorTile { lanes, tensors }
    }

    /// Replaces the accumulators of the first `count` lanes by `next(lane, accumulators, outputs)`.
    pub fn each_lane(
        self,
        b: &mut FunctionBuilder,
        count: i64,
        outputs: &[Value],
        next: impl FnOnce(&mut FunctionBuilder, Value, &[Value], &[Value]) -> (Vec<Value>, Vec<Value>),
    ) -> (AccumulatorTile, Vec<Value>) {
        let count = b.index(count);
        self.each_lane_below(b, count, outputs, next)
    }

    /// Works as [`each_lane`](Self::each_lane), but the number of lanes is a value that the kernel
    /// computes.
    pub fn each_lane_below(
        self,
        b: &mut FunctionBuilder,
        count: Value,
        outputs: &[Value],
        next: impl FnOnce(&mut FunctionBuilder, Value, &[Value], &[Value]) -> (Vec<Value>, Vec<Value>),
    ) -> (AccumulatorTile, Vec<Value>) {
        let zero = b.index(0);
        self.each_lane_from(b, [zero, count], outputs, next)
    }

    fn each_lane_from(
        self,
        b: &mut FunctionBuilder,
        [first, end]: [Value; 2],
        outputs: &[Value],
        next: impl FnOnce(&mut FunctionBuilder, Value, &[Value], &[Value]) -> (Vec<Value>, Vec<Value>),
    ) -> (AccumulatorTile, Vec<Value>) {
        let (one, width) = (b.index(1), self.tensors.len());
        let state = [self.tensors.as_slice(), outputs].concat();
        let mut results = b.scf_for(first, end, one, &state, |b, lane, state| replaced(b, lane, state, width, next));
        let outputs = results.split_off(width);
        (AccumulatorTile { lanes: self.lanes, tensors: results }, outputs)
    }

    /// Works as [`each_lane`](Self::each_lane), with a separate loop for each of `lines` groups of
    /// `length` lanes.
    pub fn each_lane_of_lines(
        self,
        b: &mut FunctionBuilder,
        [lines, length]: [i64; 2],
        outputs: &[Value],
        next: impl FnOnce(&mut FunctionBuilder, Value, &[Value], &[Value]) -> (Vec<Value>, Vec<Value>),
    ) -> (AccumulatorTile, Vec<Value>) {
        let (zero, one) = (b.index(0), b.index(1));
        let (lines, length) = (b.index(lines), b.index(length));
        let width = self.tensors.len();
        let state = [self.tensors.as_slice(), outputs].concat();
        let mut results = b.scf_for(zero, lines, one, &state, |b, line, state| {
            let first = b.muli(line, length);
            b.scf_for(zero, length, one, state, |b, lane, state| {
                let lane = b.addi(first, lane);
                replaced(b, lane, state, width, next)
            })
        });
        let outputs = results.split_off(width);
        (AccumulatorTile { lanes: self.lanes, tensors: results }, outputs)
    }

    pub fn lane(&self, b: &mut FunctionBuilder, lane: Value) -> Vec<Value> {
        self.tensors.iter().map(|&tensor| b.extract(tensor, &[lane])).collect()
    }

    /// Returns the tile with `values` as the accumulators of lane `lane`.
    pub fn with_lane(&self, b: &mut FunctionBuilder, lane: Value, values: &[Value]) -> AccumulatorTile {
        let tensors = self.tensors.iter().zip(values).map(|(&tensor, &value)| b.insert(value, tensor, &[lane]));
        AccumulatorTile { lanes: self.lanes, tensors: tensors.collect() }
    }

    /// Combines `count` lanes from `first` on. Each iteration combines the upper half of the lanes
    /// with the lower half. `count` is a power of two.
    pub fn folded(
        self,
        b: &mut FunctionBuilder,
        [first, count]: [i64; 2],
        merge: impl Fn(&mut FunctionBuilder, &[Value], &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let mut tile = self;
        let mut half = count / 2;
        while half >= FEW_LANES {
            let before = tile.clone();
            let range = [first, first + half].map(|lane| b.index(lane));
            (tile, _) = tile.each_lane_from(b, range, &[], |b, lane, held, _| {
                let distance = b.index(half);
                let other = b.addi(lane, distance);
                let others = before.lane(b, other);
                (merge(b, held, &others), Vec::new())
            });
            half /= 2;
        }
        let of_lane = |lane: i64| {
            let lane = b.index(lane);
            tile.lane(b, lane)
        };
        let mut sums: Vec<Vec<Value>> = (first..first + count.min(FEW_LANES)).map(of_lane).collect();
        while sums.len() > 1 {
            let upper = sums.split_off(sums.len() / 2);
            sums = sums.iter().zip(&upper).map(|(mine, others)| merge(b, mine, others)).collect();
        }
        sums.swap_remove(0)
    }

    /// Returns the tensors, which a loop can carry.
    pub fn tensors(&self) -> &[Value] {
        &self.tensors
    }

    /// Returns the tile with the loop-carried tensors `tensors`.
    pub fn carried(&self, tensors: &[Value]) -> AccumulatorTile {
        AccumulatorTile { lanes: self.lanes, tensors: tensors.to_vec() }
    }
}

/// Replaces the accumulators of a lane. The state consists of `width` tensors, followed by the
/// outputs.
fn replaced(
    b: &mut FunctionBuilder,
    lane: Value,
    state: &[Value],
    width: usize,
    next: impl FnOnce(&mut FunctionBuilder, Value, &[Value], &[Value]) -> (Vec<Value>, Vec<Value>),
) -> Vec<Value> {
    let (tensors, outputs) = state.split_at(width);
    let held: Vec<Value> = tensors.iter().map(|&tensor| b.extract(tensor, &[lane])).collect();
    let (values, outputs) = next(b, lane, &held, outputs);
    let written = values.iter().zip(tensors).map(|(&value, &tensor)| b.insert(value, tensor, &[lane]));
    written.collect::<Vec<_>>().into_iter().chain(outputs).collect()
}
