//! Checks loop splitting. The results must be right for all conditions. The parts of a loop must
//! not contain the conditions by which the loop was split.

use crate::jit::{Buffer, KernelSource, compile_and_run, source, stages_of};
use fusebox_core::builder::{FunctionBuilder, IntPredicate, Scalar, Type, Value};
use fusebox_lowering::{Stage, Target};

const PREDICATES: [IntPredicate; 6] =
    [IntPredicate::Slt, IntPredicate::Sle, IntPredicate::Sgt, IntPredicate::Sge, IntPredicate::Eq, IntPredicate::Ne];

fn holds(predicate: IntPredicate, a: i64, b: i64) -> bool {
    match predicate {
        IntPredicate::Slt => a < b,
        IntPredicate::Sle => a <= b,
        IntPredicate::Sgt => a > b,
        IntPredicate::Sge => a >= b,
        IntPredicate::Eq => a == b,
        _ => a != b,
    }
}

/// The condition `factor * i + by_block * block <predicate> limit`.
#[derive(Clone, Copy, Debug)]
struct Condition {
    factor: i64,
    by_block: i64,
    predicate: IntPredicate,
    limit: i64,
}

impl Condition {
    fn write(self, b: &mut FunctionBuilder, i: Value) -> Value {
        let (factor, by_block, limit) = (b.index(self.factor), b.index(self.by_block), b.index(self.limit));
        let (block, scaled) = (b.block_id(), b.muli(i, factor));
        let shift = b.muli(block, by_block);
        let sum = b.addi(scaled, shift);
        b.cmpi(self.predicate, sum, limit)
    }

    fn holds(self, i: i64, block: i64) -> bool {
        holds(self.predicate, self.factor * i + self.by_block * block, self.limit)
    }
}

const BLOCKS: i64 = 4;
const TURNS: i64 = 40;

/// Returns a kernel that writes a number per block and iteration: `1` if the first condition holds,
/// plus `2` if the second condition holds. The iterations of a block start at the number of the
/// block.
fn kernel(conditions: [Condition; 2]) -> KernelSource {
    let mut b = FunctionBuilder::new("split");
    let output = b.argument(Type::tensor(&[BLOCKS, TURNS], Scalar::I32));
    let (first, end, one) = (b.block_id(), b.index(TURNS), b.index(1));
    let block = first;
    let written = b.scf_for(first, end, one, &[output], |b, i, state| {
        let mut sum = b.int(0, Scalar::I32);
        for (condition, weight) in conditions.into_iter().zip([1, 2]) {
            let test = condition.write(b, i);
            let weight = b.int(weight, Scalar::I32);
            sum = b.scf_if(test, &[Type::from(Scalar::I32)], |b| vec![b.addi(sum, weight)], |_| vec![sum])[0];
        }
        vec![b.insert(sum, state[0], &[block, i])]
    });
    b.ret(&written);
    source("split", &b.finish().unwrap().to_string(), &[(BLOCKS * TURNS * 4) as u64], 1, BLOCKS as u64, 1)
}

fn check(conditions: [Condition; 2]) {
    let untouched = vec![-1i32; (BLOCKS * TURNS) as usize];
    let mut buffers = [Buffer::of(&untouched)];
    compile_and_run(&kernel(conditions), &mut buffers);
    let expected: Vec<i32> = (0..BLOCKS * TURNS)
        .map(|at| match (at / TURNS, at % TURNS) {
            (block, i) if i < block => -1,
            (block, i) => conditions.iter().zip([1, 2]).filter(|(c, _)| c.holds(i, block)).map(|(_, w)| w).sum(),
        })
        .collect();
    assert_eq!(buffers[0].values::<i32>(), expected, "{conditions:?}");
}

#[test]
fn every_comparison_is_decided_rightly() {
    for predicate in PREDICATES {
        for factor in [-3, -1, 1, 2] {
            for (by_block, limit) in [(0, 17), (7, 33), (-5, -41)] {
                let known = Condition { factor, by_block, predicate, limit };
                let other = Condition { factor: -factor, by_block: 2, predicate: IntPredicate::Slt, limit: 9 };
                check([known, other]);
            }
        }
    }
}

