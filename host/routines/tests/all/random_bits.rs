//! Compares random bits with those of the interpreter, and with published answers.

use fusebox_core::hlo::{ArrayLiteral, ElementType};

use crate::support::{WORKERS, check_with_interpreter, module, results};

fn text(algorithm: &str, words: usize, ty: &str, dims: &str) -> String {
    format!(
        "ENTRY e {{\n  s = u64[{words}] parameter(0)\n  ROOT r = (u64[{words}], {ty}[{dims}]) rng-bit-generator(s), algorithm={algorithm}\n}}\n"
    )
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn bits_are_those_of_the_interpreter() {
    for dims in ["", "1", "7", "8", "3,5", "3,6,5", "2,40000", "0", "5,0", "40001", "1,3,3", "9,20001"] {
        for ty in ["u8", "s16", "u32", "s64"] {
            for (algorithm, words) in [("rng_three_fry", 2), ("rng_philox", 2), ("rng_philox", 3), ("rng_default", 3)] {
                let state = bytes(&[0x0123_4567_89ab_cdef, u64::MAX - 3, u64::MAX][..words]);
                let state = ArrayLiteral::new(ElementType::U64, vec![words as i64], state).unwrap();
                check_with_interpreter(&module(&text(algorithm, words, ty, dims)), &[state]);
            }
        }
    }
}

/// Compares the first block with answers that the library Random123 publishes. In these cases, all
/// bits of the key and of the counter are zero, or all are one.
#[test]
fn known_answers() {
    let first = |algorithm: &str, state: &[u64], count: &str| {
        let module = module(&text(algorithm, state.len(), "u32", count));
        let results = results(&module, &[&bytes(state)], &WORKERS);
        bytemuck::cast_slice::<u8, u32>(results[1].bytes()).to_vec()
    };
    assert_eq!(first("rng_three_fry", &[0, 0], "2"), [0x6b20_0159, 0x99ba_4efe]);
    assert_eq!(first("rng_philox", &[0, 0, 0], "4"), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    assert_eq!(first("rng_philox", &[u64::MAX; 3], "4"), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
}
