//! Random numbers.

use crate::support::{body, elements, values, vector};

fn bits(algorithm: &str, state: &[u64], shape: &str) -> (Vec<u64>, fusebox_core::hlo::Literal) {
    let n = state.len();
    let text =
        format!("s = u64[{n}] parameter(0)\nROOT r = (u64[{n}], {shape}) rng-bit-generator(s), algorithm={algorithm}");
    let results = elements(&body(&text, &[vector(state)]));
    (values(&results[0]), results[1].clone())
}

const STATE: [u64; 3] = [0x1234_5678_9abc_def0, 0xffff_ffff_ffff_fffe, 7];

// XLA generates the same numbers from the same state.
#[test]
fn philox() {
    let (state, words) = bits("rng_philox", &STATE[..2], "u32[5]");
    assert_eq!(state, [STATE[0], 0]);
    assert_eq!(values::<u32>(&words), [0xbbd8_56ff, 0xb795_d4a1, 0x9db4_dbb7, 0xb129_d7a7, 0x583d_df1e]);
    let (state, words) = bits("rng_default", &STATE, "u64[3]");
    assert_eq!(state, [STATE[0], 0, 8]);
    assert_eq!(values::<u64>(&words), [0x0ca6_f05a_25c9_b2d0, 0x1837_c7f2_644f_27d0, 0x703c_71ef_053e_97e3]);
    let (_, bytes) = bits("rng_philox", &STATE[..2], "u8[3]");
    assert_eq!(values::<u8>(&bytes), [0xff, 0xa1, 0xb7]);
}

#[test]
fn threefry() {
    let (state, words) = bits("rng_three_fry", &STATE[..2], "u32[5]");
    assert_eq!(state, [STATE[0], 1]);
    assert_eq!(values::<u32>(&words), [0x3c3b_507a, 0x7093_e72c, 0xa431_7ba7, 0x21f1_aaca, 0x5eff_803d]);
    // The algorithm halves the first even dimension or, without one, the largest.
    let (state, words) = bits("rng_three_fry", &STATE[..2], "u32[2,3]");
    assert_eq!(state, [STATE[0], 1]);
    let want = [0x3c3b_507a, 0xa431_7ba7, 0x5eff_803d, 0x7093_e72c, 0x21f1_aaca, 0x4ce3_80f9];
    assert_eq!(values::<u32>(&words), want);
    let (state, words) = bits("rng_three_fry", &STATE[..2], "u64[2]");
    assert_eq!(state, [STATE[0], 0]);
    assert_eq!(values::<u64>(&words), [0x7093_e72c_3c3b_507a, 0x21f1_aaca_a431_7ba7]);
}

#[test]
fn uniform_numbers_fill_their_range_and_repeat() {
    let text = "a = f32[] constant(-2)\nb = f32[] constant(3)\nROOT r = f32[1000] rng(a, b), distribution=rng_uniform";
    let numbers = values::<f32>(&body(text, &[]));
    assert!(numbers.iter().all(|x| (-2.0..3.0).contains(x)));
    let mean = numbers.iter().sum::<f32>() / 1000.0;
    assert!((mean - 0.5).abs() < 0.2, "{mean}");
    assert_eq!(numbers, values::<f32>(&body(text, &[])));
    let text = "a = s32[] constant(-2)\nb = s32[] constant(3)\nROOT r = s32[1000] rng(a, b), distribution=rng_uniform";
    let numbers = values::<i32>(&body(text, &[]));
    assert!((-2..3).all(|x| numbers.contains(&x)) && numbers.iter().all(|x| (-2..3).contains(x)));
}