/// Returns a kernel that pads an array. An index `i` is inside the array if `0 <= i - shift <
/// inner` holds in both dimensions. Other indices belong to the padding.
fn pad(rows: i64, columns: i64, shift: i64, inner: [i64; 2]) -> KernelSource {
    let mut b = FunctionBuilder::new("pad");
    let input = b.argument(Type::tensor(&inner, Scalar::F32));
    let output = b.argument(Type::tensor(&[rows, columns], Scalar::F32));
    let (zero, one, shift) = (b.index(0), b.index(1), b.index(shift));
    let (row_end, column_end) = (b.index(rows), b.index(columns));
    let written = b.scf_for(zero, row_end, one, &[output], |b, row, state| {
        b.scf_for(zero, column_end, one, state, |b, column, state| {
            let at = [b.subi(row, shift), b.subi(column, shift)];
            let mut inside = b.bool(true);
            for (index, size) in at.into_iter().zip(inner) {
                let size = b.index(size);
                for (predicate, bound) in [(IntPredicate::Sge, zero), (IntPredicate::Slt, size)] {
                    let test = b.cmpi(predicate, index, bound);
                    inside = b.andi(inside, test);
                }
            }
            let value = b.scf_if(
                inside,
                &[Type::from(Scalar::F32)],
                |b| vec![b.extract(input, &at)],
                |b| vec![b.float(-1.0, Scalar::F32)],
            )[0];
            vec![b.insert(value, state[0], &[row, column])]
        })
    });
    b.ret(&written);
    let bytes = [(inner[0] * inner[1] * 4) as u64, (rows * columns * 4) as u64];
    source("pad", &b.finish().unwrap().to_string(), &bytes, 1, 1, 1)
}

#[test]
fn borders_in_two_dimensions() {
    let values: Vec<f32> = (0..20 * 30).map(|i| i as f32).collect();
    let mut buffers = [Buffer::of(&values), Buffer::of(&vec![f32::NAN; 25 * 37])];
    compile_and_run(&pad(25, 37, 3, [20, 30]), &mut buffers);
    let expected: Vec<f32> = (0..25 * 37)
        .map(|at| match (at / 37 - 3, at % 37 - 3) {
            (row @ 0..20, column @ 0..30) => values[(row * 30 + column) as usize],
            _ => -1.0,
        })
        .collect();
    assert_eq!(buffers[1].values::<f32>(), expected);
}

#[test]
fn the_inside_of_a_pad_is_a_plain_copy() {
    let (_, stages) = stages_of(&pad(1000, 1024, 5, [990, 1000]), &Target::cpu()).unwrap();
    let text = stages.get(Stage::Llvm);
    assert!(!text.contains("llvm.masked.load") && text.contains("wide.load"), "{text}");
}

/// Checks a loop-carried value that depends on the order of iterations: `s = s * 3 + …`. Each
/// iteration adds `i` times 1 or 100.
#[test]
fn iteration_values_pass_from_part_to_part() {
    let mut b = FunctionBuilder::new("sum");
    let output = b.argument(Type::tensor(&[1], Scalar::I32));
    let (zero, end, one, border) = (b.index(0), b.index(50), b.index(1), b.index(23));
    let start = b.int(1, Scalar::I32);
    let sum = b.scf_for(zero, end, one, &[start], |b, i, state| {
        let below = b.cmpi(IntPredicate::Slt, i, border);
        let (three, small, large) = (b.int(3, Scalar::I32), b.int(1, Scalar::I32), b.int(100, Scalar::I32));
        let weight = b.scf_if(below, &[Type::from(Scalar::I32)], |_| vec![small], |_| vec![large])[0];
        let scaled = b.muli(state[0], three);
        vec![b.addi(scaled, weight)]
    });
    let written = b.insert(sum[0], output, &[zero]);
    b.ret(&[written]);
    let mut buffers = [Buffer::of(&[0i32])];
    compile_and_run(&source("sum", &b.finish().unwrap().to_string(), &[4], 1, 1, 1), &mut buffers);
    let expected = (0..50).fold(1i32, |s, i| s.wrapping_mul(3).wrapping_add(if i < 23 { 1 } else { 100 }));
    assert_eq!(buffers[0].values::<i32>(), [expected]);
}
