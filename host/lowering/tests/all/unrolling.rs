//! Checks which loops lowering unrolls.

use crate::jit::{source, stages_of};
use fusebox_core::builder::{FunctionBuilder, IntPredicate, Scalar, Type};
use fusebox_core::ir::FastMath;
use fusebox_lowering::{Stage, Target};

/// Returns the text of a kernel after one stage. This stage unrolls short loops and marks the other
/// loops for LLVM.
fn indices(b: FunctionBuilder, bytes: u64) -> String {
    let kernel = source("k", &b.finish().unwrap().to_string(), &[bytes], 1, 1, 1);
    stages_of(&kernel, &Target::cpu()).unwrap().1.get(Stage::Indices).to_owned()
}

/// Returns a loop over four rows of `columns` elements. The body of the inner loop has `additions`
/// additions. If `compares` is true, it also has a comparison of the row's index.
fn nest(columns: i64, additions: i64, compares: bool) -> String {
    let mut b = FunctionBuilder::new("k");
    let output = b.argument(Type::tensor(&[4, columns], Scalar::I32));
    let (zero, one, outer, inner) = (b.index(0), b.index(1), b.index(4), b.index(columns));
    let written = b.scf_for(zero, outer, one, &[output], |b, row, output| {
        b.scf_for(zero, inner, one, output, |b, column, output| {
            let value = b.extract(output[0], &[row, column]);
            let mut sum = (0..additions).fold(value, |sum, _| {
                let doubled = b.addi(sum, sum);
                b.xori(doubled, value)
            });
            if compares {
                let is_first = b.cmpi(IntPredicate::Eq, row, zero);
                sum = b.select(is_first, value, sum);
            }
            vec![b.insert(sum, output[0], &[row, column])]
        })
    });
    b.ret(&written);
    indices(b, 16 * columns as u64)
}

/// Returns a loop of a thousand iterations. Each iteration processes `lanes` elements.
fn doubled(lanes: i64) -> String {
    let mut b = FunctionBuilder::new("k");
    let output = b.argument(Type::tensor(&[1000, lanes], Scalar::I32));
    let (zero, one, turns) = (b.index(0), b.index(1), b.index(1000));
    let written = b.scf_for(zero, turns, one, &[output], |b, row, output| {
        let value = match lanes {
            1 => b.extract(output[0], &[row, zero]),
            _ => b.vector_read(output[0], &[row, zero], lanes),
        };
        let sum = b.addi(value, value);
        vec![match lanes {
            1 => b.insert(sum, output[0], &[row, zero]),
            _ => b.vector_write(sum, output[0], &[row, zero]),
        }]
    });
    b.ret(&written);
    indices(b, 4000 * lanes as u64)
}

fn is_unrolled(nest: &str) -> bool {
    let loops = nest.matches("scf.for").count();
    let is_kept = loops == 2 && nest.contains(r#"fusebox.unroll = "never""#);
    assert!(is_kept || loops == 4 && !nest.contains("never"), "{nest}");
    !is_kept
}

#[test]
fn a_short_nest_is_unrolled_and_a_long_one_is_not() {
    assert!(is_unrolled(&nest(40, 10, false)));
    assert!(!is_unrolled(&nest(40, 100, false)));
}

#[test]
fn long_rows_are_unrolled_only_if_the_copies_differ() {
    assert!(!is_unrolled(&nest(1000, 10, false)));
    assert!(is_unrolled(&nest(1000, 10, true)));
}

#[test]
fn loops_over_vectors_stay_loops_and_those_over_elements_are_left_to_the_vectoriser() {
    let (elements, vectors) = (doubled(1), doubled(16));
    assert!(!elements.contains("fusebox.unroll"), "{elements}");
    assert!(vectors.contains(r#"fusebox.unroll = "never""#), "{vectors}");
}

#[test]
fn rows_of_a_product_with_a_vector_share_a_loop() {
    let mut b = FunctionBuilder::new("k");
    let matrix = b.argument(Type::tensor(&[64, 256], Scalar::F32));
    let vector = b.argument(Type::tensor(&[256], Scalar::F32));
    let output = b.argument(Type::tensor(&[64], Scalar::F32));
    let (zero, one, rows, columns) = (b.index(0), b.index(1), b.index(64), b.index(256));
    let written = b.scf_for(zero, rows, one, &[output], |b, row, output| {
        let start = b.float(0.0, Scalar::F32);
        let sum = b.scf_for(zero, columns, one, &[start], |b, column, sum| {
            let (x, y) = (b.extract(matrix, &[row, column]), b.extract(vector, &[column]));
            let product = b.mulf(x, y);
            b.set_fastmath(FastMath::REASSOC);
            vec![b.addf(sum[0], product)]
        });
        vec![b.insert(sum[0], output[0], &[row])]
    });
    b.ret(&written);
    let kernel = source("k", &b.finish().unwrap().to_string(), &[65536, 1024, 256], 1, 1, 1);
    let optimized = stages_of(&kernel, &Target::cpu()).unwrap().1.get(Stage::Llvm).to_owned();
    assert_eq!(optimized.matches("call reassoc float @llvm.vector.reduce.fadd").count(), 4, "{optimized}");
}
