//! Which loops become copies of their bodies.
#![allow(clippy::panic, clippy::unwrap_used)]

mod jit;

use fusebox_core::builder::{FunctionBuilder, Scalar, Type};
use fusebox_lowering::{Stage, Target};
use jit::{source, stages_of};

/// Four turns around a loop of a thousand, whose body has so many additions.
fn nest(additions: i64) -> String {
    let mut b = FunctionBuilder::new("nest");
    let output = b.argument(Type::tensor(&[4, 1000], Scalar::I32));
    let (zero, one, outer, inner) = (b.index(0), b.index(1), b.index(4), b.index(1000));
    let written = b.scf_for(zero, outer, one, &[output], |b, row, output| {
        b.scf_for(zero, inner, one, output, |b, column, output| {
            let value = b.extract(output[0], &[row, column]);
            let sum = (0..additions).fold(value, |sum, _| {
                let doubled = b.addi(sum, sum);
                b.xori(doubled, value)
            });
            vec![b.insert(sum, output[0], &[row, column])]
        })
    });
    b.ret(&written);
    let kernel = source("nest", &b.finish().unwrap().to_string(), &[16000], 1, 1, 1);
    stages_of(&kernel, &Target::cpu()).unwrap().1.get(Stage::Indices).to_owned()
}

#[test]
fn a_short_nest_is_unrolled_and_a_long_one_is_not() {
    let (short, long) = (nest(10), nest(100));
    assert!(short.contains(r#"fusebox.unroll = "full""#) && !short.contains("never"), "{short}");
    assert!(long.contains(r#"fusebox.unroll = "never""#) && !long.contains("full"), "{long}");
}
