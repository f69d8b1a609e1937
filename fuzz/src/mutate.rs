//! Changes to bytes and to texts.

use crate::random::Random;

/// Changes bytes in a few places. `pool` gives the pieces that are spliced in.
pub fn bytes(input: &mut Vec<u8>, pool: &[Vec<u8>], random: &mut Random) {
    for _ in 0..=random.below(6) {
        change_bytes(input, pool, random);
    }
}

/// Changes a text in a few places, as bytes, pieces and lines. `pieces` are likely to matter in its language.
pub fn text(input: &mut Vec<u8>, pool: &[Vec<u8>], pieces: &[&str], random: &mut Random) {
    for _ in 0..=random.below(6) {
        match random.below(8) {
            0..3 => change_bytes(input, pool, random),
            3..6 => {
                let at = random.below(input.len() + 1);
                let end = (at + random.below(8)).min(input.len());
                let piece = random.pick(pieces).copied().unwrap_or_default();
                input.splice(at..end, piece.bytes());
            }
            6 => change_number(input, random),
            _ => change_lines(input, random),
        }
    }
}

fn change_bytes(input: &mut Vec<u8>, pool: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(6) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.number() as u8,
        2 => input.truncate(at),
        3 => {
            let end = (at + random.below(20)).min(input.len());
            input.drain(at..end);
        }
        4 => {
            let Some(other) = random.pick(pool).filter(|other| !other.is_empty()) else { return };
            let from = random.below(other.len());
            let to = (from + random.below(60)).min(other.len());
            input.splice(at..at, other[from..to].iter().copied());
        }
        _ => {
            let end = (at + random.below(64)).min(input.len());
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
    }
}

/// Numbers that are at the border of something.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "64",
    "65537",
    "2147483647",
    "-2147483648",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e999",
    "-0",
    "nan",
];

/// Puts another number in the place of one.
fn change_number(input: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(input.len());
    let Some(from) = input[start..].iter().position(u8::is_ascii_digit).map(|at| start + at) else { return };
    let digits = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = random.pick(NUMBERS).copied().unwrap_or("0");
    input.splice(from..from + digits, number.bytes());
}

/// Swaps two lines, copies one over another, or drops one.
fn change_lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = input.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (from, to) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(4) {
        0 => lines.swap(from, to),
        1 => lines[from] = lines[to].clone(),
        2 => lines.insert(from, lines[to].clone()),
        _ => drop(lines.remove(from)),
    }
    *input = lines.join(&b'\n');
}
